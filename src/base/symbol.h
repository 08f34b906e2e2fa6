/* Functions of libraries that are loaded at run time. */
#ifndef BASE_SYMBOL_H
#define BASE_SYMBOL_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Writes the pointer to a function of a library that dlopen opened, or NULL if the library has no
 * such function, to *function, a pointer of `size` bytes. Returns whether the library has the
 * function. C has no cast from a pointer to data to one to a function; POSIX says that their bytes
 * are the same. */
static inline bool symbol_find(void *library, const char *name, void *function, size_t size)
{
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

#endif
