/* Finds the best of all children and finished leaves by their perturbed log-probability G. sbs and
 * the other methods that draw each beam without replacement share it.
 *
 * Each prefix gives its children best first (math/children.h). So the next beam is a k-way merge of
 * these streams, and comes out in descending order of G. A finished leaf is a stream of one entry.
 * If the rows come in chunks, the beam so far is one of the streams of the next merge. The value of
 * a child does not depend on its chunk, so the result is the same. */
#ifndef DECODE_MERGE_H
#define DECODE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "decode/slot.h"

/* Puts the root on the beam, with G ~ Gumbel(0); the `start` of a method. */
sb_status merge_start(sb_decoder *decoder, struct slot *slot);

/* Fills slot->next with the `width` best of this chunk and of the earlier chunks of the level, and
 * adds the mass of all others to slot->pruned. If `afresh`, the G of every entry is first drawn
 * again from Gumbel(phi) instead of being kept. */
sb_status merge_best(sb_decoder *decoder, struct slot *slot, size_t width, bool afresh);

#endif
