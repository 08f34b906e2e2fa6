/* Finds out what the terminal can do, and shows progress on it. */
#ifndef COMMON_TERMINAL_H
#define COMMON_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/output.h"

typedef struct terminal {
    size_t width; /* columns of standard output, at least 20 */
    bool unicode; /* block and box characters may be used */
    bool colour;
} terminal;

/* Describes standard output, from the terminal and the environment (COLUMNS, LC_ALL, LC_CTYPE,
 * LANG, NO_COLOR, TERM). */
terminal terminal_look(void);

/* Begin and end a style of the text formats: "1" bold, "2" dim, "36" cyan. Do nothing without
 * colour. */
void terminal_style(const terminal *term, output *out, const char *style);
void terminal_plain(const terminal *term, output *out);

/* Appends a horizontal bar that fills `share` (0 .. 1) of `width` columns, to an eighth of a column
 * with Unicode, then spaces up to `width`. A share above zero fills at least the smallest part. */
void terminal_bar(const terminal *term, output *out, double share, size_t width);

/* Shows progress on stderr, if stderr is a terminal, standard output is not a terminal (there the
 * results show the progress), and a second has passed. */
typedef struct progress {
    bool is_on, is_shown;
    uint64_t done, total; /* number of draws; total 0: not known */
    double start, last;   /* seconds */
} progress;

void progress_open(progress *bar, uint64_t total);
void progress_step(progress *bar);
void progress_close(progress *bar); /* removes it from the screen */

#endif
