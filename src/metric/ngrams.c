/* See ngrams.h. A hash table over (parent, word) finds the nodes, with open addressing and linear
 * probing, at most half full. The hash has a key (base/hash.h), because the words come from files.
 */
#include "metric/ngrams.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

enum { MOST_NODES = INT32_MAX - 1 };

void ngrams_init(ngrams *set)
{
    memset(set, 0, sizeof *set);
    vocab_init(&set->words);
}

void ngrams_free(ngrams *set)
{
    vocab_free(&set->words);
    alloc_free(set->nodes);
    alloc_free(set->slots);
    ngrams_init(set);
}

/* Gives the next word of a tokenised text. Returns false at its end. */
static bool next_word(const tokenize_text *text, size_t *position, const char **word, size_t *size)
{
    const size_t start = *position;
    if (start >= text->size)
        return false;
    const char *const blank = memchr(text->data + start, ' ', text->size - start);
    const size_t end = blank != NULL ? (size_t)(blank - text->data) : text->size;
    *word = text->data + start;
    *size = end - start;
    *position = end + 1;
    return true;
}

/* Returns the slot of the node, or the free slot where it belongs. */
static size_t find_slot(const ngrams *set, int32_t parent, int32_t word)
{
    const size_t mask = set->n_slots - 1;
    const uint64_t pair = (uint64_t)(uint32_t)parent << 32 | (uint32_t)word;
    for (size_t slot = (size_t)hash_number(&set->key, pair) & mask;; slot = (slot + 1) & mask) {
        const int32_t i = set->slots[slot];
        if (i < 0 || (set->nodes[i].parent == parent && set->nodes[i].word == word))
            return slot;
    }
}

static int32_t find_node(const ngrams *set, int32_t parent, int32_t word)
{
    return set->n_slots > 0 ? set->slots[find_slot(set, parent, word)] : -1;
}

static sb_status grow_table(ngrams *set)
{
    const size_t n_slots = set->n_slots > 0 ? set->n_slots * 2 : 64;
    int32_t *const slots = alloc_array(n_slots, sizeof *slots);
    if (slots == NULL)
        return SB_ERR_MEMORY;
    memset(slots, 0xff, n_slots * sizeof *slots); /* -1 */
    alloc_free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    set->key = hash_process_key();
    for (size_t i = 0; i < set->n_nodes; i++)
        slots[find_slot(set, set->nodes[i].parent, set->nodes[i].word)] = (int32_t)i;
    return SB_OK;
}

/* Counts one more occurrence of an n-gram. *node is its parent, and becomes the n-gram itself. */
static sb_status count_node(ngrams *set, int order, int32_t word, int32_t *node)
{
    /* Makes room for one more first, so that one search finds the node or the free element for
     * it. */
    if (set->n_nodes >= set->n_slots / 2 && grow_table(set) != SB_OK)
        return SB_ERR_MEMORY;
    const size_t slot = find_slot(set, *node, word);
    int32_t found = set->slots[slot];
    if (found < 0) {
        if (set->n_nodes >= MOST_NODES)
            return SB_ERR_LIMIT;
        if (alloc_reserve(&set->nodes, &set->capacity, set->n_nodes + 1, sizeof *set->nodes) !=
            SB_OK)
            return SB_ERR_MEMORY;
        found = (int32_t)set->n_nodes++;
        set->slots[slot] = found;
        set->nodes[found] = (ngrams_node){.parent = *node, .word = word};
        set->unique[order]++;
    }
    ngrams_node *const counted = &set->nodes[found];
    counted->now = counted->text == set->n_texts ? counted->now + 1 : 1;
    counted->text = set->n_texts;
    if (counted->most < counted->now)
        counted->most = counted->now;
    set->totals[order]++;
    *node = found;
    return SB_OK;
}

static sb_status fail(sb_status status, sb_error *err)
{
    if (status == SB_ERR_LIMIT)
        return status_fail(err, status, "the texts have more than 2^31 - 2 words or n-grams");
    return status_no_memory(err);
}

sb_status ngrams_add(ngrams *set, const tokenize_text *text, uint64_t *n_words, sb_error *err)
{
    /* For each order, the n-gram that ends at the previous word. */
    int32_t last[SB_NGRAM_ORDERS] = {-1, -1, -1, -1};
    size_t position = 0, size;
    const char *word;
    *n_words = 0;
    if (set->n_texts == UINT32_MAX)
        return fail(SB_ERR_LIMIT, err);
    set->n_texts++;
    for (; next_word(text, &position, &word, &size); ++*n_words) {
        int32_t id;
        sb_status status = vocab_add(&set->words, word, size, &id, NULL);
        /* Long n-grams first: each extends the n-gram one order shorter in `last`. */
        for (int order = SB_NGRAM_ORDERS - 1; order >= 0 && status == SB_OK; order--) {
            if ((uint64_t)order > *n_words)
                continue;
            int32_t node = order > 0 ? last[order - 1] : -1;
            status = count_node(set, order, id, &node);
            last[order] = node;
        }
        if (status != SB_OK)
            return fail(status, err);
    }
    return SB_OK;
}

sb_status ngrams_match(const ngrams *set, const tokenize_text *text, uint64_t *n_words,
                       uint64_t totals[SB_NGRAM_ORDERS], uint64_t matches[SB_NGRAM_ORDERS],
                       sb_error *err)
{
    int32_t last[SB_NGRAM_ORDERS] = {-1, -1, -1, -1}; /* -1: not in the set */
    uint32_t *const used = alloc_zeroed(set->n_nodes, sizeof *used);
    size_t position = 0, size;
    const char *word;
    if (used == NULL)
        return status_no_memory(err);
    memset(totals, 0, SB_NGRAM_ORDERS * sizeof *totals);
    memset(matches, 0, SB_NGRAM_ORDERS * sizeof *matches);
    *n_words = 0;
    for (; next_word(text, &position, &word, &size); ++*n_words) {
        const int32_t id = vocab_find(&set->words, word, size);
        for (int order = SB_NGRAM_ORDERS - 1; order >= 0; order--) {
            if ((uint64_t)order > *n_words)
                continue;
            totals[order]++;
            const bool has_parent = order == 0 || last[order - 1] >= 0;
            const int32_t node =
                id >= 0 && has_parent ? find_node(set, order > 0 ? last[order - 1] : -1, id) : -1;
            if (node >= 0 && used[node] < set->nodes[node].most) {
                used[node]++;
                matches[order]++;
            }
            last[order] = node;
        }
    }
    alloc_free(used);
    return SB_OK;
}
