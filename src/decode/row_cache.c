#include "decode/row_cache.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/status.h"

enum row_state { ROW_PENDING, ROW_READY, ROW_FAILED };

struct cached_row {
    struct noise_node key;
    enum row_state state;
    uint32_t n_claims;
    struct cached_row *chain;         /* the next row of its bucket */
    struct cached_row *older, *newer; /* by last use, in the list of rows without claims */
    /* the data follows */
};

struct row_cache {
    size_t data_size, n_rows, most_rows;
    struct cached_row **buckets; /* (mask + 1), a power of two that grows with n_rows */
    size_t mask;
    struct hash_key key; /* of the buckets: anyone can compute the hash of a prefix */
    struct cached_row *oldest, *newest; /* of the rows without claims, which may be evicted */
    pthread_mutex_t lock;
    pthread_cond_t published;
};

sb_status row_cache_open(struct row_cache **cache, size_t size, size_t data_size, sb_error *err)
{
    struct row_cache *const c = alloc_zeroed(1, sizeof *c);
    if (c == NULL)
        return status_no_memory(err);
    /* A row needs its data, its header and up to two buckets. */
    const size_t row_size = sizeof(struct cached_row) + data_size + 2 * sizeof *c->buckets;
    c->data_size = data_size;
    c->key = hash_process_key();
    c->most_rows = size / row_size;
    c->buckets = alloc_zeroed(1, sizeof *c->buckets);
    if (c->buckets == NULL) {
        alloc_free(c);
        return status_no_memory(err);
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->published, NULL);
    *cache = c;
    return SB_OK;
}

void row_cache_close(struct row_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i <= cache->mask; i++)
        for (struct cached_row *row = cache->buckets[i], *next; row != NULL; row = next) {
            next = row->chain;
            alloc_free(row);
        }
    pthread_cond_destroy(&cache->published);
    pthread_mutex_destroy(&cache->lock);
    alloc_free(cache->buckets);
    alloc_free(cache);
}

/* --- under the lock --- */

static struct cached_row **bucket_of(const struct row_cache *cache, struct noise_node key)
{
    return &cache->buckets[hash_number(&cache->key, key.a) & cache->mask];
}

static struct cached_row *find(const struct row_cache *cache, struct noise_node key)
{
    struct cached_row *row = *bucket_of(cache, key);
    while (row != NULL && !noise_same_node(row->key, key))
        row = row->chain;
    return row;
}

static void insert(struct row_cache *cache, struct cached_row *row)
{
    struct cached_row **const bucket = bucket_of(cache, row->key);
    row->chain = *bucket;
    *bucket = row;
}

/* Doubles the number of buckets. If memory is short, the chains grow instead. */
static void grow_buckets(struct row_cache *cache)
{
    const size_t n_old = cache->mask + 1;
    struct cached_row **const old = cache->buckets;
    struct cached_row **const buckets = alloc_zeroed(2 * n_old, sizeof *buckets);
    if (buckets == NULL)
        return;
    cache->buckets = buckets;
    cache->mask = 2 * n_old - 1;
    for (size_t i = 0; i < n_old; i++)
        for (struct cached_row *row = old[i], *next; row != NULL; row = next) {
            next = row->chain;
            insert(cache, row);
        }
    alloc_free(old);
}

static void take_out(struct row_cache *cache, struct cached_row *row)
{
    struct cached_row **link = bucket_of(cache, row->key);
    while (*link != row)
        link = &(*link)->chain;
    *link = row->chain;
}

static void list_append(struct row_cache *cache, struct cached_row *row)
{
    row->newer = NULL;
    row->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = row;
    cache->newest = row;
}

static void list_remove(struct row_cache *cache, struct cached_row *row)
{
    *(row->older != NULL ? &row->older->newer : &cache->oldest) = row->newer;
    *(row->newer != NULL ? &row->newer->older : &cache->newest) = row->older;
}

/* Returns memory for one more row, new or that of the oldest row, or NULL if there is none. */
static struct cached_row *make_room(struct row_cache *cache)
{
    if (cache->n_rows < cache->most_rows) {
        struct cached_row *const row = alloc_array(1, sizeof *row + cache->data_size);
        if (row != NULL)
            cache->n_rows++;
        else
            cache->most_rows = cache->n_rows; /* memory is short: the cache stays at this size */
        if (row != NULL)
            return row;
    }
    struct cached_row *const row = cache->oldest;
    if (row != NULL) {
        list_remove(cache, row);
        take_out(cache, row);
    }
    return row;
}

static struct claim claim_one(struct row_cache *cache, struct noise_node key)
{
    struct cached_row *row = find(cache, key);
    if (row != NULL) {
        if (row->n_claims++ == 0)
            list_remove(cache, row);
        return (struct claim){row->state == ROW_READY ? CLAIM_READY : CLAIM_AWAITED, row};
    }
    row = make_room(cache);
    if (row == NULL)
        return (struct claim){CLAIM_ALONE, NULL};
    *row = (struct cached_row){.key = key, .state = ROW_PENDING, .n_claims = 1};
    if (cache->n_rows > cache->mask + 1)
        grow_buckets(cache);
    insert(cache, row);
    return (struct claim){CLAIM_OWN, row};
}

static void release_one(struct row_cache *cache, struct cached_row *row)
{
    if (--row->n_claims > 0)
        return;
    if (row->state == ROW_READY) {
        list_append(cache, row);
    } else { /* failed: row_cache_publish has taken it out of its bucket */
        alloc_free(row);
        cache->n_rows--;
    }
}

/* --- for users --- */

void row_cache_claim(struct row_cache *cache, size_t n, const struct noise_node *keys,
                     struct claim *claims)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < n; i++)
        claims[i] = claim_one(cache, keys[i]);
    pthread_mutex_unlock(&cache->lock);
}

char *row_cache_data(const struct claim *claim)
{
    return (char *)(claim->row + 1);
}

void row_cache_publish(struct row_cache *cache, size_t n, struct claim *claims, bool failed)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < n; i++) {
        if (claims[i].kind != CLAIM_OWN)
            continue;
        claims[i].row->state = failed ? ROW_FAILED : ROW_READY;
        claims[i].kind = CLAIM_READY;
        if (failed) {
            take_out(cache, claims[i].row);
            release_one(cache, claims[i].row);
            claims[i] = (struct claim){CLAIM_ALONE, NULL};
        }
    }
    pthread_cond_broadcast(&cache->published);
    pthread_mutex_unlock(&cache->lock);
}

void row_cache_wait(struct row_cache *cache, size_t n, struct claim *claims)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < n; i++) {
        if (claims[i].kind != CLAIM_AWAITED)
            continue;
        struct cached_row *const row = claims[i].row;
        while (row->state == ROW_PENDING)
            pthread_cond_wait(&cache->published, &cache->lock);
        claims[i].kind = CLAIM_READY;
        if (row->state == ROW_FAILED) {
            release_one(cache, row);
            claims[i] = (struct claim){CLAIM_ALONE, NULL};
        }
    }
    pthread_mutex_unlock(&cache->lock);
}

void row_cache_release(struct row_cache *cache, size_t n, const struct claim *claims)
{
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < n; i++)
        if (claims[i].row != NULL)
            release_one(cache, claims[i].row);
    pthread_mutex_unlock(&cache->lock);
}

size_t row_cache_used(const struct row_cache *cache)
{
    return (cache->mask + 1) * sizeof *cache->buckets +
           cache->n_rows * (sizeof(struct cached_row) + cache->data_size);
}
