/* All memory of the library comes from these functions. They check sizes for overflow, and tests
 * can make any allocation fail. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/error.h"

/* Returns uninitialised memory for n elements of `size` bytes, or NULL on failure or overflow. If n
 * is 0, it still returns memory, which must be freed. */
void *alloc_array(size_t n, size_t size);
/* Returns the same, zeroed. */
void *alloc_zeroed(size_t n, size_t size);
/* Returns the array, which may be NULL, with a new size. On failure returns NULL; the array is then
 * unchanged and still the caller's. */
void *alloc_resize(void *memory, size_t n, size_t size);
/* Frees memory. Accepts NULL. */
void alloc_free(void *memory);
/* Returns a terminated copy of `size` bytes, or NULL on failure. */
char *alloc_text(const char *text, size_t size);

/* Makes room for `need` elements in an array that grows by doubling. array_pointer is the address
 * of the pointer to the array. On failure nothing has changed. */
sb_status alloc_reserve(void *array_pointer, size_t *capacity, size_t need, size_t size);

/* For tests: makes the n-th allocation from now fail (1: the next), once. 0: none fails. */
void alloc_fail_at(long n);
/* Returns whether it has failed since the last call of alloc_fail_at. */
bool alloc_has_failed(void);

#endif
