/* The best children of some entries by a score that falls with the token's log-probability: what
 * beam and diverse beam search share. */
#ifndef DECODE_SELECT_H
#define DECODE_SELECT_H

#include "decode/decode.h"

/* A bounded heap, its worst candidate on top. */
struct shortlist {
    struct candidate *items;
    size_t n, most;
};

/* Restores a heap below place i: `above` tells which of two belongs nearer to the top. */
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

/* Higher score first, then the lower place on the beam, then the lower id. */
bool select_before(const struct candidate *a, const struct candidate *b);

void select_offer(struct shortlist *list, struct candidate candidate);
/* Puts the list in order, best first. */
void select_sort(struct shortlist *list);

/* The score of a child: offset + slope * log_p of its token, slope > 0, before any penalty. */
struct ranking {
    double offset, slope;
};

/* Offers every child of entry i of slot->now: leaves to `leaves`, the others to `live` (which may
 * be the same list). `counts`, where not NULL, lowers the score by strength * counts[token]. */
sb_status select_children(sb_decoder *decoder, const struct slot *slot, int32_t i,
                          struct ranking ranking, const int32_t *counts, struct shortlist *live,
                          struct shortlist *leaves);

#endif
