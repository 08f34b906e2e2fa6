/* Ancestral samples that grow together. The methods sample and reject share them.
 *
 * Sample i gets its uniform at each position from (seed, stream, draw, i, position), so it does not
 * depend on the other samples. Samples that share a prefix share its row: the beam is in the order
 * of the rows, so equal children of one row are next to each other. The `root` of an entry is the
 * number of its sample. */
#ifndef DECODE_SAMPLE_H
#define DECODE_SAMPLE_H

#include "decode/slot.h"

/* The token that a sample picks. */
struct choice {
    int32_t row, token;
    int32_t entry; /* index of the sample on slot->now */
};

/* slot->own of both methods begins with this. */
struct samples {
    struct beam done; /* finished samples, which have left the beam */
    struct choice *choices;
    size_t choice_capacity;
};

/* Starts the samples first .. first + n - 1. */
sb_status sample_start(struct slot *slot, uint64_t first, uint64_t n);
/* Makes one step of the samples of a chunk; the `expand` of a method. */
sb_status sample_expand(sb_decoder *decoder, struct slot *slot);
/* Takes the finished samples off the beam; the `settle` of a method. */
sb_status sample_settle(sb_decoder *decoder, struct slot *slot, sb_error *err);
/* Sorts the finished samples by their number. */
void sample_sort(struct samples *samples);
/* Frees the memory of `own`, which begins with a struct samples; the `close` of a method. */
void sample_close(void *own);

#endif
