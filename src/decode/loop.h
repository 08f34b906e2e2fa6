/* The parts of the loop that are used outside of it: the list of wanted rows, and its failures. */
#ifndef DECODE_LOOP_H
#define DECODE_LOOP_H

#include "decode/slot.h"

/* Makes the list of the rows that all running slots ask for. */
sb_status loop_build_request(sb_decoder *decoder, sb_error *err);
/* Marks the decoder as failed. Writes the message for SB_ERR_MEMORY, which comes without one. */
sb_status loop_fail(sb_decoder *decoder, sb_status status, sb_error *err);
/* Writes the error for a row that row_open refused. Returns SB_ERR_MODEL. */
sb_status loop_refuse_row(const struct row *row, int32_t step, size_t row_number, sb_error *err);

#endif
