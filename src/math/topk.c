/* Gumbel-Top-k over a stream: weighted reservoir sampling in log space. Each item gets the key
 * log w + Gumbel noise, and a heap keeps the k + 1 largest keys, the smallest on top. The noise of
 * an item depends only on the seed and on the item's index. The total weight is summed on the way.
 */
#include "sbeam/topk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "math/kernels.h"
#include "math/logspace.h"
#include "math/noise.h"

enum { MOST_ITEMS = INT32_MAX - 1 };

static const double LARGEST = 1e12; /* beyond it a log-weight has no digits left for the noise */

struct sb_topk {
    struct noise_key key;
    size_t k;
    uint64_t n_pushed;
    struct logspace_total total; /* of all weights */
    sb_topk_item *heap;          /* (n <= k + 1) here g is log w + noise and log_p is log w */
    size_t n, heap_capacity;
    sb_topk_item *sorted; /* the items that sb_topk_items gives */
    size_t sorted_capacity;
};

sb_status sb_topk_open(sb_topk **topk, int32_t k, uint64_t seed, sb_error *err)
{
    if (topk == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_topk_open: topk is NULL");
    if (k < 1 || k > MOST_ITEMS)
        return status_fail(err, SB_ERR_ARGUMENT, "k is %d; expected 1 to %d", k, MOST_ITEMS);
    sb_topk *const t = alloc_zeroed(1, sizeof *t);
    if (t == NULL)
        return status_no_memory(err);
    t->key.seed = seed;
    t->k = (size_t)k;
    t->total = LOGSPACE_NOTHING;
    *topk = t;
    return SB_OK;
}

void sb_topk_close(sb_topk *topk)
{
    if (topk == NULL)
        return;
    alloc_free(topk->heap);
    alloc_free(topk->sorted);
    alloc_free(topk);
}

/* Orders items by descending key, then by index. */
static bool is_before(const sb_topk_item *a, const sb_topk_item *b)
{
    return a->g != b->g ? a->g > b->g : a->index < b->index;
}

static void sift_down(sb_topk_item *heap, size_t n)
{
    const sb_topk_item moved = heap[0];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && is_before(&heap[child], &heap[child + 1]))
            child++;
        if (!is_before(&moved, &heap[child]))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static void sift_up(sb_topk_item *heap, size_t i)
{
    const sb_topk_item moved = heap[i];
    while (i > 0 && is_before(&heap[(i - 1) / 2], &moved)) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = moved;
}

static sb_status check_weight(uint64_t index, double log_weight, sb_error *err)
{
    if (log_weight == -INFINITY || fabs(log_weight) <= LARGEST)
        return SB_OK;
    return status_fail(
        err, SB_ERR_ARGUMENT,
        "the log-weight of item %llu is %.17g; expected -inf, or a number from -1e12 to 1e12, "
        "because a larger one leaves no room for the noise",
        (unsigned long long)index, log_weight);
}

/* Makes room in the heap for n more items; it never holds more than k + 1. */
static sb_status reserve(sb_topk *topk, size_t n, sb_error *err)
{
    const size_t free_places = topk->k + 1 - topk->n;
    if (alloc_reserve(&topk->heap, &topk->heap_capacity,
                      topk->n + (n < free_places ? n : free_places), sizeof *topk->heap) != SB_OK)
        return status_no_memory(err);
    return SB_OK;
}

/* Takes an item that has been checked and for which there is room. Returns its slot, or -1. */
static int32_t take_item(sb_topk *topk, double log_weight)
{
    const uint64_t index = topk->n_pushed++;
    if (log_weight == -INFINITY)
        return -1;
    logspace_total_add(&topk->total, log_weight);
    sb_topk_item item = {
        .index = index,
        .log_p = log_weight,
        .g = logspace_gumbel(log_weight, noise_of_item(&topk->key, index)),
    };
    if (topk->n <= topk->k) {
        item.slot = (int32_t)topk->n;
        topk->heap[topk->n++] = item;
        sift_up(topk->heap, topk->n - 1);
        return item.slot;
    }
    if (!is_before(&item, &topk->heap[0]))
        return -1;
    item.slot = topk->heap[0].slot;
    topk->heap[0] = item;
    sift_down(topk->heap, topk->n);
    return item.slot;
}

sb_status sb_topk_push(sb_topk *topk, double log_weight, int32_t *slot, sb_error *err)
{
    if (topk == NULL || slot == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_topk_push: topk or slot is NULL");
    sb_status status = check_weight(topk->n_pushed, log_weight, err);
    if (status == SB_OK && log_weight > -INFINITY)
        status = reserve(topk, 1, err);
    if (status == SB_OK)
        *slot = take_item(topk, log_weight);
    return status;
}

sb_status sb_topk_push_all(sb_topk *topk, const double *log_weights, size_t n, sb_error *err)
{
    if (topk == NULL || (log_weights == NULL && n > 0))
        return status_fail(err, SB_ERR_ARGUMENT, "sb_topk_push_all: topk or log_weights is NULL");
    for (size_t i = 0; i < n; i++) {
        const sb_status status = check_weight(topk->n_pushed + i, log_weights[i], err);
        if (status != SB_OK)
            return status;
    }
    const sb_status status = reserve(topk, n, err);
    for (size_t i = 0; status == SB_OK && i < n; i++)
        take_item(topk, log_weights[i]);
    return status;
}

static int compare_items(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : is_before(b, a);
}

sb_status sb_topk_items(sb_topk *topk, const sb_topk_item **items, int32_t *n_items, double *kappa,
                        sb_error *err)
{
    if (topk == NULL || items == NULL || n_items == NULL || kappa == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_topk_items: topk, items, n_items or kappa is NULL");
    if (alloc_reserve(&topk->sorted, &topk->sorted_capacity, topk->n, sizeof *topk->sorted) !=
        SB_OK)
        return status_no_memory(err);
    if (topk->n > 0) {
        memcpy(topk->sorted, topk->heap, topk->n * sizeof *topk->sorted);
        qsort(topk->sorted, topk->n, sizeof *topk->sorted, compare_items);
    }
    const double log_total = logspace_total_log(&topk->total);
    for (size_t i = 0; i < topk->n; i++) {
        topk->sorted[i].log_p -= log_total;
        topk->sorted[i].g -= log_total;
    }
    const size_t n = topk->n < topk->k ? topk->n : topk->k;
    *kappa = topk->n > topk->k ? topk->sorted[topk->k].g : -INFINITY;
    for (size_t i = 0; i < n; i++)
        topk->sorted[i].log_weight = logspace_weight(topk->sorted[i].log_p, *kappa);
    *items = topk->sorted;
    *n_items = (int32_t)n;
    return SB_OK;
}

double sb_plackett_luce_log_p(const double *log_p, size_t n, bool is_all)
{
    const double log_left = is_all ? -INFINITY : logspace_left(log_p, n, sizeof *log_p);
    return logspace_plackett_luce(log_p, n, sizeof *log_p, log_left);
}

double sb_log_weight(double log_p, double kappa)
{
    return logspace_weight(log_p, kappa);
}

double sb_log_sum_exp(const float *x, size_t n)
{
    enum { PIECE = 4096 }; /* floats: a piece is read twice and stays in the first-level cache */
    const struct kernels *const kernels = kernels_get();
    double total = -INFINITY;
    for (size_t first = 0; first < n; first += PIECE) {
        double max;
        const double sum =
            kernels->sum_float(x + first, n - first < PIECE ? n - first : PIECE, &max);
        if (isnan(sum) || max == INFINITY)
            return NAN;
        if (sum > 0)
            total = logspace_add(total, max + log(sum));
    }
    return total;
}
