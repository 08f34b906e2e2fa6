/* A vocabulary is a hash table of ids with open addressing and linear probing, at most half full.
 * The hash has a key (base/hash.h), because the words come from files. The texts are in one pool,
 * so that a vocabulary of any size is three blocks of memory. */
#include "text/vocab.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

void vocab_init(vocab *words)
{
    memset(words, 0, sizeof *words);
}

void vocab_free(vocab *words)
{
    alloc_free(words->slots);
    alloc_free(words->offset);
    alloc_free(words->pool);
    vocab_init(words);
}

const char *vocab_text(const vocab *words, int32_t id)
{
    assert(id >= 0 && id < words->n);
    return words->pool + words->offset[id];
}

bool vocab_is(const vocab *words, int32_t id, const char *text, size_t size)
{
    assert(id >= 0 && id < words->n);
    const size_t start = words->offset[id];
    return words->offset[id + 1] - start == size + 1 &&
           memcmp(words->pool + start, text, size) == 0;
}

/* Returns the slot that holds the text, or the free slot where it belongs. */
static size_t find_slot(const vocab *words, const char *text, size_t size)
{
    const size_t mask = words->n_slots - 1;
    size_t slot = (size_t)hash_bytes(&words->key, text, size) & mask;
    while (words->slots[slot] >= 0 && !vocab_is(words, words->slots[slot], text, size))
        slot = (slot + 1) & mask;
    return slot;
}

int32_t vocab_find(const vocab *words, const char *text, size_t size)
{
    return words->n_slots > 0 ? words->slots[find_slot(words, text, size)] : -1;
}

static sb_status grow_table(vocab *words)
{
    const size_t n_slots = words->n_slots > 0 ? words->n_slots * 2 : 16;
    int32_t *const slots = alloc_array(n_slots, sizeof *slots);
    if (slots == NULL)
        return SB_ERR_MEMORY;
    for (size_t i = 0; i < n_slots; i++)
        slots[i] = -1;
    alloc_free(words->slots);
    words->slots = slots;
    words->n_slots = n_slots;
    words->key = hash_process_key();
    for (int32_t id = 0; id < words->n; id++) {
        const size_t size = words->offset[id + 1] - words->offset[id] - 1;
        slots[find_slot(words, vocab_text(words, id), size)] = id;
    }
    return SB_OK;
}

sb_status vocab_add(vocab *words, const char *text, size_t size, int32_t *id, bool *is_new)
{
    /* Makes room for one more first, so that one search finds the text or the free element for
     * it. */
    if ((size_t)words->n >= words->n_slots / 2 && grow_table(words) != SB_OK)
        return SB_ERR_MEMORY;
    const size_t slot = find_slot(words, text, size);
    const int32_t known = words->slots[slot];
    if (is_new != NULL)
        *is_new = known < 0;
    if (known >= 0) {
        *id = known;
        return SB_OK;
    }
    if (words->n >= INT32_MAX - 1)
        return SB_ERR_LIMIT;
    const size_t n = (size_t)words->n;
    if (alloc_reserve(&words->offset, &words->offset_capacity, n + 2, sizeof(size_t)) != SB_OK ||
        alloc_reserve(&words->pool, &words->pool_capacity, words->pool_size + size + 1, 1) != SB_OK)
        return SB_ERR_MEMORY;
    if (size > 0)
        memcpy(words->pool + words->pool_size, text, size);
    words->pool[words->pool_size + size] = '\0';
    words->offset[n] = words->pool_size;
    words->pool_size += size + 1;
    words->offset[n + 1] = words->pool_size;
    words->slots[slot] = words->n;
    *id = words->n++;
    return SB_OK;
}
