/* Which encoded source belongs to which input: equal sources share one.
 *
 * There are as many places as inputs. A place stays as it is after its input has gone on, until it
 * is needed, so that the draws of one input encode its source once. */
#ifndef NN_SOURCE_CACHE_H
#define NN_SOURCE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

typedef struct source_place {
    int32_t *ids;
    int32_t n; /* 0: nothing has been encoded here */
    size_t capacity;
    int32_t n_users;
} source_place;

typedef struct source_cache {
    int32_t n;            /* inputs, and places */
    source_place *places; /* (n) */
    int32_t *place;       /* (n) by input, -1: none */
    int32_t next;         /* where the search for a free place begins: the oldest go first */
} source_cache;

sb_status source_cache_open(source_cache *cache, int32_t n_inputs, sb_error *err);
/* Frees what is inside; a zeroed one is fine. */
void source_cache_close(source_cache *cache);

/* Gives an input the place of these ids. *is_new: nobody has encoded them there yet; where that
 * then fails, source_cache_forget takes the place back. */
sb_status source_cache_begin(source_cache *cache, int32_t input, const int32_t *ids, int32_t n,
                             bool *is_new, sb_error *err);
void source_cache_forget(source_cache *cache, int32_t input);
/* Takes back all places: nothing is encoded anywhere. */
void source_cache_clear(source_cache *cache);

#endif
