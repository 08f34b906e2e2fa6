/* One row of scores as a distribution whose members are taken out one by one.
 *
 * The row is summed in blocks, each relative to its own maximum. A member is removed by summing its
 * block again without it, never by subtraction: where one member holds 1 - 1e-12 of the mass a
 * difference would leave only rounding error. So a member of probability 1e-300 is still drawn,
 * with its full precision, once nothing better is left.
 *
 * The scores are only read. A row needs scratch of its own (row_scratch_size) and allocates
 * nothing. */
#ifndef MATH_ROW_H
#define MATH_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/kernels.h"
#include "sbeam/model.h"

struct row {
    const struct kernels *kernels;
    const void *x; /* (n) scores, float or double */
    sb_row_type type;
    int32_t n; /* members */
    int32_t n_blocks;
    double inv_t;            /* 1 / temperature */
    double top;              /* the largest score; what follows is relative to it */
    double log_z;            /* log of the tempered mass at the start (after exclusions) */
    double log_z_model;      /* log of the mass at T = 1, nothing excluded */
    double *max, *sum;       /* (n_blocks) largest score left, and mass relative to it */
    double *sum_model;       /* (n_blocks) the same at T = 1, nothing removed */
    double *mass;            /* (n_blocks) mass relative to `reference`, a score */
    double reference, total; /* and their sum */
    double log_rest;         /* log of the tempered mass left */
    uint64_t *taken;         /* (n_blocks, KERNEL_BLOCK / 64) bits of the members removed */
    bool *touched;           /* (n_blocks) whether the bits of a block are in use */
};

/* The score of a member as it came. */
static inline double row_score(const struct row *row, int32_t member)
{
    return row->type == SB_ROW_FLOAT ? (double)((const float *)row->x)[member]
                                     : ((const double *)row->x)[member];
}

/* Bytes of scratch for rows of n members. */
size_t row_scratch_size(int32_t n);

/* Prepares the row for n members of a type, with scratch of the size above, aligned for doubles. */
void row_init(struct row *row, int32_t n, sb_row_type type, void *scratch);

/* Reads the scores: one pass. False if there is NaN or +inf among them or no mass at all; then
 * row_find_bad tells which. */
bool row_open(struct row *row, const void *x, double temperature);
/* The first member that is NaN or +inf; -1: none. */
int32_t row_find_bad(const struct row *row);

/* Take members out before the draw begins: the law is that of the others, once row_renormalise has
 * been called; false there: nothing is left. */
void row_exclude(struct row *row, int32_t member);
void row_keep_only(struct row *row, const int32_t *members, int32_t n_members);
bool row_renormalise(struct row *row);

/* log-probability of a member under the tempered, renormalised law, and at T = 1 under the model.
 */
double row_log_p(const struct row *row, int32_t member);
double row_log_p_model(const struct row *row, int32_t member);
/* log of the share of the tempered law that has not been removed: 0 at first, -inf when empty. */
double row_log_rest(const struct row *row);
bool row_is_taken(const struct row *row, int32_t member);

/* The member at quantile u of what is left, members in order of their number; -1 if none is left.
 */
int32_t row_pick(const struct row *row, double u);
void row_remove(struct row *row, int32_t member);

#endif
