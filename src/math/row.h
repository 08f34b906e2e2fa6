/* One row of scores as a distribution from which members (tokens) are removed one by one.
 *
 * The row is summed in blocks, each relative to its own maximum. To remove a member, its block is
 * summed again without it. The sum is never corrected by subtraction: if one member has 1 - 1e-12
 * of the mass, the difference would be mostly rounding error. So a member of probability 1e-300
 * still has its full precision when it is drawn after all likelier ones.
 *
 * The scores are only read. Each row needs its own scratch memory (row_scratch_size) and allocates
 * nothing. */
#ifndef MATH_ROW_H
#define MATH_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/kernels.h"
#include "sbeam/row.h"

struct row {
    const struct kernels *kernels;
    const void *all;    /* (n_all) scores, float or double; the caller's */
    const void *x;      /* (n) the scores of the members: `all`, or a copy if it is restricted */
    const int32_t *ids; /* (n) the members in ascending order, or NULL: 0 .. n - 1 */
    sb_row_type type;
    int32_t n_all;
    int32_t n; /* members */
    int32_t n_blocks;
    double inv_t;       /* 1 / temperature */
    double top;         /* the largest score after exclusions; log_z and log_rest are relative to
                         * it */
    double top_model;   /* the largest score of all; log_z_model is relative to it */
    double log_z;       /* log of the tempered mass at the start of the draw, after exclusions */
    double log_z_model; /* log of the mass at T = 1, without exclusions */
    double *max, *sum;  /* (n_blocks) the largest score left, and the mass left relative to it */
    double *sum_model;  /* (n_blocks) the mass at T = 1, without exclusions */
    double *mass;       /* (n_blocks) the mass left relative to the score `reference` */
    double reference, total; /* that score, and the sum of mass */
    double log_rest;         /* log of the tempered mass left */
    uint64_t *taken; /* (n_blocks, KERNEL_BLOCK / 64) one bit for each member: it is removed */
    bool *touched;   /* (n_blocks) whether the bits of a block are in use; if not, none is set */
};

/* Returns the score of a member, unchanged. */
static inline double row_score(const struct row *row, int32_t member)
{
    return row->type == SB_ROW_FLOAT ? (double)((const float *)row->all)[member]
                                     : ((const double *)row->all)[member];
}

/* Returns member number i, 0 <= i < row->n. Members are numbered in ascending order. */
static inline int32_t row_member(const struct row *row, int32_t i)
{
    return row->ids != NULL ? row->ids[i] : i;
}

/* Returns the number of bytes of scratch for rows of n members. */
size_t row_scratch_size(int32_t n);

/* Prepares the row for n members of a type. The scratch has row_scratch_size bytes, is aligned for
 * doubles, and stays the caller's. */
void row_init(struct row *row, int32_t n, sb_row_type type, void *scratch);

/* Reads the scores in one pass. Returns false if one of them is NaN or +inf, or if all are -inf;
 * row_find_bad tells which it is. */
bool row_open(struct row *row, const void *x, double temperature);
/* Returns the first member whose score is NaN or +inf, or -1 if there is none. */
int32_t row_find_bad(const struct row *row);

/* Returns the number of bytes that row_restrict needs for n members. */
size_t row_restricted_size(int32_t n);
/* Excludes all other members from an opened row and normalises it. If there are many others, the
 * row becomes as short as the list, so that later calls cost less. `members` is in ascending order;
 * `extra` is one more member, or -1. `memory` has row_restricted_size(n + 1) bytes, is aligned for
 * doubles, and is the caller's; the row uses it until it is opened again. Returns false if these
 * members have no mass. */
bool row_restrict(struct row *row, const int32_t *members, int32_t n, int32_t extra, void *memory);

/* Exclusions, before the draw begins. They take effect with row_renormalise. */

/* Excludes a member. Any other number is ignored. */
void row_exclude(struct row *row, int32_t member);
/* Excludes all members but these. */
void row_keep_only(struct row *row, const int32_t *members, int32_t n_members);
/* Normalises the row over the members left. Returns false if they have no mass. */
bool row_renormalise(struct row *row);

/* Returns the log-probability of a member, tempered and renormalised. */
double row_log_p(const struct row *row, int32_t member);
/* Returns the log-probability of a member under the model itself: T = 1, without exclusions. */
double row_log_p_model(const struct row *row, int32_t member);
/* Returns the log of the probability that is left after row_remove: 0 at first, -inf if the row is
 * empty. */
double row_log_rest(const struct row *row);
/* Returns whether a member is excluded or removed, or not a member of a restricted row. */
bool row_is_taken(const struct row *row, int32_t member);

/* Returns the member at quantile u of the mass left, with members in the order of their numbers, or
 * -1 if none is left. */
int32_t row_pick(const struct row *row, double u);
/* Removes a member during the draw. The log-probabilities of the others do not change. */
void row_remove(struct row *row, int32_t member);

#endif
