/* Makes any allocation of a process fail: in sbeam, in the libraries that it loads, in their
 * initialisers or in libc itself. It is preloaded (LD_PRELOAD), and reads
 *
 *     INJECT_AT     the number, from 0, of the allocation that fails; none fails if it is not set
 *     INJECT_FROM   if set, all allocations from that number on fail
 *     INJECT_FD     if set, the number of allocations is written to this file descriptor at the end
 *
 * It calls glibc's functions by their internal names, because looking up the usual names allocates.
 * The operator new of C++ calls malloc. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
int posix_memalign(void **memory, size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);

static atomic_long n_allocations;
static atomic_long fail_at = -2; /* -2: the environment was not read, -1: none fails */
static bool fails_from;

/* Returns whether this allocation must fail. */
static bool fails_now(void)
{
    long at = atomic_load(&fail_at);
    if (at == -2) { /* the first allocation, before any other thread */
        const char *const text = getenv("INJECT_AT");
        fails_from = getenv("INJECT_FROM") != NULL;
        at = text != NULL ? atol(text) : -1;
        atomic_store(&fail_at, at);
    }
    const long n = atomic_fetch_add(&n_allocations, 1);
    if (at < 0 || n < at || (n > at && !fails_from))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails_now() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails_now() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    void *const found = memalign(alignment, size);
    if (found == NULL)
        return ENOMEM;
    *memory = found;
    return 0;
}

__attribute__((destructor)) static void report(void)
{
    const char *const fd = getenv("INJECT_FD");
    char text[32];
    if (fd == NULL)
        return;
    const int size = snprintf(text, sizeof text, "%ld\n", atomic_load(&n_allocations));
    if (write(atoi(fd), text, (size_t)size) < 0)
        _exit(3);
}
