/* A tensor of a weight file: a view of float32, float16, int32 or bytes, not necessarily aligned.
 * It is flat and row-major for any number of dimensions. */
#ifndef NN_TENSOR_H
#define NN_TENSOR_H

#include <stddef.h>
#include <stdint.h>

enum { TENSOR_MAX_DIMS = 4 };

typedef enum tensor_type { TENSOR_F32, TENSOR_F16, TENSOR_U8, TENSOR_I32 } tensor_type;

typedef struct tensor {
    tensor_type type;
    int32_t n_dims; /* 0 (a scalar) .. TENSOR_MAX_DIMS */
    size_t shape[TENSOR_MAX_DIMS];
    size_t n;            /* elements: the product of the shape */
    const uint8_t *data; /* little-endian; belongs to the file */
} tensor;

size_t tensor_element_size(tensor_type type);

/* Writes elements first .. first + n - 1 of an F32 or F16 tensor to `to`, as floats. */
void tensor_read(const tensor *t, size_t first, size_t n, float *to);

#endif
