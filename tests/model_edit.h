/* Model files with something wrong: a good one, changed part by part and written anew in memory.
 *
 * What is not changed stays as it is; offsets are worked out again, so that the file stays
 * consistent and the error is found where it belongs. */
#ifndef MODEL_EDIT_H
#define MODEL_EDIT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

typedef struct model_edit {
    uint8_t *file;
    size_t data_begin;
    json_t *tensors;     /* name: the entry of the header, with what is changed beside it */
    json_t *description; /* NULL: none is written */
} model_edit;

/* Fails the test where the file cannot be read. */
void model_edit_open(model_edit *edit, const char *path);
void model_edit_close(model_edit *edit);

/* Changes one part; value NULL takes it away. `what` is
 *   target/unused/0    a part of the description; value is JSON
 *   #encoder.tokens    a tensor; value is its type and shape, as "F32 [3, 4]". It keeps its
 *                      elements as far as they go, then come zeros
 *   $source.dictionary a tensor of the bytes of value
 *   !encoder.tokens    the first element of a float32 tensor gets the bits `value` (hexadecimal) */
void model_edit_set(model_edit *edit, const char *what, const char *value);

/* The file. The caller frees it. */
uint8_t *model_edit_write(const model_edit *edit, size_t *size);

#endif
