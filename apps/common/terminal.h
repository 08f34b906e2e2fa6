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

/* Shows progress on stderr, if stderr is a terminal. After a second it shows the share of draws
 * that have ended, unless standard output is a terminal, too: there the results show the progress.
 * If no draw has ended for two seconds, it shows the number of sequences found so far. */
typedef struct progress {
    bool is_on, is_shown;
    bool shares_screen;        /* standard output is a terminal */
    uint64_t done, total;      /* number of draws; total 0: not known */
    uint64_t found;            /* number of sequences */
    double start, last_done;   /* seconds; when the last draw ended */
    double draws_at, found_at; /* when the share of draws and the number of sequences were shown */
} progress;

void progress_open(progress *bar, uint64_t total);
/* Counts a draw that has ended. */
void progress_step(progress *bar);
/* Counts a sequence that has been found. */
void progress_find(progress *bar);
/* Removes the progress from the screen if results are written to the same screen. Call it before
 * they are written. */
void progress_hide(progress *bar);
/* Removes the progress from the screen. */
void progress_close(progress *bar);

#endif
