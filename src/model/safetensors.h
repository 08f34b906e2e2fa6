/* Safetensors files: named tensors and a map of texts, memory-mapped.
 *
 * Everything is checked at open: sizes, offsets, that shapes and bytes agree and that the tensors
 * cover the data without overlaps or holes. What a model needs beyond that (which names, which
 * shapes) is the model's to check. */
#ifndef MODEL_SAFETENSORS_H
#define MODEL_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/tensor.h"
#include "sbeam/error.h"

typedef struct safetensors safetensors;

/* Whether a file that begins with these bytes is meant to be one. */
bool safetensors_probe(const char *head, size_t size);

/* Maps a file. On success *file is the caller's to close; tensors and texts live as long as it. */
sb_status safetensors_open(safetensors **file, const char *path, sb_error *err);
/* The same of memory, which stays the caller's and must outlive the file. `name` stands for the
 * path in messages. */
sb_status safetensors_open_memory(safetensors **file, const char *name, const void *data,
                                  size_t size, sb_error *err);
/* Accepts NULL. */
void safetensors_close(safetensors *file);

/* The path, for messages, shortened as by status_name. */
const char *safetensors_name(const safetensors *file);
/* How many tensors there are. */
size_t safetensors_count(const safetensors *file);

/* The text of an entry of "__metadata__", or NULL. */
const char *safetensors_metadata(const safetensors *file, const char *key);
/* A tensor by name, or NULL. */
const tensor *safetensors_find(const safetensors *file, const char *name);
/* Tensor number i and its name, by name in ascending order (bytes); NULL past the last. */
const tensor *safetensors_get(const safetensors *file, size_t i, const char **name);

#endif
