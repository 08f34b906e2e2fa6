/* Chooses the kernels once, by the processor and by SBEAM_CPU. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "math/kernels.h"
#include "sbeam/version.h"

#if defined(KERNELS_HAVE_AVX2) || defined(KERNELS_HAVE_AVX512)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

#ifdef KERNELS_HAVE_AVX512
static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

static bool has_all(void)
{
    return true;
}

/* The fastest first. */
static const struct {
    const char *name;
    const struct kernels *kernels; /* NULL: for other processors */
    bool (*is_possible)(void);
} sets[] = {
#ifdef KERNELS_HAVE_AVX512
    {"avx512", &kernels_avx512, has_avx512},
#else
    {"avx512", NULL, NULL},
#endif
#ifdef KERNELS_HAVE_AVX2
    {"avx2", &kernels_avx2, has_avx2},
#else
    {"avx2", NULL, NULL},
#endif
#ifdef KERNELS_HAVE_NEON
    {"neon", &kernels_neon, has_all},
#else
    {"neon", NULL, NULL},
#endif
    {"plain", &kernels_plain, has_all},
    {"blas", &kernels_plain, has_all}, /* the networks then multiply by OpenBLAS */
};

enum { N_SETS = sizeof sets / sizeof *sets };

const struct kernels *kernels_list(size_t i, const char **name)
{
    *name = i < N_SETS ? sets[i].name : NULL;
    return i < N_SETS && sets[i].kernels != NULL && sets[i].is_possible() ? sets[i].kernels : NULL;
}

/* Returns what SBEAM_CPU says, or NULL if it says nothing. */
static const char *wish(void)
{
    const char *const value = getenv("SBEAM_CPU");
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const struct kernels *choose(void)
{
    const struct kernels *best = NULL;
    for (size_t i = 0; i < N_SETS; i++) {
        const char *name;
        const struct kernels *const kernels = kernels_list(i, &name);
        if (kernels != NULL && wish() != NULL && strcmp(name, wish()) == 0)
            return kernels;
        best = best == NULL ? kernels : best;
    }
    return best;
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

bool kernels_are_forced(void)
{
    return wish() != NULL && strcmp(wish(), kernels_get()->name) == 0;
}

sb_status kernels_check(sb_error *err)
{
    char possible[64] = "";
    for (size_t i = 0; i < N_SETS; i++) {
        const char *name;
        const size_t n = strlen(possible);
        if (kernels_list(i, &name) == NULL)
            continue;
        if (wish() == NULL || strcmp(wish(), name) == 0)
            return SB_OK;
        snprintf(possible + n, sizeof possible - n, "%s%s", n > 0 ? ", " : "", name);
    }
    return status_fail(err, SB_ERR_ARGUMENT,
                       "the environment variable SBEAM_CPU is '%.40s'; expected one of what this "
                       "processor can run: %s",
                       wish(), possible);
}

sb_status sb_cpu_check(sb_error *err)
{
    return kernels_check(err);
}

const char *sb_cpu(void)
{
    return kernels_get()->name;
}
