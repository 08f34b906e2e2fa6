/* Results: how the last beam of a slot becomes one, and the memory that they own. */
#ifndef DECODE_RESULT_H
#define DECODE_RESULT_H

#include "decode/slot.h"

/* Fills a result from the first n entries of slot->now: tokens, weights by its kappa, and the
 * probability of the whole draw. `left` is the mass of all other sequences. Returns SB_ERR_LIMIT if
 * a log-probability is too low for the noise or for a double. */
sb_status result_build(const sb_decoder *decoder, const struct slot *slot, size_t n,
                       const struct logspace_total *left, sb_result *result, sb_error *err);
/* Checks entry i of slot->now as result_build does. */
sb_status result_check_range(const sb_decoder *decoder, const struct slot *slot, size_t i,
                             sb_error *err);
/* Makes a sequence without weight of a finished entry. Its tokens are in decoder->tokens. */
sb_status result_make_sequence(sb_decoder *decoder, const struct slot *slot,
                               const struct entry *entry, sb_sequence *sequence);
/* Makes a result empty, but keeps its memory for the next one. */
void result_clear(sb_result *result);
/* Copies a result with its sequences and tokens into the memory of *to, which grows if necessary.
 * On failure the content of *to is unchanged. */
sb_status result_copy(sb_result *to, const sb_result *from);
/* Frees the memory of a result, but not the struct. */
void result_release(sb_result *result);

#endif
