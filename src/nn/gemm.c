/* See gemm.h; bench/gemm.c compares the ways. */
#include "nn/gemm.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "math/kernels.h"
#include "nn/blas.h"

enum { ALIGNMENT = 64 };

gemm_way gemm_best_way(void)
{
    if (kernels_get() != &kernels_plain || kernels_are_forced())
        return GEMM_PACKED;
    return blas_load() ? GEMM_BLAS : GEMM_PLAIN;
}

const char *gemm_way_name(gemm_way way)
{
    static const char *const names[] = {"plain", "OpenBLAS", "packed"};
    return names[way];
}

/* --- preparing --- */

/* Packs the weights: panel p holds, for each input, the weights of outputs 16 p .. 16 p + 15. The
 * last panel is padded with zeros. */
static void pack(gemm *m, const tensor *weights, float *row)
{
    for (size_t o = 0; o < m->n_out; o++) {
        float *const to = m->weights + o / GEMM_PANEL * GEMM_PANEL * m->n_in + o % GEMM_PANEL;
        tensor_read(weights, o * m->n_in, m->n_in, row);
        for (size_t i = 0; i < m->n_in; i++)
            to[i * GEMM_PANEL] = row[i];
    }
}

sb_status gemm_open(gemm *m, gemm_way way, size_t n_out, size_t n_in, const tensor *weights,
                    const tensor *bias, sb_error *err)
{
    /* The tensors exist, so n_out * n_in elements fit memory; rounding up may still overflow. */
    const size_t outputs =
        way == GEMM_PACKED ? (n_out + GEMM_PANEL - 1) / GEMM_PANEL * GEMM_PANEL : n_out;
    const size_t extra = outputs + ALIGNMENT / sizeof(float);
    if (n_in > 0 && outputs > (SIZE_MAX - extra) / n_in)
        return status_no_memory(err);
    void *const memory = alloc_zeroed(outputs * n_in + extra, sizeof(float));
    float *const row = alloc_array(n_in, sizeof *row);
    if (memory == NULL || row == NULL) {
        alloc_free(memory);
        alloc_free(row);
        return status_no_memory(err);
    }
    const uintptr_t start = ((uintptr_t)memory + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *m = (gemm){.n_out = n_out, .n_in = n_in, .way = way, .memory = memory};
    m->tiles = tiles_of(kernels_get());
    if (way == GEMM_BLAS && !blas_load())
        m->way = GEMM_PLAIN;
    m->weights = (float *)start;
    m->bias = m->weights + outputs * n_in;
    tensor_read(bias, 0, n_out, m->bias);
    if (way == GEMM_PACKED)
        pack(m, weights, row);
    else
        tensor_read(weights, 0, n_out * n_in, m->weights);
    alloc_free(row);
    return SB_OK;
}

void gemm_close(gemm *m)
{
    alloc_free(m->memory);
    *m = (gemm){0};
}

/* --- applying --- */

static const struct tiles *tiles_for(const gemm *m, size_t n_rows)
{
    const struct tiles *const few = m->tiles->for_few_rows;
    return few != NULL && n_rows <= few->most_rows ? few : m->tiles;
}

/* Computes n_panels panels of outputs. Divides the rows evenly over the smallest number of tiles:
 * with tiles of 6, 20 rows become four tiles of 5, not three of 6 and a slow one of 2. */
static void apply_panels(const gemm *m, size_t panel, size_t n_panels, size_t n_rows,
                         const float *x, size_t x_stride, float *y, size_t y_stride)
{
    const struct tiles *const tiles = tiles_for(m, n_rows);
    const size_t n_tiles = (n_rows + tiles->most_rows - 1) / tiles->most_rows;
    const float *const weights = m->weights + panel * GEMM_PANEL * m->n_in;
    const float *const bias = m->bias + panel * GEMM_PANEL;
    for (size_t t = 0, row = 0; t < n_tiles; t++) {
        const size_t n = (n_rows - row) / (n_tiles - t);
        tiles->multiply(n, n_panels, weights, bias, m->n_in, x + row * x_stride, x_stride,
                        y + row * y_stride, y_stride);
        row += n;
    }
}

/* Computes the last outputs, which do not fill a panel, through a buffer of some rows. */
static void apply_last(const gemm *m, size_t n_rows, const float *x, size_t x_stride, float *y,
                       size_t y_stride)
{
    enum { MOST = 12 };
    const size_t panel = m->n_out / GEMM_PANEL, left = m->n_out % GEMM_PANEL;
    float out[MOST * GEMM_PANEL];
    for (size_t row = 0; row < n_rows; row += MOST) {
        const size_t n = n_rows - row < MOST ? n_rows - row : MOST;
        apply_panels(m, panel, 1, n, x + row * x_stride, x_stride, out, GEMM_PANEL);
        for (size_t r = 0; r < n; r++)
            memcpy(y + (row + r) * y_stride + panel * GEMM_PANEL, out + r * GEMM_PANEL,
                   left * sizeof *y);
    }
}

static void apply_packed(const gemm *m, size_t n_rows, const float *x, size_t x_stride, float *y,
                         size_t y_stride)
{
    const size_t n_panels = m->n_out / GEMM_PANEL;
    /* Two panels are two streams of weights, which are faster only if tiles have all their rows. */
    const size_t most = n_rows < m->tiles->most_rows ? 1 : m->tiles->most_panels;
    for (size_t panel = 0; panel < n_panels; panel += most)
        apply_panels(m, panel, n_panels - panel < most ? n_panels - panel : most, n_rows, x,
                     x_stride, y + panel * GEMM_PANEL, y_stride);
    if (m->n_out % GEMM_PANEL > 0)
        apply_last(m, n_rows, x, x_stride, y, y_stride);
}

static void apply_blas(const gemm *m, size_t n_rows, const float *x, size_t x_stride, float *y,
                       size_t y_stride)
{
    for (size_t r = 0; r < n_rows; r++)
        memcpy(y + r * y_stride, m->bias, m->n_out * sizeof *y);
    blas_multiply(n_rows, m->n_out, m->n_in, x, x_stride, m->weights, y, y_stride);
}

static void apply_plain(const gemm *m, size_t n_rows, const float *x, size_t x_stride, float *y,
                        size_t y_stride)
{
    for (size_t r = 0; r < n_rows; r++)
        for (size_t o = 0; o < m->n_out; o++) {
            const float *const w = m->weights + o * m->n_in;
            double sum = (double)m->bias[o];
            for (size_t i = 0; i < m->n_in; i++)
                sum += (double)w[i] * (double)x[r * x_stride + i];
            y[r * y_stride + o] = (float)sum;
        }
}

void gemm_apply(const gemm *m, size_t n_rows, const float *x, size_t x_stride, float *y,
                size_t y_stride)
{
    switch (m->way) {
    case GEMM_PACKED: apply_packed(m, n_rows, x, x_stride, y, y_stride); return;
    case GEMM_BLAS: apply_blas(m, n_rows, x, x_stride, y, y_stride); return;
    default: apply_plain(m, n_rows, x, x_stride, y, y_stride); return;
    }
}
