/* Shared parts of the ARPA backend: arpa_read.c reads a file into tables, arpa_trie.c builds a trie
 * from the tables, arpa.c makes the trie a model. */
#ifndef MODEL_ARPA_H
#define MODEL_ARPA_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "text/lines.h"
#include "text/vocab.h"

enum { ARPA_MAX_ORDER = 32 };

/* The numbers of an n-gram, as natural logarithms. */
typedef struct arpa_value {
    double log_p; /* -inf: probability zero; NaN: an implicit context, not in the file */
    double backoff;
    uint32_t line; /* in the file, for messages */
} arpa_value;

/* The n-grams of one order, in the order of the file. */
typedef struct arpa_table {
    int32_t order;
    size_t n;
    int32_t *words; /* (n, order) */
    size_t word_capacity;
    arpa_value *values; /* (n) */
    size_t value_capacity;
} arpa_table;

typedef struct arpa_file {
    vocab words; /* ids in the order of the unigrams */
    int32_t order;
    arpa_table tables[ARPA_MAX_ORDER]; /* tables[i] of order i + 1 */
    int32_t bos, eos, unk;             /* -1: none; eos is always present */
} arpa_file;

/* Reads the whole file into tables. On failure *file is as arpa_file_close leaves it. */
sb_status arpa_file_read(arpa_file *file, lines_reader *reader, sb_error *err);
/* Frees the vocabulary and the tables. */
void arpa_file_close(arpa_file *file);

/* One level of the trie. Node i of level n is an n-gram. Its children are the (n + 1)-grams that
 * begin with it: nodes first[i] .. first[i + 1] - 1 of level n + 1, sorted by their last word. */
typedef struct arpa_level {
    int32_t n;
    int32_t *word;   /* (n) the last word; NULL in the first level, where node i is word i */
    double *log_p;   /* (n) */
    double *backoff; /* (n); NULL in the last level */
    int32_t *first;  /* (n + 1); NULL in the last level */
} arpa_level;

typedef struct arpa_trie {
    int32_t order;
    arpa_level levels[ARPA_MAX_ORDER]; /* levels[i] holds (i + 1)-grams */
} arpa_trie;

/* Builds the trie and frees the tables one by one; arpa_file_close frees those that remain after a
 * failure. `name` is the path for messages. On failure *trie is as arpa_trie_close leaves it. */
sb_status arpa_trie_build(arpa_trie *trie, arpa_file *file, const char *name, sb_error *err);
void arpa_trie_close(arpa_trie *trie);

#endif
