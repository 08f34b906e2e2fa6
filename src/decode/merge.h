/* The best of all children and finished leaves by their perturbed log-probability G: what sbs and
 * the methods that draw each beam without replacement share.
 *
 * Each prefix yields its children best first (math/children.h), so the next beam is a k-way merge
 * of streams, and comes out in descending order of G. A finished leaf is a stream of one. */
#ifndef DECODE_MERGE_H
#define DECODE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "decode/decode.h"

/* A method's start: the root, with G ~ Gumbel(0). */
sb_status merge_start(sb_decoder *decoder, struct slot *slot);

/* Fills slot->next with the `width` best and adds the mass of the others to slot->pruned. With
 * `afresh` the G of every entry is drawn anew from Gumbel(phi) instead of being kept. */
sb_status merge_best(sb_decoder *decoder, struct slot *slot, size_t width, bool afresh);

#endif
