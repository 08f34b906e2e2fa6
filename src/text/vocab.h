/* Maps token texts to ids and back. Ids count up from 0 in the order of adding. One thread builds a
 * vocabulary, which is const from then on. */
#ifndef TEXT_VOCAB_H
#define TEXT_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "sbeam/error.h"

typedef struct vocab {
    char *pool; /* the texts, each terminated */
    size_t pool_size, pool_capacity;
    size_t *offset; /* (n + 1) of each text in the pool; the last is pool_size */
    size_t offset_capacity;
    int32_t *slots; /* (n_slots) hash table of ids, -1: free */
    size_t n_slots; /* a power of two, or 0 */
    struct hash_key key;
    int32_t n;
} vocab;

void vocab_init(vocab *words);
void vocab_free(vocab *words);

/* Gives the id of a text, and adds it if it is new (*is_new, which may be NULL). The text may not
 * hold a zero byte. Fails with SB_ERR_MEMORY, or with SB_ERR_LIMIT past 2^31 - 2 tokens; then
 * nothing has changed. */
sb_status vocab_add(vocab *words, const char *text, size_t size, int32_t *id, bool *is_new);

/* Returns the id of a text, or -1. */
int32_t vocab_find(const vocab *words, const char *text, size_t size);

/* Returns the text of an id in range, terminated. The next vocab_add may move it. */
const char *vocab_text(const vocab *words, int32_t id);

/* Returns whether `text` is the text of an id in range. This is faster than finding the text. */
bool vocab_is(const vocab *words, int32_t id, const char *text, size_t size);

#endif
