/* See weights.h. Every shape is checked against the shape that the architecture expects. */
#include "nn/weights.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

enum { NAME_SIZE = 128, SHAPE_SIZE = 100 };

static void write_shape(const tensor *t, char *text)
{
    size_t used = 1;
    strcpy(text, "(");
    for (int32_t i = 0; i < t->n_dims; i++)
        used += (size_t)snprintf(text + used, SHAPE_SIZE - used, "%s%zu", i > 0 ? ", " : "",
                                 t->shape[i]);
    snprintf(text + used, SHAPE_SIZE - used, ")");
}

static sb_status fail_shape(const weights *w, const char *name, const tensor *t,
                            const char *expected, sb_error *err)
{
    char shape[SHAPE_SIZE];
    write_shape(t, shape);
    return status_fail(err, SB_ERR_FORMAT, "%s: tensor '%s' is %s; expected %s", w->path, name,
                       shape, expected);
}

static sb_status find_floats(const weights *w, const char *name, const tensor **found,
                             sb_error *err)
{
    const tensor *const t = w->find(w->file, name);
    if (t == NULL)
        return status_fail(err, SB_ERR_FORMAT, "%s: the tensor '%s' is missing", w->path, name);
    if (t->type != TENSOR_F32 && t->type != TENSOR_F16)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: tensor '%s' holds whole numbers; expected F32 or F16", w->path,
                           name);
    *found = t;
    return SB_OK;
}

sb_status weights_matrix(const weights *w, const char *name, const tensor **found, sb_error *err)
{
    const tensor *t = NULL;
    const sb_status status = find_floats(w, name, &t, err);
    if (status != SB_OK)
        return status;
    if (t->n_dims != 2 || t->n == 0 || t->shape[0] > INT32_MAX || t->shape[1] > INT32_MAX)
        return fail_shape(w, name, t, "a matrix of at least 1 x 1", err);
    *found = t;
    return SB_OK;
}

sb_status weights_rows(const weights *w, const char *prefix, size_t *n_rows, sb_error *err)
{
    char name[NAME_SIZE];
    const tensor *t = NULL;
    snprintf(name, sizeof name, "%s.weight", prefix);
    const sb_status status = weights_matrix(w, name, &t, err);
    if (status == SB_OK)
        *n_rows = t->shape[0];
    return status;
}

/* Opens a matrix product. The weight must have these dimensions and the bias the first of them. */
static sb_status open_gemm(const weights *w, const char *weight_name, const char *bias_name,
                           const size_t *shape, int32_t n_dims, gemm *m, sb_error *err)
{
    const tensor *weight = NULL, *bias = NULL;
    sb_status status = find_floats(w, weight_name, &weight, err);
    if (status == SB_OK)
        status = find_floats(w, bias_name, &bias, err);
    if (status != SB_OK)
        return status;
    tensor expected = {.n_dims = n_dims};
    memcpy(expected.shape, shape, (size_t)n_dims * sizeof *shape);
    char text[SHAPE_SIZE];
    write_shape(&expected, text);
    if (weight->n_dims != n_dims ||
        memcmp(weight->shape, shape, (size_t)n_dims * sizeof *shape) != 0)
        return fail_shape(w, weight_name, weight, text, err);
    expected.n_dims = 1;
    write_shape(&expected, text);
    if (bias->n_dims != 1 || bias->n != shape[0])
        return fail_shape(w, bias_name, bias, text, err);
    /* A BLAS counts in 32 bits. */
    const size_t n_in = weight->n / shape[0];
    if (n_in > INT32_MAX)
        return fail_shape(w, weight_name, weight, "rows of at most 2147483647 elements", err);
    return gemm_open(m, w->way, shape[0], n_in, weight, bias, err);
}

sb_status weights_gemm_of(const weights *w, const char *weight_name, const char *bias_name,
                          size_t n_out, size_t n_in, gemm *m, sb_error *err)
{
    const size_t shape[] = {n_out, n_in};
    return open_gemm(w, weight_name, bias_name, shape, 2, m, err);
}

sb_status weights_gemm(const weights *w, const char *prefix, size_t n_out, size_t n_in, gemm *m,
                       sb_error *err)
{
    char weight_name[NAME_SIZE], bias_name[NAME_SIZE];
    snprintf(weight_name, sizeof weight_name, "%s.weight", prefix);
    snprintf(bias_name, sizeof bias_name, "%s.bias", prefix);
    return weights_gemm_of(w, weight_name, bias_name, n_out, n_in, m, err);
}

sb_status weights_convolution(const weights *w, const char *prefix, size_t n_out, size_t kernel,
                              size_t n_in, gemm *m, sb_error *err)
{
    char weight_name[NAME_SIZE], bias_name[NAME_SIZE];
    const size_t shape[] = {n_out, kernel, n_in};
    snprintf(weight_name, sizeof weight_name, "%s.weight", prefix);
    snprintf(bias_name, sizeof bias_name, "%s.bias", prefix);
    return open_gemm(w, weight_name, bias_name, shape, 3, m, err);
}
