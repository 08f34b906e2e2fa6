/* Makes wrong model files: changes parts of a good file and writes it again in memory.
 *
 * Everything else stays as it is. Offsets are computed again, so that the file stays consistent and
 * only the intended error is found. */
#ifndef MODEL_EDIT_H
#define MODEL_EDIT_H

#include <stddef.h>
#include <stdint.h>

typedef struct model_edit {
    uint8_t *file;
    size_t data_begin;
    struct edited_tensor *tensors;
    size_t n_tensors;
    char *description; /* JSON; NULL: none is written */
} model_edit;

/* Reads a model file. Fails the test if it cannot be read. */
void model_edit_open(model_edit *edit, const char *path);
void model_edit_close(model_edit *edit);

/* Changes one part, or removes it if value is NULL. `what` is
 *   target/unused/0    a part of the description; value is JSON
 *   #encoder.tokens    a tensor; value is its type and shape, as "F32 [3, 4]". It keeps its
 *                      elements; if there are too few, zeros follow
 *   $source.dictionary a tensor that holds the bytes of value
 *   !encoder.tokens    the first element of a float32 tensor gets the bits `value` (hexadecimal) */
void model_edit_set(model_edit *edit, const char *what, const char *value);

/* Returns the file in memory. The caller frees it. */
uint8_t *model_edit_write(const model_edit *edit, size_t *size);

#endif
