/* What the terminal can do, and a progress bar on it. */
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

/* Looks at standard output and the environment (COLUMNS, LC_ALL, LC_CTYPE, LANG, NO_COLOR, TERM).
 */
terminal terminal_look(void);

/* The styles of the text formats: "1" bold, "2" dim, "36" cyan. Nothing without colour. */
void terminal_style(const terminal *term, output *out, const char *style);
void terminal_plain(const terminal *term, output *out);

/* A horizontal bar of `share` (0 .. 1) of `width` columns, to an eighth of a column; padded with
 * spaces to its width. A share above zero is never quite empty. */
void terminal_bar(const terminal *term, output *out, double share, size_t width);

/* Progress on stderr. It shows only if stderr is a terminal, standard output is not (there the
 * results are progress enough), and a second has passed. */
typedef struct progress {
    bool is_on, is_shown;
    uint64_t done, total; /* total 0: not known */
    double start, last;   /* seconds */
} progress;

void progress_open(progress *bar, uint64_t total);
void progress_step(progress *bar);
void progress_close(progress *bar); /* wipes it */

#endif
