/* Builds a tree of prefixes from lines: sorts the lines, then makes the nodes level by level. All
 * lines of a node are neighbours in the sorted list, so a node is a range of it. */
#include "decode/trie.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checksum.h"
#include "base/status.h"

struct line {
    uint64_t key;          /* orders lines by their first two tokens, without reading them */
    const int32_t *tokens; /* (n) */
    size_t number;         /* of the line, from 1 */
    int32_t n;
};

/* Lines that share a prefix: lines[begin] to lines[end - 1]. */
struct range {
    size_t begin, end;
};

struct level {
    struct range *ranges; /* (n) one for each node of the level */
    size_t n, capacity;
};

static uint64_t make_key(const int32_t *tokens, int32_t n)
{
    const uint64_t first = n > 0 ? (uint64_t)tokens[0] + 1 : 0;
    const uint64_t second = n > 1 ? (uint64_t)tokens[1] + 1 : 0;
    return first << 32 | second;
}

/* Orders by tokens, a line before those that it begins, and repeated lines by their numbers. */
static int compare_lines(const void *a, const void *b)
{
    const struct line *const x = a, *const y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    for (int32_t i = 2; i < x->n && i < y->n; i++)
        if (x->tokens[i] != y->tokens[i])
            return x->tokens[i] < y->tokens[i] ? -1 : 1;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Checks where the lines end, before any token is read: tokens has only ends[n_lines - 1]. */
static sb_status check_ends(const uint64_t *ends, size_t n_lines, sb_error *err)
{
    for (size_t i = 0; i < n_lines; i++) {
        const uint64_t begin = i > 0 ? ends[i - 1] : 0;
        if (ends[i] < begin || ends[i] - begin > INT32_MAX)
            return status_fail(err, SB_ERR_ARGUMENT,
                               "line %zu ends at %" PRIu64 " and begins at %" PRIu64
                               "; expected ends in ascending order, with at most %d tokens a line",
                               i + 1, ends[i], begin, INT32_MAX);
    }
    return SB_OK;
}

/* Writes the line numbered i, from 0, and counts it in the info. */
static sb_status read_line(struct line *line, sb_trie_info *info, const int32_t *tokens,
                           const uint64_t *ends, size_t i, sb_error *err)
{
    const uint64_t begin = i > 0 ? ends[i - 1] : 0;
    const int32_t n = (int32_t)(ends[i] - begin);
    const int32_t *const own = n > 0 ? tokens + begin : NULL;
    for (int32_t t = 0; t < n; t++) {
        if (own[t] < 0)
            return status_fail(err, SB_ERR_ARGUMENT,
                               "line %zu: the token id is %d; expected 0 or more", i + 1, own[t]);
        if (own[t] > info->largest_token) {
            info->largest_token = own[t];
            info->largest_line = i + 1;
        }
    }
    if (n > info->longest || i == 0) {
        info->longest = n;
        info->longest_line = i + 1;
    }
    *line = (struct line){make_key(own, n), own, i + 1, n};
    return SB_OK;
}

/* Sorts the lines and leaves out repeated ones. Returns their number. */
static size_t sort_lines(struct line *lines, size_t n)
{
    size_t kept = 0;
    bool is_sorted = true;
    for (size_t i = 1; i < n && is_sorted; i++)
        is_sorted = compare_lines(&lines[i - 1], &lines[i]) <= 0;
    if (!is_sorted)
        qsort(lines, n, sizeof *lines, compare_lines);
    for (size_t i = 0; i < n; i++) {
        const struct line *const last = &lines[kept - (kept > 0)];
        const bool is_new = kept == 0 || last->n != lines[i].n || last->key != lines[i].key ||
                            (last->n > 2 && memcmp(last->tokens, lines[i].tokens,
                                                   (size_t)last->n * sizeof *last->tokens) != 0);
        if (is_new)
            lines[kept++] = lines[i];
    }
    return kept;
}

/* Returns the number of prefixes of sorted, different lines, the empty one included. A line adds
 * those that it does not share with the line before it. */
static uint64_t count_nodes(const struct line *lines, size_t n)
{
    uint64_t nodes = 1;
    for (size_t i = 0; i < n; i++) {
        int32_t shared = 0;
        while (i > 0 && shared < lines[i - 1].n && shared < lines[i].n &&
               lines[i - 1].tokens[shared] == lines[i].tokens[shared])
            shared++;
        nodes += (uint64_t)(lines[i].n - shared);
    }
    return nodes;
}

static void mark_complete(sb_trie *trie, int32_t node, const struct line *lines, struct range range)
{
    trie->complete[node / 64] |= (uint64_t)1 << (node % 64);
    if (range.end - range.begin > 1 && trie->info.prefix_line == 0) {
        trie->info.prefix_line = lines[range.begin].number;
        trie->info.extended_line = lines[range.begin + 1].number;
    }
}

/* Makes the children of a node at this depth, numbered from *next on. The list `below` has room for
 * them. */
static void make_children(sb_trie *trie, int32_t node, int32_t depth, const struct line *lines,
                          struct range range, struct level *below, int32_t *next)
{
    const int32_t first = *next;
    trie->first_child[node] = first;
    if (lines[range.begin].n == depth) {
        mark_complete(trie, node, lines, range);
        range.begin++;
    }
    while (range.begin < range.end) {
        const int32_t token = lines[range.begin].tokens[depth];
        size_t end = range.begin + 1;
        while (end < range.end && lines[end].tokens[depth] == token)
            end++;
        below->ranges[below->n++] = (struct range){range.begin, end};
        trie->tokens[(*next)++] = token;
        range.begin = end;
    }
    if (*next - first > trie->widest)
        trie->widest = *next - first;
}

/* Makes all nodes. A level has at most as many nodes as there are lines. */
static sb_status make_nodes(sb_trie *trie, const struct line *lines, size_t n)
{
    struct level now = {alloc_array(n, sizeof(struct range)), 1, n},
                 below = {alloc_array(n, sizeof(struct range)), 0, n};
    const bool has_room = now.ranges != NULL && below.ranges != NULL;
    int32_t next = 1;
    if (has_room) {
        now.ranges[0] = (struct range){0, n};
        trie->tokens[0] = -1;
    }
    for (int32_t node = 0, depth = 0; has_room && node < trie->n_nodes; depth++) {
        below.n = 0;
        for (size_t i = 0; i < now.n; i++)
            make_children(trie, node++, depth, lines, now.ranges[i], &below, &next);
        const struct level last = now;
        now = below;
        below = last;
    }
    if (has_room)
        trie->first_child[trie->n_nodes] = next;
    alloc_free(now.ranges);
    alloc_free(below.ranges);
    return has_room ? SB_OK : SB_ERR_MEMORY;
}

/* Adds numbers to a checksum, each as 4 bytes, the lowest first, on any machine. */
static void add_numbers(struct checksum *sum, const int32_t *numbers, size_t n)
{
    enum { PIECE = 1024 };
    unsigned char bytes[4 * PIECE];
    for (size_t begin = 0; begin < n; begin += PIECE) {
        const size_t size = n - begin < PIECE ? n - begin : PIECE;
        for (size_t i = 0; i < size; i++)
            for (int b = 0; b < 4; b++)
                bytes[4 * i + (size_t)b] =
                    (unsigned char)((uint32_t)numbers[begin + i] >> 8 * b & 0xff);
        checksum_add(sum, bytes, 4 * size);
    }
}

/* The arrays are a function of the set of lines, so their checksum names it. */
static void make_id(sb_trie *trie)
{
    struct checksum sum;
    checksum_open(&sum);
    add_numbers(&sum, trie->tokens, (size_t)trie->n_nodes);
    add_numbers(&sum, trie->first_child, (size_t)trie->n_nodes + 1);
    for (int32_t node = 0; node < trie->n_nodes; node++)
        if (trie_count_children(trie, node) > 0 && trie_is_complete(trie, node))
            add_numbers(&sum, &node, 1);
    snprintf(trie->id, sizeof trie->id, "%016" PRIx64, checksum_get(&sum));
    trie->info.id = trie->id;
}

/* Makes the tree of sorted, different lines. */
static sb_status build(sb_trie *trie, const struct line *lines, size_t n, sb_error *err)
{
    const uint64_t n_nodes = count_nodes(lines, n);
    if (n_nodes >= INT32_MAX)
        return status_fail(err, SB_ERR_LIMIT,
                           "the lines have %" PRIu64 " different prefixes; expected fewer than %d",
                           n_nodes, INT32_MAX);
    const size_t n_words = (size_t)n_nodes / 64 + 1;
    trie->n_nodes = (int32_t)n_nodes;
    trie->tokens = alloc_array((size_t)n_nodes, sizeof *trie->tokens);
    trie->first_child = alloc_array((size_t)n_nodes + 1, sizeof *trie->first_child);
    trie->complete = alloc_zeroed(n_words, sizeof *trie->complete);
    if (trie->tokens == NULL || trie->first_child == NULL || trie->complete == NULL ||
        make_nodes(trie, lines, n) != SB_OK)
        return status_no_memory(err);
    trie->info.n_lines = n;
    trie->info.n_prefixes = (size_t)n_nodes;
    trie->info.bytes = sizeof *trie + (size_t)n_nodes * sizeof *trie->tokens +
                       ((size_t)n_nodes + 1) * sizeof *trie->first_child +
                       n_words * sizeof *trie->complete;
    make_id(trie);
    return SB_OK;
}

sb_status sb_trie_open(sb_trie **trie, const int32_t *tokens, const uint64_t *ends, size_t n_lines,
                       sb_error *err)
{
    if (trie == NULL ||
        (n_lines > 0 && (ends == NULL || (tokens == NULL && ends[n_lines - 1] > 0))))
        return status_fail(err, SB_ERR_ARGUMENT, "sb_trie_open: trie, tokens or ends is NULL");
    if (n_lines == 0)
        return status_fail(err, SB_ERR_INPUT,
                           "the list of permitted outputs has no lines; expected at least one");
    sb_status status = check_ends(ends, n_lines, err);
    if (status != SB_OK)
        return status;
    sb_trie *const made = alloc_zeroed(1, sizeof *made);
    struct line *const lines = alloc_array(n_lines, sizeof *lines);
    if (made == NULL || lines == NULL) {
        status = status_no_memory(err);
    } else {
        made->info.largest_token = -1;
        for (size_t i = 0; i < n_lines && status == SB_OK; i++)
            status = read_line(&lines[i], &made->info, tokens, ends, i, err);
        if (status == SB_OK)
            status = build(made, lines, sort_lines(lines, n_lines), err);
    }
    alloc_free(lines);
    if (status == SB_OK)
        *trie = made;
    else
        sb_trie_close(made);
    return status;
}

void sb_trie_close(sb_trie *trie)
{
    if (trie == NULL)
        return;
    alloc_free(trie->tokens);
    alloc_free(trie->first_child);
    alloc_free(trie->complete);
    alloc_free(trie);
}

const sb_trie_info *sb_trie_get_info(const sb_trie *trie)
{
    return &trie->info;
}

int32_t trie_find_child(const sb_trie *trie, int32_t node, int32_t token)
{
    int32_t low = trie->first_child[node], high = trie->first_child[node + 1];
    const int32_t end = high;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (trie->tokens[middle] < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && trie->tokens[low] == token ? low : -1;
}

bool trie_has_token(const sb_trie *trie, int32_t token)
{
    for (int32_t node = 1; node < trie->n_nodes; node++)
        if (trie->tokens[node] == token)
            return true;
    return false;
}
