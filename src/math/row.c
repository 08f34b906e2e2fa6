#include "math/row.h"

#include <math.h>
#include <string.h>

#include "math/logspace.h"

enum { WORDS = KERNEL_BLOCK / 64 };

/* A copy of a block, in which removed members are -inf. */
union block {
    float f[KERNEL_BLOCK];
    double d[KERNEL_BLOCK];
};

static size_t padded(size_t n)
{
    return (n + KERNEL_PAD - 1) / KERNEL_PAD * KERNEL_PAD;
}

static int32_t count_blocks(int32_t n)
{
    return (int32_t)(((int64_t)n + KERNEL_BLOCK - 1) / KERNEL_BLOCK);
}

size_t row_scratch_size(int32_t n)
{
    const size_t blocks = (size_t)count_blocks(n);
    return (3 * blocks + padded(blocks)) * sizeof(double) + blocks * WORDS * sizeof(uint64_t) +
           padded(blocks) * sizeof(bool);
}

/* Sets the number of members, and the kernels that are best for it. All kernels give the same
 * bits. */
static void set_length(struct row *row, int32_t n)
{
    row->kernels = kernels_get();
    if (n <= KERNEL_SHORT && row->kernels->for_short_rows != NULL)
        row->kernels = row->kernels->for_short_rows;
    row->n = n;
    row->n_blocks = count_blocks(n);
}

void row_init(struct row *row, int32_t n, sb_row_type type, void *scratch)
{
    const size_t blocks = (size_t)count_blocks(n);
    memset(row, 0, sizeof *row);
    row->type = type;
    row->n_all = n;
    set_length(row, n);
    row->mass = scratch; /* padded, for the kernels */
    row->max = row->mass + padded(blocks);
    row->sum = row->max + blocks;
    row->sum_model = row->sum + blocks;
    row->taken = (uint64_t *)(row->sum_model + blocks);
    row->touched = (bool *)(row->taken + blocks * WORDS);
}

static size_t block_size(const struct row *row, int32_t b)
{
    const int32_t left = row->n - b * KERNEL_BLOCK;
    return (size_t)(left < KERNEL_BLOCK ? left : KERNEL_BLOCK);
}

/* Returns the scores of a block: the row itself, or a copy if members of it are removed. */
static const void *view_block(const struct row *row, int32_t b, union block *copy)
{
    const size_t size = block_size(row, b);
    const size_t start = (size_t)b * KERNEL_BLOCK;
    const bool is_float = row->type == SB_ROW_FLOAT;
    const void *const scores = is_float ? (const void *)((const float *)row->x + start)
                                        : (const void *)((const double *)row->x + start);
    if (!row->touched[b])
        return scores;
    memcpy(copy, scores, size * (is_float ? sizeof(float) : sizeof(double)));
    for (size_t i = 0; i < size; i++) {
        const uint64_t bits = row->taken[(size_t)b * WORDS + i / 64] >> (i % 64);
        if (bits == 0) {
            i |= 63; /* no more removed members in this word */
        } else if (bits & 1) {
            if (is_float)
                copy->f[i] = -INFINITY;
            else
                copy->d[i] = -INFINITY;
        }
    }
    return copy;
}

/* This function and the next use four independent chains: in a single chain each operation would
 * wait for the one before. */
static double largest(const double *x, int32_t n)
{
    double top[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    int32_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int c = 0; c < 4; c++)
            top[c] = x[i + c] > top[c] ? x[i + c] : top[c];
    for (; i < n; i++)
        top[0] = x[i] > top[0] ? x[i] : top[0];
    return fmax(fmax(top[0], top[1]), fmax(top[2], top[3]));
}

static double add_up(const double *x, size_t n_padded)
{
    double sum[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < n_padded; i += 4)
        for (size_t c = 0; c < 4; c++)
            sum[c] += x[i + c];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Returns the log of row->total, relative to row->top. It is finite if members are left, even if
 * the distance of their scores from the top, divided by the temperature, is not. */
static double log_total(const struct row *row, double inv_t)
{
    return logspace_saturate((row->reference - row->top) * inv_t + log(row->total));
}

/* Returns the log, relative to row->top, of a mass that is given by blocks. Makes the largest score
 * left the reference, and fills row->mass and row->total. */
static double combine(struct row *row, const double *sum, double inv_t)
{
    row->reference = largest(row->max, row->n_blocks);
    if (row->n_blocks == 1)
        row->mass[0] = row->total = sum[0];
    else
        row->total = row->kernels->combine(row->max, sum, (size_t)row->n_blocks, row->reference,
                                           inv_t, row->mass);
    if (row->reference == -INFINITY)
        return -INFINITY;
    return log_total(row, inv_t);
}

/* Sums block b again without its removed members. */
static void sum_again(struct row *row, int32_t b)
{
    union block copy;
    const void *const view = view_block(row, b, &copy);
    if (row->type == SB_ROW_FLOAT)
        row->kernels->blocks_float(view, block_size(row, b), row->inv_t, row->max + b, row->sum + b,
                                   NULL);
    else
        row->kernels->blocks_double(view, block_size(row, b), row->inv_t, row->max + b,
                                    row->sum + b, NULL);
}

/* Updates mass, total and log_rest after block b was summed again. The reference changes only when
 * the total relative to it falls to e^-300. Until then, a block whose mass underflowed (below
 * e^-700) has less than e^-400 of the total. */
static void update_mass(struct row *row, int32_t b)
{
    const double too_little = 0x1p-433; /* e^-300 */
    if (row->n_blocks > 1) {
        double weight[KERNEL_PAD];
        row->kernels->weights_double(row->max + b, 1, row->reference, row->inv_t, weight);
        row->mass[b] = row->sum[b] * weight[0];
        row->total = add_up(row->mass, padded((size_t)row->n_blocks));
        if (row->total > too_little) {
            row->log_rest = log_total(row, row->inv_t);
            return;
        }
    }
    row->log_rest = combine(row, row->sum, row->inv_t);
}

bool row_open(struct row *row, const void *x, double temperature)
{
    row->all = row->x = x;
    row->ids = NULL;
    if (row->n != row->n_all)
        set_length(row, row->n_all);
    row->inv_t = 1 / temperature;
    memset(row->touched, 0, (size_t)row->n_blocks * sizeof *row->touched);
    double *const sum_model = row->inv_t != 1 ? row->sum_model : NULL;
    if (row->type == SB_ROW_FLOAT)
        row->kernels->blocks_float(x, (size_t)row->n, row->inv_t, row->max, row->sum, sum_model);
    else
        row->kernels->blocks_double(x, (size_t)row->n, row->inv_t, row->max, row->sum, sum_model);
    row->top = row->top_model = largest(row->max, row->n_blocks);
    if (sum_model != NULL)
        row->log_z_model = combine(row, sum_model, 1);
    row->log_z = row->log_rest = combine(row, row->sum, row->inv_t);
    if (sum_model == NULL)
        row->log_z_model = row->log_z;
    return row->log_z > -INFINITY && row->log_z < INFINITY; /* false for NaN too */
}

int32_t row_find_bad(const struct row *row)
{
    for (int32_t i = 0; i < row->n_all; i++)
        if (!(row_score(row, i) < INFINITY))
            return i;
    return -1;
}

double row_log_p(const struct row *row, int32_t member)
{
    return (row_score(row, member) - row->top) * row->inv_t - row->log_z;
}

double row_log_p_model(const struct row *row, int32_t member)
{
    return row_score(row, member) - row->top_model - row->log_z_model;
}

double row_log_rest(const struct row *row)
{
    return row->log_rest - row->log_z;
}

/* Returns the number of a member among the members, or -1 if it is not one of them. */
static int32_t find_member(const struct row *row, int32_t member)
{
    if (row->ids == NULL)
        return member;
    int32_t low = 0, high = row->n;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (row->ids[middle] < member)
            low = middle + 1;
        else
            high = middle;
    }
    return low < row->n && row->ids[low] == member ? low : -1;
}

bool row_is_taken(const struct row *row, int32_t member)
{
    const int32_t number = find_member(row, member);
    if (number < 0)
        return true;
    const int32_t b = number / KERNEL_BLOCK;
    const size_t i = (size_t)(number % KERNEL_BLOCK);
    return row->touched[b] && (row->taken[(size_t)b * WORDS + i / 64] >> (i % 64) & 1) != 0;
}

/* Marks the member of this number as removed. */
static void mark(struct row *row, int32_t number)
{
    const int32_t b = number / KERNEL_BLOCK;
    const size_t i = (size_t)(number % KERNEL_BLOCK);
    uint64_t *const words = row->taken + (size_t)b * WORDS;
    if (!row->touched[b]) {
        memset(words, 0, WORDS * sizeof *words);
        row->touched[b] = true;
    }
    words[i / 64] |= (uint64_t)1 << (i % 64);
}

void row_remove(struct row *row, int32_t member)
{
    const int32_t number = find_member(row, member);
    if (number < 0)
        return;
    mark(row, number);
    sum_again(row, number / KERNEL_BLOCK);
    update_mass(row, number / KERNEL_BLOCK);
}

void row_exclude(struct row *row, int32_t member)
{
    const int32_t number = find_member(row, member);
    if (number >= 0)
        mark(row, number);
}

void row_keep_only(struct row *row, const int32_t *members, int32_t n_members)
{
    memset(row->taken, 0xff, (size_t)row->n_blocks * WORDS * sizeof *row->taken);
    memset(row->touched, true, (size_t)row->n_blocks * sizeof *row->touched);
    for (int32_t i = 0; i < n_members; i++) {
        const size_t number = (size_t)find_member(row, members[i]);
        row->taken[number / 64] &= ~((uint64_t)1 << (number % 64));
    }
}

/* Normalises the row by the sums of its blocks. Returns false if they are all 0. */
static bool normalise(struct row *row)
{
    /* Relative to an excluded score that is far above the others, they would all be equal. */
    row->top = largest(row->max, row->n_blocks);
    row->log_z = row->log_rest = combine(row, row->sum, row->inv_t);
    return row->log_z > -INFINITY;
}

bool row_renormalise(struct row *row)
{
    for (int32_t b = 0; b < row->n_blocks; b++)
        if (row->touched[b])
            sum_again(row, b);
    return normalise(row);
}

size_t row_restricted_size(int32_t n)
{
    return padded((size_t)n) * (sizeof(double) + sizeof(int32_t));
}

/* Excludes all but these members and `extra`. members[i] - i grows by the number of ids that are
 * skipped before member i, so bisection finds the next gap. */
static void exclude_others(struct row *row, const int32_t *members, int32_t n, int32_t extra)
{
    int32_t i = 0, n_skipped = 0;
    for (;;) {
        int32_t high = n;
        while (i < high) {
            const int32_t middle = i + (high - i) / 2;
            if (members[middle] - middle > n_skipped)
                high = middle;
            else
                i = middle + 1;
        }
        const int32_t end = i < n ? members[i] : row->n;
        for (int32_t id = i + n_skipped; id < end; id++)
            if (id != extra)
                mark(row, id);
        if (i == n)
            return;
        n_skipped = members[i] - i;
    }
}

/* Copies the ids, with `extra` in its place. Returns their number. */
static int32_t merge_ids(const int32_t *members, int32_t n, int32_t extra, int32_t *ids)
{
    int32_t before = n;
    while (extra >= 0 && before > 0 && members[before - 1] > extra)
        before--;
    memcpy(ids, members, (size_t)before * sizeof *ids);
    if (extra < 0)
        return n;
    ids[before] = extra;
    memcpy(ids + before + 1, members + before, (size_t)(n - before) * sizeof *ids);
    return n + 1;
}

bool row_restrict(struct row *row, const int32_t *members, int32_t n, int32_t extra, void *memory)
{
    /* To exclude a member, its block is summed again. If there are few such blocks, that is cheaper
     * than to copy nearly all scores. */
    if (row->n - n <= row->n_blocks / 8) {
        exclude_others(row, members, n, extra);
        return row_renormalise(row);
    }
    const size_t room = padded((size_t)n + 1);
    int32_t *const ids = (int32_t *)((double *)memory + room);
    set_length(row, merge_ids(members, n, extra, ids));
    row->ids = ids;
    row->x = memory;
    memset(row->touched, 0, (size_t)row->n_blocks * sizeof *row->touched);
    if (row->type == SB_ROW_FLOAT) {
        float *const x = memory;
        for (int32_t i = 0; i < row->n; i++)
            x[i] = ((const float *)row->all)[ids[i]];
        row->kernels->blocks_float(x, (size_t)row->n, row->inv_t, row->max, row->sum, NULL);
    } else {
        double *const x = memory;
        for (int32_t i = 0; i < row->n; i++)
            x[i] = ((const double *)row->all)[ids[i]];
        row->kernels->blocks_double(x, (size_t)row->n, row->inv_t, row->max, row->sum, NULL);
    }
    return normalise(row);
}

/* Returns the first i whose cumulated weight exceeds the target; *share is where the target lies
 * within weight i, in [0, 1). If rounding has put the target past the end, returns the last i that
 * has weight, or -1 if none has. Groups of eight are skipped at once, so that the sum is not one
 * long chain of additions. */
static int32_t find_quantile(const double *weight, size_t n, double target, double *share)
{
    double before = 0, before_last = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const double *const w = weight + i;
        const double sum = ((w[0] + w[1]) + (w[2] + w[3])) + ((w[4] + w[5]) + (w[6] + w[7]));
        if (before + sum > target)
            break;
        before += sum;
    }
    int32_t last = -1;
    for (; i < n; i++) {
        if (weight[i] > 0) {
            last = (int32_t)i;
            before_last = before;
            if (before + weight[i] > target)
                break;
        }
        before += weight[i];
    }
    if (last < 0) {
        for (last = (int32_t)n - 1; last >= 0 && !(weight[last] > 0);)
            last--;
        before_last = target;
    }
    if (last >= 0) {
        const double inside = (target - before_last) / weight[last];
        *share = inside < 1 ? inside : 1 - 0x1p-53;
    }
    return last;
}

int32_t row_pick(const struct row *row, double u)
{
    int32_t b = 0;
    if (row->n_blocks > 1)
        b = find_quantile(row->mass, padded((size_t)row->n_blocks), u * row->total, &u);
    if (b < 0)
        return -1;

    union block copy;
    double weight[KERNEL_BLOCK];
    const void *const view = view_block(row, b, &copy);
    const size_t size = block_size(row, b);
    if (row->type == SB_ROW_FLOAT) {
        float narrow[KERNEL_BLOCK];
        row->kernels->weights_float(view, size, row->max[b], row->inv_t, narrow);
        for (size_t i = 0; i < padded(size); i++)
            weight[i] = (double)narrow[i];
    } else {
        row->kernels->weights_double(view, size, row->max[b], row->inv_t, weight);
    }
    double share;
    const int32_t i = find_quantile(weight, padded(size), u * row->sum[b], &share);
    return i < 0 ? -1 : row_member(row, b * KERNEL_BLOCK + i);
}
