/* XXH64 (Yann Collet), a fast checksum of 64 bits: it distinguishes files that differ by accident,
 * and `xxh64sum` computes the same number. It does not protect against collisions that are made on
 * purpose. */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

enum { CHECKSUM_STRIPE = 32 }; /* bytes that the four lanes take together */

struct checksum {
    uint64_t lane[4];
    uint64_t n_bytes;                    /* added so far */
    unsigned char tail[CHECKSUM_STRIPE]; /* the last n_bytes % CHECKSUM_STRIPE of them */
};

/* Starts the checksum of an empty file, with seed 0. */
void checksum_open(struct checksum *sum);
/* Appends bytes. Any division of a file into calls gives the same checksum. */
void checksum_add(struct checksum *sum, const void *bytes, size_t size);
/* Returns the checksum of the bytes added so far. */
uint64_t checksum_get(const struct checksum *sum);

#endif
