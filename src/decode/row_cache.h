/* Rows by prefix, in bounded memory, shared by threads.
 *
 * A caller claims what it needs in one call and learns of each row whether it is here, is its own
 * to compute, or is being computed by somebody else. It computes its own, publishes them, and only
 * then waits for those of others: as nobody waits before having published, nobody waits for ever,
 * and no row is computed twice while there is room. Claimed rows stay until they are released; of
 * the others the least recently used goes first. */
#ifndef DECODE_ROW_CACHE_H
#define DECODE_ROW_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "math/noise.h"
#include "sbeam/error.h"

struct row_cache;

enum claim_kind {
    CLAIM_READY,   /* the data can be read */
    CLAIM_OWN,     /* the caller computes the data and publishes it */
    CLAIM_AWAITED, /* somebody does: another thread, or the caller itself, for an earlier claim */
    CLAIM_ALONE    /* there is no room, or whoever computed it failed: not in the cache */
};

struct claim {
    enum claim_kind kind;
    struct cached_row *row; /* NULL when alone */
};

/* A cache of `size` bytes for entries of `data_size` bytes; it may be too small for any. */
sb_status row_cache_open(struct row_cache **cache, size_t size, size_t data_size, sb_error *err);
/* Accepts NULL. */
void row_cache_close(struct row_cache *cache);

void row_cache_claim(struct row_cache *cache, size_t n, const struct noise_node *keys,
                     struct claim *claims);
/* The data of a claim that is not alone. */
char *row_cache_data(const struct claim *claim);
/* Own claims become ready; or, where computing them failed, alone, and so do those who wait. */
void row_cache_publish(struct row_cache *cache, size_t n, struct claim *claims, bool failed);
/* Waits until nothing is awaited. */
void row_cache_wait(struct row_cache *cache, size_t n, struct claim *claims);
void row_cache_release(struct row_cache *cache, size_t n, const struct claim *claims);

/* Bytes in use, what manages them included. */
size_t row_cache_used(const struct row_cache *cache);

#endif
