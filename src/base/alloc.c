#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbeam/memory.h"

static atomic_long countdown; /* allocations until the planned failure; 0: none is planned */
static atomic_bool has_failed;

void alloc_fail_at(long n)
{
    atomic_store(&has_failed, false);
    atomic_store(&countdown, n);
}

bool alloc_has_failed(void)
{
    return atomic_load(&has_failed);
}

/* Returns whether this allocation must fail. The plain load avoids a locked instruction in the
 * usual case. */
static bool fails_now(void)
{
    if (atomic_load_explicit(&countdown, memory_order_relaxed) <= 0 ||
        atomic_fetch_sub(&countdown, 1) != 1)
        return false;
    atomic_store(&has_failed, true);
    return true;
}

void *alloc_resize(void *memory, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return NULL;
    if (fails_now())
        return NULL;
    return realloc(memory, n * size != 0 ? n * size : 1);
}

void *alloc_array(size_t n, size_t size)
{
    return alloc_resize(NULL, n, size);
}

void *alloc_zeroed(size_t n, size_t size)
{
    if (fails_now())
        return NULL;
    return calloc(n != 0 ? n : 1, size != 0 ? size : 1);
}

void alloc_free(void *memory)
{
    free(memory);
}

char *alloc_text(const char *text, size_t size)
{
    char *copy = size < SIZE_MAX ? alloc_array(size + 1, 1) : NULL;
    if (copy == NULL)
        return NULL;
    if (size > 0)
        memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

sb_status alloc_reserve(void *array_pointer, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return SB_OK;
    size_t wanted = *capacity > SIZE_MAX / 2 ? need : *capacity * 2;
    if (wanted < need)
        wanted = need;
    if (wanted < 8)
        wanted = 8;
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    void *const grown = alloc_resize(array, wanted, size);
    if (grown == NULL)
        return SB_ERR_MEMORY;
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return SB_OK;
}

void *sb_alloc(size_t size)
{
    return alloc_array(size, 1);
}

void sb_free(void *memory)
{
    alloc_free(memory);
}
