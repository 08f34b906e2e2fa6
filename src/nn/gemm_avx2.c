/* Computes a tile of up to 6 rows by 16 outputs, which stays in registers while the inputs are
 * read: each input takes two loads of weights, and per row one broadcast and two fused
 * multiply-adds. */
#include "nn/gemm_avx2.h"

#include <immintrin.h>

/* How far ahead to prefetch. Weights are read once, in order, but the hardware stops prefetching at
 * the end of a page. */
enum { PREFETCH_BYTES = 1024 };

/* Defines a function for each number of rows. Its loops over rows are unrolled first; only then
 * does gcc keep the sums in registers. */
#define FOR_ROWS(ROWS) _Pragma("GCC unroll 6") for (size_t r = 0; r < ROWS; r++)

#define DEFINE_TILE(ROWS)                                                                          \
    static void tile_##ROWS(const float *restrict panel, const float *restrict bias, size_t n_in,  \
                            const float *restrict x, size_t x_stride, float *restrict y,           \
                            size_t y_stride)                                                       \
    {                                                                                              \
        __m256 sum[ROWS][2];                                                                       \
        FOR_ROWS(ROWS)                                                                             \
        {                                                                                          \
            sum[r][0] = _mm256_load_ps(bias);                                                      \
            sum[r][1] = _mm256_load_ps(bias + 8);                                                  \
        }                                                                                          \
        for (size_t i = 0; i < n_in; i++, panel += 16) {                                           \
            const __m256 low = _mm256_load_ps(panel), high = _mm256_load_ps(panel + 8);            \
            _mm_prefetch((const char *)panel + PREFETCH_BYTES, _MM_HINT_T0);                       \
            FOR_ROWS(ROWS)                                                                         \
            {                                                                                      \
                const __m256 value = _mm256_broadcast_ss(x + r * x_stride + i);                    \
                sum[r][0] = _mm256_fmadd_ps(value, low, sum[r][0]);                                \
                sum[r][1] = _mm256_fmadd_ps(value, high, sum[r][1]);                               \
            }                                                                                      \
        }                                                                                          \
        FOR_ROWS(ROWS)                                                                             \
        {                                                                                          \
            _mm256_storeu_ps(y + r * y_stride, sum[r][0]);                                         \
            _mm256_storeu_ps(y + r * y_stride + 8, sum[r][1]);                                     \
        }                                                                                          \
    }

DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)
DEFINE_TILE(4)
DEFINE_TILE(5)
DEFINE_TILE(6)

void gemm_avx2_tile(size_t n_rows, const float *panel, const float *bias, size_t n_in,
                    const float *x, size_t x_stride, float *y, size_t y_stride)
{
    static void (*const tiles[GEMM_AVX2_ROWS])(const float *, const float *, size_t, const float *,
                                               size_t, float *, size_t) = {tile_1, tile_2, tile_3,
                                                                           tile_4, tile_5, tile_6};
    tiles[n_rows - 1](panel, bias, n_in, x, x_stride, y, y_stride);
}
