/* Parts that the text formats of several commands share: header fields, and numbers that never
 * outgrow their column. */
#ifndef CLI_TEXT_FORM_H
#define CLI_TEXT_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "common/output.h"
#include "common/terminal.h"

enum {
    TEXT_SIZE = 64,      /* bytes of a buffer for any of the texts below */
    TEXT_MIN_WIDTH = 7,  /* the narrowest column that every number fits: "-1e-308" */
    TEXT_SMALL_WIDTH = 7 /* the widest text of text_small */
};

/* Writes x in at most `width` >= TEXT_MIN_WIDTH columns: with `decimals` digits after the point, or
 * as many as fit; in scientific notation if |x| < 1e-4, if x does not fit otherwise, or if it would
 * be shown as zero. A number that is not finite is "-". Returns `text`, which has TEXT_SIZE bytes.
 */
const char *text_number(char *text, double x, int decimals, int width);

/* Returns the digits after the point that show x with n significant digits: at least 0. */
int text_decimals(double x, int n);

/* Writes x = exp(log_x) < 1 in scientific notation in at most TEXT_SMALL_WIDTH columns: "1.3e-03",
 * "3e-119", "<1e-999". x may have underflowed to 0. Returns `text`, which has TEXT_SIZE bytes. */
const char *text_small(char *text, double x, double log_x);

/* Writes a field of a header after two spaces, or at the start of a new line if it does not fit the
 * terminal. *column is the number of columns in use, 0 before the first field. */
void text_put_field(const terminal *term, output *out, size_t *column, const char *field);

/* Writes the line "input STREAM: TEXT", cut to the terminal's width. */
void text_put_input(const terminal *term, output *out, uint64_t stream, const char *text,
                    size_t size);

#endif
