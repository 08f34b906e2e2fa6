/* Chooses the kernels once, by the processor and by SBEAM_CPU. */
#include <stdlib.h>
#include <string.h>

#include "math/kernels.h"
#include "sbeam/version.h"

static const struct kernels *choose(void)
{
#ifdef KERNELS_HAVE_AVX2
    const char *const wish = getenv("SBEAM_CPU");
    if ((wish == NULL || strcmp(wish, "plain") != 0) && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return &kernels_plain;
}

const struct kernels *kernels_get(void)
{
    /* Two threads may both make the choice, but it is the same. */
    static const struct kernels *_Atomic chosen;
    const struct kernels *kernels = chosen;
    if (kernels == NULL)
        chosen = kernels = choose();
    return kernels;
}

const char *sb_cpu(void)
{
    return kernels_get()->name;
}
