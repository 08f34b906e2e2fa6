/* What the library's own models are to model.c: a way to recognise a file and a way to open it.
 *
 * Adding a kind of model means one file that defines a model_backend, and one line in the registry
 * of model.c. */
#ifndef MODEL_BACKEND_H
#define MODEL_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/model.h"
#include "text/json.h"
#include "text/lines.h"

/* A file that has been recognised, at its start: to be read through the reader, which decompresses,
 * or mapped by the backend itself. */
typedef struct model_source {
    lines_reader *reader;
    const char *path; /* where the file is, or NULL when it is in memory: */
    const void *data; /* then these are its bytes, the caller's and gone after open */
    size_t size;
    const json_doc *doc; /* the parsed file where the backend has a json_format, else NULL */
} model_source;

typedef struct model_backend {
    const char *kind;     /* as in sb_model_info */
    const char *expected; /* a phrase for the error that lists what a file may be */
    /* One of the next two. */
    const char *json_format;                      /* the "format" entry of its JSON files */
    bool (*probe)(const char *head, size_t size); /* knows the first bytes, decompressed */
    /* Opens the model by sb_model_open_custom. The source stays the caller's. */
    sb_status (*open)(sb_model **model, const model_source *source, sb_error *err);
} model_backend;

extern const model_backend arpa_backend;
extern const model_backend chain_backend;
extern const model_backend gguf_backend;
/* Returns the version of llama.cpp, or "yes" if this llama.cpp does not tell it. Defined only in
 * builds with llama.cpp. */
const char *gguf_llama_version(void);
extern const model_backend seq2seq_backend;
extern const model_backend tree_backend;

/* The inside of a model, for model.c and session.c. */
struct sb_model {
    sb_model_ops ops;
    sb_model_info info;
    void *self;
    char *marker;      /* of subword pieces, or NULL; owned */
    bool pretokenized; /* ops.encode and ops.decode are not to be used */
};

/* sb_model_open for a file in memory (not compressed), which is not needed any more afterwards.
 * `name` stands for its path in messages. */
sb_status model_open_memory(sb_model **model, const char *name, const void *data, size_t size,
                            sb_error *err);

#endif
