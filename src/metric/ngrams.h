/* The 1- to 4-grams of texts, as a trie: an n-gram is a node, its parent the n-gram without the
 * last word. So the n-grams that end at a word are found, by one look each, from those that end at
 * the word before. */
#ifndef METRIC_NGRAMS_H
#define METRIC_NGRAMS_H

#include <stddef.h>
#include <stdint.h>

#include "metric/tokenize.h"
#include "text/vocab.h"

typedef struct ngrams_node {
    int32_t parent; /* -1: the n-gram is one word */
    int32_t word;
    uint32_t text; /* number of the last text that holds it, from 1 */
    uint32_t now;  /* how often it occurs there */
    uint32_t most; /* how often it occurs in the text that has it most often */
} ngrams_node;

typedef struct ngrams {
    vocab words;
    ngrams_node *nodes; /* (n_nodes) */
    size_t n_nodes, capacity;
    int32_t *slots; /* (n_slots) hash table of nodes, -1: free */
    size_t n_slots; /* a power of two, or 0 */
    uint32_t n_texts;
    uint64_t unique[SB_NGRAM_ORDERS]; /* nodes of each order */
    uint64_t totals[SB_NGRAM_ORDERS]; /* occurrences of each order, over the texts */
} ngrams;

void ngrams_init(ngrams *set);
void ngrams_free(ngrams *set);

/* Adds the n-grams of a tokenised text, of *n_words words. After a failure the set can only be
 * freed. */
sb_status ngrams_add(ngrams *set, const tokenize_text *text, uint64_t *n_words, sb_error *err);

/* Counts the n-grams of a tokenised text, and those of them that are in the set; an n-gram matches
 * at most as often as the text of the set that has it most often. */
sb_status ngrams_match(const ngrams *set, const tokenize_text *text, uint64_t *n_words,
                       uint64_t totals[SB_NGRAM_ORDERS], uint64_t matches[SB_NGRAM_ORDERS],
                       sb_error *err);

#endif
