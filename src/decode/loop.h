/* The parts of the loop that are used outside of it: the list of wanted rows and its failures. */
#ifndef DECODE_LOOP_H
#define DECODE_LOOP_H

#include "decode/slot.h"

/* Makes the list of the rows that the running slots ask for: all of them, or at most most_rows. */
sb_status loop_build_request(sb_decoder *decoder, sb_error *err);
/* Makes a new decoder ask for at most most_rows rows at once (0: no limit). A slot whose level has
 * more rows asks for them in chunks of most_rows. The chunks do not depend on the other slots, so
 * the result of a slot depends only on its job and on most_rows. */
void loop_limit_rows(sb_decoder *decoder, size_t most_rows);
/* Continues the job of a slot that had found its sequences, because it now wants more of them. */
sb_status loop_continue(sb_decoder *decoder, struct slot *slot, sb_error *err);
/* Marks the decoder as failed. Writes the message for SB_ERR_MEMORY, which comes without one. */
sb_status loop_fail(sb_decoder *decoder, sb_status status, sb_error *err);

#endif
