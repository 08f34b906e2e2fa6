/* Selects the best children of entries by a score that increases with the log-probability of the
 * token. beam and diverse share it. */
#ifndef DECODE_SELECT_H
#define DECODE_SELECT_H

#include "decode/slot.h"

/* A heap of at most `most` candidates, the worst on top. */
struct shortlist {
    struct candidate *items;
    size_t n, most;
};

/* Moves items[i] down until the heap is in order. `above` tells whether its first argument belongs
 * nearer to the top than its second. */
static inline void select_sift_down(struct candidate *items, size_t n, size_t i,
                                    bool (*above)(const struct candidate *,
                                                  const struct candidate *))
{
    const struct candidate moved = items[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && above(&items[child + 1], &items[child]))
            child++;
        if (!above(&items[child], &moved))
            break;
        items[i] = items[child];
        i = child;
    }
    items[i] = moved;
}

/* Orders candidates: higher score first, then the lower index on the beam, then the lower id. */
bool select_before(const struct candidate *a, const struct candidate *b);

/* Adds a candidate if it is among the best. */
void select_offer(struct shortlist *list, struct candidate candidate);
/* Sorts the list, best first. It is not a heap any more then. */
void select_sort(struct shortlist *list);

/* The score of a child before any penalty is offset + slope * log_p of its token, slope > 0. */
struct ranking {
    double offset, slope;
};

/* Offers every child of entry i of slot->now: leaves to `leaves`, the others to `live` (which may
 * be the same list). If `counts` is not NULL, the score is lowered by strength * counts[token]. */
sb_status select_children(sb_decoder *decoder, const struct slot *slot, int32_t i,
                          struct ranking ranking, const int32_t *counts, struct shortlist *live,
                          struct shortlist *leaves);

#endif
