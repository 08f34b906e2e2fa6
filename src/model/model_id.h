/* The id of a model file: a checksum of its bytes, by which records name the model. */
#ifndef MODEL_MODEL_ID_H
#define MODEL_MODEL_ID_H

#include <stddef.h>

#include "sbeam/error.h"

enum { MODEL_ID_SIZE = 17 }; /* 16 hexadecimal digits and the terminator */

/* Writes the id of the file at `path`, or "" for a pipe or a device, which cannot be read twice. */
sb_status model_id_of_file(const char *path, char id[MODEL_ID_SIZE], sb_error *err);
/* Writes the id of a file in memory. */
void model_id_of_memory(const void *data, size_t size, char id[MODEL_ID_SIZE]);

#endif
