/* Tiles of matrix products. A tile stays in registers while the inputs are read: each input takes a
 * load of weights for every vector of outputs, and for each row a broadcast and as many fused
 * multiply-adds. */
#include "nn/tiles.h"

#include "math/vector.h"

/* How far ahead to prefetch. Weights are read once, in order, but the hardware stops prefetching at
 * the end of a page. */
enum { PREFETCH_BYTES = 1024 };

enum { PARTS = GEMM_PANEL / FLOAT_LANES }; /* vectors of a panel */

/* Defines a function for each size of a tile. Its loops over rows and vectors are unrolled first;
 * only then does gcc keep the sums in registers. */
#define UNROLL(INDEX, N) _Pragma("GCC unroll 12") for (size_t INDEX = 0; INDEX < (N); INDEX++)

#define DEFINE_TILE(ROWS, PANELS)                                                                  \
    static void tile_##ROWS##_##PANELS(const float *restrict panel, const float *restrict bias,    \
                                       size_t n_in, const float *restrict x, size_t x_stride,      \
                                       float *restrict y, size_t y_stride)                         \
    {                                                                                              \
        enum { VECTORS = (PANELS)*PARTS };                                                         \
        const size_t next_panel = n_in * GEMM_PANEL;                                               \
        vfloat sum[ROWS][VECTORS], weight[VECTORS];                                                \
        UNROLL(r, ROWS)                                                                            \
        UNROLL(v, VECTORS) memcpy(&sum[r][v], bias + v * FLOAT_LANES, sizeof(vfloat));             \
        for (size_t i = 0; i < n_in; i++, panel += GEMM_PANEL) {                                   \
            UNROLL(v, VECTORS)                                                                     \
            memcpy(&weight[v], panel + v / PARTS * next_panel + v % PARTS * FLOAT_LANES,           \
                   sizeof(vfloat));                                                                \
            UNROLL(p, PANELS)                                                                      \
            __builtin_prefetch((const char *)(panel + p * next_panel) + PREFETCH_BYTES, 0, 3);     \
            UNROLL(r, ROWS)                                                                        \
            {                                                                                      \
                const vfloat value = splat_float(x[r * x_stride + i]);                             \
                UNROLL(v, VECTORS) sum[r][v] = fma_float(value, weight[v], sum[r][v]);             \
            }                                                                                      \
        }                                                                                          \
        UNROLL(r, ROWS)                                                                            \
        UNROLL(v, VECTORS) memcpy(y + r * y_stride + v * FLOAT_LANES, &sum[r][v], sizeof(vfloat)); \
    }

/* The number of registers decides how large a tile can be: 24 of 32 with AVX-512 and NEON, 12 of 16
 * with AVX2 hold sums. A product of few rows has few sums, with AVX-512 too few to keep the
 * multipliers busy: it is up to a fourth slower than with AVX2. So the tiles of AVX2 compute
 * products of at most 6 rows. In larger products no tile has fewer than 6 rows. */
#ifdef __AVX512F__
#define FOR_EACH_SIZE(MACRO, PANELS)                                                               \
    MACRO(6, PANELS)                                                                               \
    MACRO(7, PANELS)                                                                               \
    MACRO(8, PANELS)                                                                               \
    MACRO(9, PANELS)                                                                               \
    MACRO(10, PANELS)                                                                              \
    MACRO(11, PANELS)                                                                              \
    MACRO(12, PANELS)
enum { LEAST_ROWS = 6, MOST_ROWS = 12, MOST_PANELS = 2 };
#define FOR_FEW_ROWS &tiles_avx2
#else
#define FOR_EACH_SIZE(MACRO, PANELS)                                                               \
    MACRO(1, PANELS)                                                                               \
    MACRO(2, PANELS)                                                                               \
    MACRO(3, PANELS)                                                                               \
    MACRO(4, PANELS)                                                                               \
    MACRO(5, PANELS)                                                                               \
    MACRO(6, PANELS)
enum { LEAST_ROWS = 1, MOST_ROWS = 6, MOST_PANELS = 1 };
#define FOR_FEW_ROWS NULL
#endif

#define NAME_TILE(ROWS, PANELS) tile_##ROWS##_##PANELS,

FOR_EACH_SIZE(DEFINE_TILE, 1)
#ifdef __AVX512F__
FOR_EACH_SIZE(DEFINE_TILE, 2)
#endif

static void multiply(size_t n_rows, size_t n_panels, const float *panel, const float *bias,
                     size_t n_in, const float *x, size_t x_stride, float *y, size_t y_stride)
{
    static void (*const tiles[MOST_PANELS][MOST_ROWS - LEAST_ROWS + 1])(
        const float *, const float *, size_t, const float *, size_t, float *, size_t) = {
        {FOR_EACH_SIZE(NAME_TILE, 1)},
#ifdef __AVX512F__
        {FOR_EACH_SIZE(NAME_TILE, 2)},
#endif
    };
    tiles[n_panels - 1][n_rows - LEAST_ROWS](panel, bias, n_in, x, x_stride, y, y_stride);
}

const struct tiles TILES_TABLE = {MOST_ROWS, MOST_PANELS, FOR_FEW_ROWS, multiply};
