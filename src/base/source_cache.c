/* See source_cache.h. */
#include "base/source_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

sb_status source_cache_open(struct source_cache *cache, int32_t n_inputs, sb_error *err)
{
    *cache = (struct source_cache){.n = n_inputs};
    cache->places = alloc_zeroed((size_t)n_inputs, sizeof *cache->places);
    cache->place = alloc_array((size_t)n_inputs, sizeof *cache->place);
    if (cache->places == NULL || cache->place == NULL) {
        source_cache_close(cache);
        return status_no_memory(err);
    }
    for (int32_t i = 0; i < n_inputs; i++)
        cache->place[i] = -1;
    return SB_OK;
}

void source_cache_close(struct source_cache *cache)
{
    for (int32_t i = 0; cache->places != NULL && i < cache->n; i++)
        alloc_free(cache->places[i].ids);
    alloc_free(cache->places);
    alloc_free(cache->place);
    *cache = (struct source_cache){0};
}

static void leave(struct source_cache *cache, int32_t input)
{
    if (cache->place[input] >= 0)
        cache->places[cache->place[input]].n_users--;
    cache->place[input] = -1;
}

static void enter(struct source_cache *cache, int32_t input, int32_t place)
{
    cache->places[place].n_users++;
    leave(cache, input); /* afterwards, because the two may be the same place */
    cache->place[input] = place;
}

sb_status source_cache_begin(struct source_cache *cache, int32_t input, const int32_t *ids,
                             int32_t n, bool *is_new, sb_error *err)
{
    for (int32_t i = 0; i < cache->n; i++) {
        const struct source_place *const place = &cache->places[i];
        if (place->n == n && memcmp(place->ids, ids, (size_t)n * sizeof *ids) == 0) {
            enter(cache, input, i);
            *is_new = false;
            return SB_OK;
        }
    }
    leave(cache, input);
    int32_t chosen = cache->next; /* one is free: n - 1 other inputs hold at most n - 1 places */
    while (cache->places[chosen].n_users > 0)
        chosen = (chosen + 1) % cache->n;
    struct source_place *const place = &cache->places[chosen];
    if (alloc_reserve(&place->ids, &place->capacity, (size_t)n, sizeof *ids) != SB_OK)
        return status_no_memory(err);
    memcpy(place->ids, ids, (size_t)n * sizeof *ids);
    place->n = n;
    cache->next = (chosen + 1) % cache->n;
    enter(cache, input, chosen);
    *is_new = true;
    return SB_OK;
}

void source_cache_forget(struct source_cache *cache, int32_t input)
{
    cache->places[cache->place[input]].n = 0;
    leave(cache, input);
}

void source_cache_clear(struct source_cache *cache)
{
    for (int32_t i = 0; i < cache->n; i++) {
        cache->place[i] = -1;
        cache->places[i].n = cache->places[i].n_users = 0;
    }
}
