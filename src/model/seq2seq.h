/* A sequence-to-sequence model as it is in memory: a network, the two vocabularies, and what its
 * file says of special tokens. seq2seq_file.c opens it, seq2seq.c makes a model of it. */
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
    void *copy; /* the file's bytes where it was opened from memory */
    json_doc description;
    const char *architecture; /* of the description */
    network net;
    pieces *subwords;     /* the tokens of both sides, or NULL: */
    vocab source, target; /* then these are */
    bool pretokenized;
    int32_t source_eos, source_unknown; /* unknown: -1 where there is none */
    int32_t start, eos;                 /* of the target */
    int32_t *unused;                    /* (n_unused) target tokens outside the support */
    size_t n_unused;
} seq2seq;

/* Opens the file at `path`, or where that is NULL the bytes `data`, which are copied; `name` stands
 * for them in messages. On success *model is the caller's to close. */
sb_status seq2seq_open(seq2seq **model, const char *path, const char *name, const void *data,
                       size_t size, sb_error *err);
/* Accepts NULL and what is half open. */
void seq2seq_close(void *model);

#endif
