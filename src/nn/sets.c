/* The inner loops of the networks by instruction set: those that belong to the chosen kernels. */
#include "math/kernels.h"
#include "nn/loops.h"
#include "nn/tiles.h"

static const struct {
    const struct kernels *kernels;
    const struct tiles *tiles;
    const struct loops *loops;
} sets[] = {
#ifdef KERNELS_HAVE_AVX512
    {&kernels_avx512, &tiles_avx512, &loops_avx512},
#endif
#ifdef KERNELS_HAVE_AVX2
    {&kernels_avx2, &tiles_avx2, &loops_avx2},
#endif
#ifdef KERNELS_HAVE_NEON
    {&kernels_neon, &tiles_neon, &loops_neon},
#endif
    {&kernels_plain, &tiles_plain, &loops_plain},
};

static size_t find_set(const struct kernels *kernels)
{
    size_t i = 0;
    while (sets[i].kernels != kernels)
        i++;
    return i;
}

const struct tiles *tiles_of(const struct kernels *kernels)
{
    return sets[find_set(kernels)].tiles;
}

const struct loops *loops_of(const struct kernels *kernels)
{
    return sets[find_set(kernels)].loops;
}
