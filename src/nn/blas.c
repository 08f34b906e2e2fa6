/* See blas.h. The function is declared here and not by cblas.h, so that a build does not need
 * OpenBLAS and users can install it later. */
#include "nn/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/symbol.h"

/* The values of these enumerations are part of the C interface of BLAS. */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

/* The library of this name counts in int; the one that counts in 64 bits has another name. */
typedef void (*sgemm_function)(int layout, int transpose_a, int transpose_b, int m, int n, int k,
                               float alpha, const float *a, int lda, const float *b, int ldb,
                               float beta, float *c, int ldc);
typedef void (*set_threads_function)(int n);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sgemm_function sgemm; /* NULL: OpenBLAS cannot be used */
static char *(*get_core)(void);

/* Returns whether there is room for OpenBLAS. If OpenBLAS cannot allocate a buffer, it tries again
 * for ever, so it is loaded only if there is room for all its buffers. On x86-64 a buffer takes 128
 * MB of addresses. Each worker that OpenBLAS starts has a buffer and a stack of 8 MB, and so has
 * each of our threads; there are about as many of either as processors. The addresses are reserved
 * for a moment and not used. */
static bool has_room(void)
{
    static const size_t library = (size_t)64 << 20, thread = (size_t)136 << 20;
    const long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t n_threads = 2 * (size_t)(n_processors > 0 ? n_processors : 1);
    void *const room = alloc_array(library / 4096 + n_threads * (thread / 4096), 4096);
    alloc_free(room);
    return room != NULL;
}

static void load(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void *library = NULL;
    if (!has_room())
        return;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return;
    set_threads_function set_threads;
    sgemm_function multiply;
    if (!symbol_find(library, "openblas_set_num_threads", &set_threads, sizeof set_threads) ||
        !symbol_find(library, "cblas_sgemm", &multiply, sizeof multiply)) {
        dlclose(library);
        return;
    }
    symbol_find(library, "openblas_get_corename", &get_core, sizeof get_core);
    set_threads(1); /* the callers have threads of their own */
    sgemm = multiply;
}

bool blas_load(void)
{
    return pthread_once(&once, load) == 0 && sgemm != NULL;
}

const char *blas_core(void)
{
    return get_core != NULL ? get_core() : NULL;
}

void blas_multiply(size_t n_rows, size_t n_out, size_t n_in, const float *x, size_t x_stride,
                   const float *w, float *y, size_t y_stride)
{
    sgemm(ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE, (int)n_rows, (int)n_out, (int)n_in, 1, x,
          (int)x_stride, w, (int)n_in, 1, y, (int)y_stride);
}
