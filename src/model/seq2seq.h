/* A sequence-to-sequence model in memory: a network, the two vocabularies, and the special tokens
 * that its file describes. seq2seq_file.c opens it, seq2seq.c makes it a model. */
#ifndef MODEL_SEQ2SEQ_H
#define MODEL_SEQ2SEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/safetensors.h"
#include "nn/network.h"
#include "sbeam/error.h"
#include "text/json.h"
#include "text/pieces.h"
#include "text/vocab.h"

typedef struct seq2seq {
    safetensors *file;
    void *copy; /* the file's bytes if it was opened from memory, else NULL */
    json_doc description;
    const char *architecture; /* points into a static table */
    network net;
    pieces *subwords;     /* the tokens of both sides, or NULL */
    vocab source, target; /* the tokens of each side if subwords is NULL */
    bool pretokenized;
    int32_t source_eos, source_unknown; /* source_unknown is -1 if there is none */
    int32_t start, eos;                 /* of the target */
    int32_t *unused;                    /* (n_unused) target tokens that get probability zero */
    size_t n_unused;
} seq2seq;

/* Opens the file at `path` or, if that is NULL, the bytes `data`, which are copied; `name` stands
 * for them in messages. On success *model belongs to the caller, who closes it. */
sb_status seq2seq_open(seq2seq **model, const char *path, const char *name, const void *data,
                       size_t size, sb_error *err);
/* Frees the model, even if it is only partly open. Accepts NULL. */
void seq2seq_close(void *model);

#endif
