/* An encoder-decoder network of any architecture, as seq2seq.c uses it.
 *
 * To add an architecture, write one file (or a few, like fconv*.c) that fills a network_ops, and
 * add a line to the table in model/seq2seq_file.c. A network is const once open; a session belongs
 * to one thread. */
#ifndef NN_NETWORK_H
#define NN_NETWORK_H

#include <stdint.h>

#include "sbeam/error.h"

typedef struct network_ops {
    sb_status (*session_open)(const void *self, int32_t max_inputs, void **session, sb_error *err);
    void (*session_close)(void *session);
    /* Encodes the source of an input: n >= 1 ids, the end token last, at most max_source. */
    sb_status (*encode)(void *session, int32_t input, const int32_t *ids, int32_t n, sb_error *err);
    /* Does what step of sb_model_ops does; logits is (n_rows, target_vocab). */
    sb_status (*step)(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, float *logits, sb_error *err);
    /* The next three are as in sb_model_ops, but required. */
    size_t (*state_size)(const void *session);
    void (*save)(const void *session, int32_t state, void *bytes);
    sb_status (*restore)(void *session, int32_t n, const int32_t *states, const void *bytes,
                         sb_error *err);
    void (*close)(void *self);
} network_ops;

typedef struct network {
    const network_ops *ops;
    void *self;
    int32_t source_vocab, target_vocab;
    int32_t max_source, max_target; /* in tokens; max_source includes the end token */
} network;

#endif
