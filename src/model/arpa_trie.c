/* Builds a trie from tables of n-grams. The children of a node are adjacent and sorted.
 *
 * Each table is sorted by its words, with one counting sort per column, from the last column to the
 * first. That takes time linear in the table and the vocabulary; most files are sorted already.
 * Walking two sorted tables at once then finds the prefix of n - 1 words of each n-gram. A prefix
 * that the file does not list becomes a node without a probability of its own (NaN) and with
 * back-off weight 1 (logarithm 0): as a context it only leads to its children. The tables are
 * processed from long to short, so that the prefixes of such nodes get nodes, too. */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/arpa.h"

/* Compares the first n words; returns -1, 0 or 1. */
static int compare_words(const int32_t *a, const int32_t *b, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static const int32_t *words_of(const arpa_table *table, size_t i)
{
    return table->words + i * (size_t)table->order;
}

/* Returns the index of the first n-gram that is not greater than the one before it, or table->n. */
static size_t first_unsorted(const arpa_table *table)
{
    size_t i = 1;
    while (i < table->n &&
           compare_words(words_of(table, i - 1), words_of(table, i), table->order) < 0)
        i++;
    return i < table->n ? i : table->n;
}

static sb_status make_table(arpa_table *table, int32_t order, size_t n)
{
    *table = (arpa_table){.order = order};
    if (alloc_reserve(&table->words, &table->word_capacity, n * (size_t)order, sizeof(int32_t)) !=
            SB_OK ||
        alloc_reserve(&table->values, &table->value_capacity, n, sizeof(arpa_value)) != SB_OK) {
        alloc_free(table->words);
        *table = (arpa_table){.order = order};
        return SB_ERR_MEMORY;
    }
    return SB_OK;
}

/* Appends to a table that has room. */
static void push(arpa_table *table, const int32_t *words, const arpa_value *value)
{
    memcpy(table->words + table->n * (size_t)table->order, words,
           (size_t)table->order * sizeof *words);
    table->values[table->n++] = *value;
}

static void free_table(arpa_table *table)
{
    alloc_free(table->words);
    alloc_free(table->values);
    *table = (arpa_table){.order = table->order};
}

/* Writes rank[0 .. n), sorted stably by one column, to `sorted`. `count` has room for n_words + 1.
 */
static void sort_by_column(const arpa_table *table, int32_t column, const int32_t *rank,
                           int32_t *sorted, int32_t *count, int32_t n_words)
{
    const int32_t *const words = table->words + column;
    const size_t width = (size_t)table->order;
    memset(count, 0, ((size_t)n_words + 1) * sizeof *count);
    for (size_t i = 0; i < table->n; i++)
        count[words[i * width] + 1]++;
    for (int32_t w = 0; w < n_words; w++)
        count[w + 1] += count[w];
    for (size_t i = 0; i < table->n; i++)
        sorted[count[words[(size_t)rank[i] * width]]++] = rank[i];
}

static sb_status sort_table(arpa_table *table, int32_t n_words)
{
    arpa_table sorted_table;
    if (make_table(&sorted_table, table->order, table->n) != SB_OK)
        return SB_ERR_MEMORY;
    int32_t *rank = alloc_array(table->n, sizeof *rank);
    int32_t *sorted = alloc_array(table->n, sizeof *sorted);
    int32_t *const count = alloc_array((size_t)n_words + 1, sizeof *count);
    const bool enough = rank != NULL && sorted != NULL && count != NULL;
    if (enough) {
        for (size_t i = 0; i < table->n; i++)
            rank[i] = (int32_t)i;
        for (int32_t column = table->order; column-- > 0;) {
            sort_by_column(table, column, rank, sorted, count, n_words);
            int32_t *const previous = rank;
            rank = sorted;
            sorted = previous;
        }
        for (size_t i = 0; i < table->n; i++)
            push(&sorted_table, words_of(table, (size_t)rank[i]), &table->values[rank[i]]);
        free_table(table);
        *table = sorted_table;
    } else {
        free_table(&sorted_table);
    }
    alloc_free(count);
    alloc_free(sorted);
    alloc_free(rank);
    return enough ? SB_OK : SB_ERR_MEMORY;
}

/* Sorts the table. Fails if an n-gram is in it twice. */
static sb_status order_table(arpa_table *table, int32_t n_words, const char *name, sb_error *err)
{
    if (first_unsorted(table) == table->n)
        return SB_OK;
    if (sort_table(table, n_words) != SB_OK)
        return status_no_memory(err);
    const size_t twice = first_unsorted(table);
    if (twice == table->n)
        return SB_OK;
    return status_fail(err, SB_ERR_FORMAT, "%s:%u: duplicate %d-gram, first on line %u", name,
                       (unsigned)table->values[twice].line, (int)table->order,
                       (unsigned)table->values[twice - 1].line);
}

/* Walks through the (n + 1)-grams of `longer` and the n-grams of `table`, both sorted, and returns
 * the number of prefixes that `table` lacks. If `whole` is not NULL, writes the table and the
 * missing prefixes there, in order. */
static size_t merge_prefixes(const arpa_table *table, const arpa_table *longer, arpa_table *whole)
{
    const arpa_value implicit = {.log_p = NAN, .backoff = 0};
    const int32_t order = table->order;
    size_t at = 0, missing = 0;
    for (size_t i = 0; i < longer->n; i++) {
        const int32_t *const prefix = words_of(longer, i);
        if (i > 0 && compare_words(words_of(longer, i - 1), prefix, order) == 0)
            continue;
        for (; at < table->n && compare_words(words_of(table, at), prefix, order) < 0; at++)
            if (whole != NULL)
                push(whole, words_of(table, at), &table->values[at]);
        if (at < table->n && compare_words(words_of(table, at), prefix, order) == 0)
            continue;
        missing++;
        if (whole != NULL)
            push(whole, prefix, &implicit);
    }
    for (; whole != NULL && at < table->n; at++)
        push(whole, words_of(table, at), &table->values[at]);
    return missing;
}

static sb_status add_implicit(arpa_table *table, const arpa_table *longer, sb_error *err)
{
    const size_t missing = merge_prefixes(table, longer, NULL);
    if (missing == 0)
        return SB_OK;
    if (missing > INT32_MAX - table->n)
        return status_fail(err, SB_ERR_LIMIT, "more than %d contexts of %d words", INT32_MAX,
                           (int)table->order);
    arpa_table whole;
    if (make_table(&whole, table->order, table->n + missing) != SB_OK)
        return status_no_memory(err);
    merge_prefixes(table, longer, &whole);
    free_table(table);
    *table = whole;
    return SB_OK;
}

/* Makes a level from a table. An n-gram that ends with `bos` gets probability zero, because <s> can
 * only begin a sequence. */
static sb_status make_level(arpa_level *level, const arpa_table *table, bool is_last, int32_t bos,
                            sb_error *err)
{
    const size_t n = table->n, width = (size_t)table->order;
    level->n = (int32_t)n;
    level->log_p = alloc_array(n, sizeof *level->log_p);
    level->word = width > 1 ? alloc_array(n, sizeof *level->word) : NULL;
    level->backoff = is_last ? NULL : alloc_array(n, sizeof *level->backoff);
    level->first = is_last ? NULL : alloc_zeroed(n + 1, sizeof *level->first);
    if (level->log_p == NULL || (width > 1 && level->word == NULL) ||
        (!is_last && (level->backoff == NULL || level->first == NULL)))
        return status_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const int32_t word = table->words[i * width + width - 1];
        level->log_p[i] = word == bos ? -INFINITY : table->values[i].log_p;
        if (level->word != NULL)
            level->word[i] = word;
        if (level->backoff != NULL)
            level->backoff[i] = table->values[i].backoff;
    }
    return SB_OK;
}

/* Finds the children of each n-gram of `table` in `longer`; both are sorted. */
static void link_children(int32_t *first, const arpa_table *table, const arpa_table *longer)
{
    size_t child = 0;
    for (size_t i = 0; i < table->n; i++) {
        first[i] = (int32_t)child;
        while (child < longer->n &&
               compare_words(words_of(table, i), words_of(longer, child), table->order) == 0)
            child++;
    }
    assert(child == longer->n);
    first[table->n] = (int32_t)child;
}

sb_status arpa_trie_build(arpa_trie *trie, arpa_file *file, const char *name, sb_error *err)
{
    const int32_t order = file->order;
    arpa_table *const tables = file->tables;
    memset(trie, 0, sizeof *trie);
    trie->order = order;
    sb_status status = SB_OK;
    for (int32_t i = 1; status == SB_OK && i < order; i++)
        status = order_table(&tables[i], file->words.n, name, err);
    for (int32_t i = order - 1; status == SB_OK && i > 1; i--)
        status = add_implicit(&tables[i - 1], &tables[i], err);
    for (int32_t i = 0; status == SB_OK && i < order; i++) {
        const bool is_last = i + 1 == order;
        status = make_level(&trie->levels[i], &tables[i], is_last, file->bos, err);
        if (status == SB_OK && !is_last)
            link_children(trie->levels[i].first, &tables[i], &tables[i + 1]);
        free_table(&tables[i]);
    }
    if (status != SB_OK)
        arpa_trie_close(trie);
    return status;
}

void arpa_trie_close(arpa_trie *trie)
{
    for (int32_t i = 0; i < ARPA_MAX_ORDER; i++) {
        alloc_free(trie->levels[i].word);
        alloc_free(trie->levels[i].log_p);
        alloc_free(trie->levels[i].backoff);
        alloc_free(trie->levels[i].first);
    }
    memset(trie, 0, sizeof *trie);
}
