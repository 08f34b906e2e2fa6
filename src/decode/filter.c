#include "decode/filter.h"

#include <math.h>

#include "decode/trie.h"

/* A sum of rounded probabilities reaches a bound if it is this close: 0.6 + 0.3 must reach 0.9. */
static const double SLACK = 1e-12;

/* Orders members by descending score, then by ascending id. */
static bool before(const struct row *row, int32_t a, int32_t b)
{
    const double x = row_score(row, a), y = row_score(row, b);
    return x > y || (x == y && a < b);
}

static void sift_down(const struct row *row, int32_t *heap, int32_t n, int32_t i)
{
    for (;;) {
        int32_t best = i;
        for (int32_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (before(row, heap[child], heap[best]))
                best = child;
        if (best == i)
            return;
        const int32_t moved = heap[i];
        heap[i] = heap[best];
        heap[best] = moved;
        i = best;
    }
}

/* Moves the likeliest members to the end of ids, best last, until there are n_best of them or their
 * probabilities sum to `mass`. Returns their number. Uses a heap, because usually few of many are
 * taken. */
static int32_t take_best(const struct row *row, int32_t *ids, int32_t n, int32_t n_best,
                         double mass)
{
    for (int32_t i = n / 2 - 1; i >= 0; i--)
        sift_down(row, ids, n, i);
    int32_t taken = 0;
    double sum = 0;
    while (taken < n_best && taken < n && sum < mass * (1 - SLACK)) {
        const int32_t best = ids[0];
        sum += exp(row_log_p(row, best));
        taken++;
        ids[0] = ids[n - taken];
        ids[n - taken] = best;
        sift_down(row, ids, n - taken, 0);
    }
    return taken;
}

/* Applies top-k, top-p and min-p. The likeliest member always stays; returns false if the row had
 * no member before. */
static bool keep_likeliest(sb_decoder *decoder, struct row *row)
{
    const sb_config *const config = &decoder->config;
    int32_t *ids = decoder->scratch_ids;
    int32_t n = 0;
    for (int32_t i = 0; i < row->n; i++) {
        const int32_t token = row_member(row, i);
        if (row_score(row, token) > -INFINITY && !row_is_taken(row, token))
            ids[n++] = token;
    }
    if (config->top_k > 0 && config->top_k < n) {
        const int32_t kept = take_best(row, ids, n, config->top_k, INFINITY);
        ids += n - kept;
        n = kept;
    }
    if (config->top_p < 1) {
        double total = 0;
        for (int32_t i = n - 1; i >= 0; i--)
            total += exp(row_log_p(row, ids[i]));
        const int32_t kept = take_best(row, ids, n, n, config->top_p * total);
        ids += n - kept;
        n = kept;
    }
    if (config->min_p > 0) {
        double top = -INFINITY;
        for (int32_t i = 0; i < n; i++)
            top = fmax(top, row_score(row, ids[i]));
        const double floor = log(config->min_p) - SLACK;
        int32_t kept = 0;
        for (int32_t i = 0; i < n; i++)
            if ((row_score(row, ids[i]) - top) * row->inv_t >= floor)
                ids[kept++] = ids[i];
        n = kept;
    }
    row_keep_only(row, ids, n);
    return row_renormalise(row);
}

/* Returns whether a child of row r is a leaf of the model. Only for models that have leaves. */
static bool is_leaf(const sb_decoder *decoder, const struct slot *slot, int32_t r, int32_t token)
{
    return decoder->spec.is_leaf(decoder->spec.user, slot->first_row + r, token);
}

/* Removes the children that are leaves of a tree, for rows before min-len. Returns whether there
 * were any. */
static bool exclude_early_leaves(const sb_decoder *decoder, const struct slot *slot, int32_t r)
{
    struct row *const row = &decoder->rows[r];
    bool any = false;
    for (int32_t i = 0; i < row->n; i++) {
        const int32_t token = row_member(row, i);
        if (row_score(row, token) > -INFINITY && is_leaf(decoder, slot, r, token)) {
            row_exclude(row, token);
            any = true;
        }
    }
    return any;
}

size_t filter_scratch_size(const sb_decoder *decoder)
{
    const sb_trie *const allow = decoder->config.allow;
    return allow != NULL ? row_restricted_size(allow->widest + 1) : 0;
}

/* Makes the tokens that continue a line, and the end token at the end of a line, the only members
 * of the row. A leaf of the model within a line is excluded, because the sequence would end before
 * the line. Returns whether a token is left; *changed is set if there were such leaves. */
static bool keep_allowed(const sb_decoder *decoder, const struct slot *slot, int32_t r,
                         int32_t node, bool *changed)
{
    const sb_trie *const allow = decoder->config.allow;
    struct row *const row = &decoder->rows[r];
    char *const scratch = decoder->row_scratch[r];
    const int32_t n = trie_count_children(allow, node),
                  eos = trie_is_complete(allow, node) ? decoder->spec.eos : -1;
    if (!row_restrict(row, trie_children(allow, node), n, eos,
                      scratch + row_scratch_size(decoder->spec.vocab_size)))
        return false;
    for (int32_t i = 0; i < n && decoder->spec.is_leaf != NULL; i++) {
        const int32_t token = trie_children(allow, node)[i];
        if (!trie_is_complete(allow, allow->first_child[node] + i) &&
            is_leaf(decoder, slot, r, token)) {
            row_exclude(row, token);
            *changed = true;
        }
    }
    return true;
}

bool filter_row(sb_decoder *decoder, const struct slot *slot, int32_t r)
{
    const sb_config *const config = &decoder->config;
    struct row *const row = &decoder->rows[r];
    const struct wanted_row wanted = slot->wanted[slot->n_expanded + (size_t)r];
    const int32_t depth = wanted.depth;
    bool changed = config->n_ban > 0;
    if (config->allow != NULL && wanted.allowed >= 0 &&
        !keep_allowed(decoder, slot, r, wanted.allowed, &changed))
        return false;
    for (size_t i = 0; i < config->n_ban; i++)
        row_exclude(row, config->ban[i]);
    if (depth < config->min_len && decoder->spec.eos >= 0) {
        row_exclude(row, decoder->spec.eos);
        changed = true;
    }
    if (depth + 1 < config->min_len && decoder->spec.is_leaf != NULL)
        changed = exclude_early_leaves(decoder, slot, r) || changed;
    if (changed && !row_renormalise(row))
        return false;
    if (config->top_k > 0 || config->top_p < 1 || config->min_p > 0)
        return keep_likeliest(decoder, row);
    return true;
}
