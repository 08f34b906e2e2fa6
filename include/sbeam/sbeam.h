/* sbeam: sequences without replacement from sequence models.
 *
 * There are three ways to use it, from the simplest to the most open:
 *   draw.h     draws from a model in one call;
 *   model.h    opens models from files or from your own table of functions, and their sessions;
 *   decoder.h  draws step by step, for hosts that compute their own logits.
 * The other headers are config.h (settings), trie.h (lists of permitted outputs), method.h (the
 * methods), result.h (the result of a draw), record.h (a draw as a JSON line), estimate.h
 * (expectations from a draw), metric.h (BLEU and diversity), topk.h (sampling from flat lists),
 * option.h (descriptions of settings), format.h (numbers and strings as text), row.h (the type of
 * scores), memory.h, error.h and version.h. Each header compiles without the others, in C and in
 * C++. */
#ifndef SBEAM_SBEAM_H
#define SBEAM_SBEAM_H

#include "sbeam/config.h"
#include "sbeam/cursor.h"
#include "sbeam/decoder.h"
#include "sbeam/draw.h"
#include "sbeam/error.h"
#include "sbeam/estimate.h"
#include "sbeam/format.h"
#include "sbeam/memory.h"
#include "sbeam/method.h"
#include "sbeam/metric.h"
#include "sbeam/model.h"
#include "sbeam/option.h"
#include "sbeam/record.h"
#include "sbeam/result.h"
#include "sbeam/row.h"
#include "sbeam/topk.h"
#include "sbeam/trie.h"
#include "sbeam/version.h"

#endif
