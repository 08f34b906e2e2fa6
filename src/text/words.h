/* Turns text that is tokens separated by blanks into ids. */
#ifndef TEXT_WORDS_H
#define TEXT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

/* Returns the id of a word, or -1. */
typedef int32_t (*words_find_fn)(const void *user, const char *word, size_t size);

/* Looks up each word with `find`. *ids belongs to the caller, who releases it with alloc_free, and
 * has room for one more id; it is written only on success. A word without an id is SB_ERR_INPUT:
 * "the model has no WHAT 'word'". */
sb_status words_encode(const char *text, size_t size, words_find_fn find, const void *user,
                       const char *what, int32_t **ids, int32_t *n_ids, sb_error *err);

#endif
