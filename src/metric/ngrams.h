/* The 1- to 4-grams of texts, as a trie: an n-gram is a node, and its parent is the n-gram without
 * the last word. So one lookup each finds the n-grams that end at a word, from those that end at
 * the word before. */
#ifndef METRIC_NGRAMS_H
#define METRIC_NGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "metric/tokenize.h"
#include "text/vocab.h"

typedef struct ngrams_node {
    int32_t parent; /* -1: the n-gram is one word */
    int32_t word;
    uint32_t text; /* number, from 1, of the last text that contains it */
    uint32_t now;  /* how often it occurs in that text */
    uint32_t most; /* how often it occurs in the text that has it most often */
} ngrams_node;

typedef struct ngrams {
    vocab words;
    ngrams_node *nodes; /* (n_nodes) */
    size_t n_nodes, capacity;
    int32_t *slots; /* (n_slots) hash table of nodes, -1: free */
    size_t n_slots; /* a power of two, or 0 */
    struct hash_key key;
    uint32_t n_texts;
    uint64_t unique[SB_NGRAM_ORDERS]; /* nodes of each order */
    uint64_t totals[SB_NGRAM_ORDERS]; /* occurrences of each order, over the texts */
} ngrams;

void ngrams_init(ngrams *set);
void ngrams_free(ngrams *set);

/* Adds the n-grams of a tokenised text and gives its number of words. After a failure the set can
 * only be freed. */
sb_status ngrams_add(ngrams *set, const tokenize_text *text, uint64_t *n_words, sb_error *err);

/* Counts the n-grams of a tokenised text (`totals`) and those of them that are in the set
 * (`matches`). An n-gram matches at most as often as it occurs in the text of the set that has it
 * most often. */
sb_status ngrams_match(const ngrams *set, const tokenize_text *text, uint64_t *n_words,
                       uint64_t totals[SB_NGRAM_ORDERS], uint64_t matches[SB_NGRAM_ORDERS],
                       sb_error *err);

#endif
