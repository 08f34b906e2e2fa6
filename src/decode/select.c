#include "decode/select.h"

#include <math.h>

bool select_before(const struct candidate *a, const struct candidate *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    return a->entry != b->entry ? a->entry < b->entry : a->token < b->token;
}

/* Orders a shortlist: its worst candidate is on top. */
static bool is_worse(const struct candidate *a, const struct candidate *b)
{
    return select_before(b, a);
}

void select_offer(struct shortlist *list, struct candidate candidate)
{
    if (list->n == list->most) {
        if (list->n > 0 && select_before(&candidate, &list->items[0])) {
            list->items[0] = candidate;
            select_sift_down(list->items, list->n, 0, is_worse);
        }
        return;
    }
    size_t i = list->n++;
    while (i > 0 && select_before(&list->items[(i - 1) / 2], &candidate)) {
        list->items[i] = list->items[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    list->items[i] = candidate;
}

void select_sort(struct shortlist *list)
{
    /* Heap sort: the worst candidate left goes to the end. */
    for (size_t n = list->n; n > 1; n--) {
        const struct candidate worst = list->items[0];
        list->items[0] = list->items[n - 1];
        list->items[n - 1] = worst;
        select_sift_down(list->items, n - 1, 0, is_worse);
    }
}

static double worst_score(const struct shortlist *list)
{
    return list->n < list->most ? -INFINITY : list->items[0].score;
}

/* Returns the logit below which no child can enter either list. It is computed backwards from a
 * score; a margin of 1e-12, some 9,000 roundings, covers the error. A child that passes is compared
 * again by its score. */
static double least_logit(const struct row *row, struct ranking ranking,
                          const struct shortlist *live, const struct shortlist *leaves)
{
    const double worst = fmin(worst_score(live), worst_score(leaves));
    const double log_p = (worst - ranking.offset) / ranking.slope;
    const double logit = row->top + (log_p + row->log_z) / row->inv_t;
    return logit -
           1e-12 * (fabs(logit) + fabs(row->top) + fabs(worst) / (ranking.slope * row->inv_t) +
                    fabs(ranking.offset) / (ranking.slope * row->inv_t));
}

sb_status select_children(sb_decoder *decoder, const struct slot *slot, int32_t i,
                          struct ranking ranking, const int32_t *counts, struct shortlist *live,
                          struct shortlist *leaves)
{
    const struct entry *const parent = &slot->now.entries[i];
    const struct row *const row = slot_row(decoder, slot, parent);
    sb_status status = SB_OK;
    double least = least_logit(row, ranking, live, leaves);
    for (int32_t b = 0; b < row->n_blocks; b++) {
        if (row->max[b] < least || row->max[b] == -INFINITY)
            continue; /* true for most blocks */
        const int32_t first = b * KERNEL_BLOCK;
        const int32_t last = row->n - first < KERNEL_BLOCK ? row->n : first + KERNEL_BLOCK;
        for (int32_t m = first; m < last; m++) {
            const int32_t token = row_member(row, m);
            const double logit = row_score(row, token);
            if (logit < least || logit == -INFINITY || row_is_taken(row, token))
                continue;
            struct candidate child = {ranking.offset + ranking.slope * row_log_p(row, token), i,
                                      token};
            if (counts != NULL)
                child.score -= decoder->config.strength * counts[token];
            struct shortlist *list = live;
            if (live != leaves) {
                const sb_end end = slot_end_of(decoder, slot, parent, token, &status);
                if (status != SB_OK)
                    return status;
                if (end != SB_END_NONE && end != SB_END_MAX_LEN)
                    list = leaves;
            }
            select_offer(list, child);
            least = least_logit(row, ranking, live, leaves);
        }
    }
    return SB_OK;
}
