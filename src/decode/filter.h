/* Filters a row before the draw: removes tokens by allow, ban and min-len, then by top-k, top-p and
 * min-p, in this order. The probabilities are tempered, and each filter works on the row as the
 * filters before it left it, renormalised. Among equally likely tokens the lower id is kept. The
 * draw is exact for the model that is changed in this way. The scores are not copied; removed
 * members are marked in the row. */
#ifndef DECODE_FILTER_H
#define DECODE_FILTER_H

#include "decode/slot.h"

/* Returns the number of bytes that the filter needs after the scratch of each row. */
size_t filter_scratch_size(const sb_decoder *decoder);
/* Removes the tokens that the config filters out from opened row `row` of the slot. Returns false
 * if no token is left. */
bool filter_row(sb_decoder *decoder, const struct slot *slot, int32_t row);

#endif
