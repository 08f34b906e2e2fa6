/* Assigns places to encoded sources: inputs with equal sources share one place.
 *
 * There are as many places as inputs. A place keeps its source after its input has moved on, until
 * another source needs the place. So the draws of one input encode its source only once. */
#ifndef BASE_SOURCE_CACHE_H
#define BASE_SOURCE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

struct source_place {
    int32_t *ids;
    int32_t n; /* 0: nothing is encoded here */
    size_t capacity;
    int32_t n_users;
};

struct source_cache {
    int32_t n;                   /* number of inputs, and of places */
    struct source_place *places; /* (n) */
    int32_t *place;              /* (n) by input, -1: none */
    int32_t next; /* where the search for a free place begins: reuses the oldest first */
};

sb_status source_cache_open(struct source_cache *cache, int32_t n_inputs, sb_error *err);
/* Frees what is inside; a zeroed struct is fine. */
void source_cache_close(struct source_cache *cache);

/* Gives an input the place of these ids. If *is_new, the ids are not encoded there yet, and the
 * caller must encode them; if that fails, source_cache_forget takes the place back. */
sb_status source_cache_begin(struct source_cache *cache, int32_t input, const int32_t *ids,
                             int32_t n, bool *is_new, sb_error *err);
/* Takes back the place of an input: nothing is encoded there. */
void source_cache_forget(struct source_cache *cache, int32_t input);
/* Takes back all places: nothing is encoded anywhere. */
void source_cache_clear(struct source_cache *cache);

#endif
