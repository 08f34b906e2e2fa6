/* All memory of the library comes from here: sizes are checked for overflow, and tests can make any
 * allocation fail. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/error.h"

/* n elements of `size` bytes, uninitialised; NULL when it fails or overflows. n = 0 gives memory.
 */
void *alloc_array(size_t n, size_t size);
/* The same, zeroed. */
void *alloc_zeroed(size_t n, size_t size);
/* Changes the size of an array, which may be NULL. On failure it is as it was. */
void *alloc_resize(void *memory, size_t n, size_t size);
void alloc_free(void *memory);
/* A terminated copy of `size` bytes. */
char *alloc_text(const char *text, size_t size);

/* Makes room for `need` elements in a growing array, doubling it. On failure nothing changed. */
sb_status alloc_reserve(void *array_pointer, size_t *capacity, size_t need, size_t size);

/* For tests: the n-th allocation from now fails (1: the next), once; 0: none does. */
void alloc_fail_at(long n);
/* Whether it has, since the last call of alloc_fail_at. */
bool alloc_has_failed(void);

#endif
