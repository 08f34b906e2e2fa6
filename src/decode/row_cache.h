/* A cache of rows by prefix, in bounded memory, shared by threads.
 *
 * A caller claims all rows of a step in one call. The answer for each row is that the cache has it,
 * that the caller must compute it, or that another claim already computes it. The caller computes
 * its own rows, publishes them, and only then waits for the awaited ones. No thread waits before it
 * has published, so there is no deadlock; and no row is computed twice while there is room. Claimed
 * rows stay until they are released. Of the others, the least recently used is evicted first. */
#ifndef DECODE_ROW_CACHE_H
#define DECODE_ROW_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "math/noise.h"
#include "sbeam/error.h"

struct row_cache;

enum claim_kind {
    CLAIM_READY,   /* the data can be read */
    CLAIM_OWN,     /* the caller must compute the data and publish it */
    CLAIM_AWAITED, /* an earlier claim computes it, of another thread or of the same caller */
    CLAIM_ALONE    /* not in the cache: there is no room, or the claim that computed it failed */
};

struct claim {
    enum claim_kind kind;
    struct cached_row *row; /* NULL if CLAIM_ALONE */
};

/* Opens a cache of at most `size` bytes for rows with `data_size` bytes of data. If it is too small
 * for a single row, all claims are CLAIM_ALONE. */
sb_status row_cache_open(struct row_cache **cache, size_t size, size_t data_size, sb_error *err);
/* Frees the cache. Accepts NULL. */
void row_cache_close(struct row_cache *cache);

/* Claims n rows. Every claim must be released. */
void row_cache_claim(struct row_cache *cache, size_t n, const struct noise_node *keys,
                     struct claim *claims);
/* Returns the data of a claim that is not CLAIM_ALONE. */
char *row_cache_data(const struct claim *claim);
/* Turns each CLAIM_OWN into CLAIM_READY; if `failed`, turns it and all claims that wait for it into
 * CLAIM_ALONE. Wakes the threads that wait. */
void row_cache_publish(struct row_cache *cache, size_t n, struct claim *claims, bool failed);
/* Waits until each CLAIM_AWAITED has become CLAIM_READY or CLAIM_ALONE. */
void row_cache_wait(struct row_cache *cache, size_t n, struct claim *claims);
/* Releases the claims: their data must not be used any more. */
void row_cache_release(struct row_cache *cache, size_t n, const struct claim *claims);

/* Returns the number of bytes in use, with headers and buckets. Takes no lock: call it when no
 * thread uses the cache. */
size_t row_cache_used(const struct row_cache *cache);

#endif
