/* Safetensors files: named tensors and a map of texts, memory-mapped.
 *
 * Opening a file checks sizes and offsets, that shapes and bytes agree, and that the tensors cover
 * the data without overlaps or gaps. The model checks the rest: which names and shapes it needs. */
#ifndef MODEL_SAFETENSORS_H
#define MODEL_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/tensor.h"
#include "sbeam/error.h"

typedef struct safetensors safetensors;

/* Returns whether a file that begins with these bytes looks like a safetensors file. */
bool safetensors_probe(const char *head, size_t size);

/* Maps a file. On success *file belongs to the caller, who closes it; tensors and texts live as
 * long as it. */
sb_status safetensors_open(safetensors **file, const char *path, sb_error *err);
/* Does the same for memory, which still belongs to the caller and must outlive the file. `name`
 * stands for the path in messages. */
sb_status safetensors_open_memory(safetensors **file, const char *name, const void *data,
                                  size_t size, sb_error *err);
/* Frees the file. Accepts NULL. */
void safetensors_close(safetensors *file);

/* Returns the path for messages, shortened as by status_name. */
const char *safetensors_name(const safetensors *file);
/* Returns the number of tensors. */
size_t safetensors_count(const safetensors *file);

/* Returns the text of an entry of "__metadata__", or NULL. */
const char *safetensors_metadata(const safetensors *file, const char *key);
/* Returns a tensor by name, or NULL. */
const tensor *safetensors_find(const safetensors *file, const char *name);
/* Returns tensor number i, and its name in *name, in ascending order of names (by bytes). Returns
 * NULL past the last. */
const tensor *safetensors_get(const safetensors *file, size_t i, const char **name);

#endif
