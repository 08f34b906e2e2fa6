/* Results: how the last beam of a slot becomes one, and the memory that they own. */
#ifndef DECODE_RESULT_H
#define DECODE_RESULT_H

#include "decode/slot.h"

/* Fills slot->result from slot->now: tokens, weights and the probability of the whole draw. Returns
 * SB_ERR_LIMIT if a log-probability is too low for the noise or for a double. */
sb_status result_build(sb_decoder *decoder, struct slot *slot, sb_error *err);
/* Makes a result empty, but keeps its memory for the next one. */
void result_clear(sb_result *result);
/* Copies a result with its sequences and tokens into the memory of *to, which grows if necessary.
 * On failure the content of *to is unchanged. */
sb_status result_copy(sb_result *to, const sb_result *from);
/* Frees the memory of a result, but not the struct. */
void result_release(sb_result *result);

#endif
