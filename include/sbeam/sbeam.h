/* sbeam: sequences without replacement from sequence models.
 *
 * Three ways in, from the simplest to the most open:
 *   draw.h     one call on a model file;
 *   model.h    objects: models (the library's, or your own table), sessions;
 *   decoder.h  steps, for hosts that compute their own logits.
 * Beside them config.h (settings), result.h (what comes back), estimate.h (expectations from a
 * draw), metric.h (BLEU and diversity), topk.h (flat lists) and error.h.
 * Each header compiles alone, in C and in C++. */
#ifndef SBEAM_SBEAM_H
#define SBEAM_SBEAM_H

#include "sbeam/config.h"
#include "sbeam/decoder.h"
#include "sbeam/draw.h"
#include "sbeam/error.h"
#include "sbeam/estimate.h"
#include "sbeam/metric.h"
#include "sbeam/model.h"
#include "sbeam/result.h"
#include "sbeam/topk.h"
#include "sbeam/version.h"

#endif
