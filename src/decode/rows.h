/* The rows that the host gives for one step, and how they are opened. */
#ifndef DECODE_ROWS_H
#define DECODE_ROWS_H

#include "decode/slot.h"

/* The rows that the host gives: row i begins at element i * stride, or after the rows before it if
 * each has its own width. */
struct given_rows {
    const char *logits;
    size_t stride;
    const int32_t *widths; /* (n_rows), or NULL: all have vocab_size scores */
    size_t row, start;     /* a row that has its own width, and the element at which it begins */
};

/* Normalises and filters the rows of the slot's chunk. Refuses a row without mass. A row of width 0
 * is not opened; its n is 0. */
sb_status rows_open(sb_decoder *decoder, struct slot *slot, struct given_rows *given,
                    sb_error *err);
/* Writes the error for a row that row_open refused. Returns SB_ERR_MODEL. */
sb_status rows_refuse(const struct row *row, int32_t step, size_t row_number, sb_error *err);

#endif
