/* An encoder-decoder network, whatever its architecture: what seq2seq.c asks of it.
 *
 * A new architecture is one file (or a few, as fconv_*.c) that fills a network_ops, and a line in
 * the table of model/seq2seq_file.c. A network is const once open; a session is one thread's. */
#ifndef NN_NETWORK_H
#define NN_NETWORK_H

#include <stdint.h>

#include "sbeam/error.h"

typedef struct network_ops {
    sb_status (*session_open)(const void *self, int32_t max_inputs, void **session, sb_error *err);
    void (*session_close)(void *session);
    /* Encodes the source of an input: n >= 1 ids, the end token last, at most max_source. */
    sb_status (*encode)(void *session, int32_t input, const int32_t *ids, int32_t n, sb_error *err);
    /* As step of sb_model_ops; logits is (n_rows, target_vocab). */
    sb_status (*step)(void *session, int32_t n_rows, const int32_t *parent, const int32_t *token,
                      const int32_t *input, float *logits, sb_error *err);
    /* Required: as in sb_model_ops. */
    size_t (*state_size)(const void *session);
    void (*save)(const void *session, int32_t row, void *state);
    sb_status (*restore)(void *session, int32_t n_rows, const void *states, sb_error *err);
    void (*close)(void *self);
} network_ops;

typedef struct network {
    const network_ops *ops;
    void *self;
    int32_t source_vocab, target_vocab;
    int32_t max_source, max_target; /* tokens; the source's with its end token */
} network;

#endif
