/* The library's own kinds of models, as model.c sees them: how to recognise a file and how to open
 * it.
 *
 * To add a kind of model, write one file that defines a model_backend and add one line to the
 * registry in model.c. */
#ifndef MODEL_BACKEND_H
#define MODEL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "model/model_id.h"
#include "sbeam/model.h"
#include "text/json.h"
#include "text/lines.h"

/* A file that has been recognised, positioned at its start. A backend reads it through the reader,
 * which decompresses it, or maps the file itself. */
typedef struct model_source {
    lines_reader *reader;
    const char *path; /* the path, or NULL if the file is in memory */
    const void *data; /* the bytes of a file in memory; owned by the caller, invalid after open */
    size_t size;
    const json_doc *doc; /* the parsed file if the backend has a json_format, else NULL */
} model_source;

typedef struct model_backend {
    const char *kind;     /* as in sb_model_info */
    const char *expected; /* names the kind of file in the error that lists all kinds */
    /* Exactly one of the next two is set. */
    const char *json_format;                      /* the "format" entry of its JSON files */
    bool (*probe)(const char *head, size_t size); /* recognises the first bytes, decompressed */
    /* Opens the model with sb_model_open_custom. The source still belongs to the caller. */
    sb_status (*open)(sb_model **model, const model_source *source, sb_error *err);
} model_backend;

extern const model_backend arpa_backend;
extern const model_backend chain_backend;
extern const model_backend gguf_backend;
extern const model_backend seq2seq_backend;
extern const model_backend tree_backend;

/* The content of a model, for model.c and session.c only. */
struct sb_model {
    sb_model_ops ops;
    sb_model_info info;
    void *self;
    char *marker;           /* joins subword pieces, or NULL; owned */
    bool pretokenized;      /* ops.encode and ops.decode must not be used */
    bool special;           /* inputs may name special tokens */
    char id[MODEL_ID_SIZE]; /* of a file; info.id points here, unless it is "" */
};

/* Opens a model from an uncompressed file in memory, which may be freed afterwards. `name` stands
 * for its path in messages. */
sb_status model_open_memory(sb_model **model, const char *name, const void *data, size_t size,
                            sb_error *err);

#endif
