/* What the workers of sb_draw_all share: draw.c is the pool, draw_worker.c a worker. */
#ifndef DECODE_DRAW_POOL_H
#define DECODE_DRAW_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "decode/row_cache.h"
#include "sbeam/decoder.h"
#include "sbeam/draw.h"

/* An input that has been read and is not done. */
struct reading {
    sb_input input;
    uint64_t left; /* results still to be handed over */
};

struct pending {
    sb_result result;
    struct reading *reading;
    bool ready;
    sb_error error; /* status not SB_OK: the job failed, and the work ends when its turn comes */
};

struct pool {
    const sb_model *model;
    const sb_config *config;
    sb_plan plan;
    const sb_pipe *pipe;
    struct row_cache *cache; /* or NULL */
    uint64_t jobs_per_input;
    int32_t batch;
    int32_t max_rows; /* that a job may ask for at once, or 0 for no limit */
    sb_session_spec session_spec;

    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t room;  /* the ring has moved, or the work is over */
    struct reading *current;
    uint64_t next_of_input; /* the next job of the current input */
    bool at_end;
    struct pending *ring; /* (ring_size): job number j is at j % ring_size */
    uint64_t ring_size, n_taken, n_handed;
    sb_cache_stats cached;
    sb_status status; /* the first failure */
    sb_error error;
};

struct work {
    struct reading *reading;
    uint64_t number;
    sb_job job;
};

/* The next job. Waits for room in the ring only when the caller has nothing else to do. */
bool pool_take(struct pool *pool, bool may_wait, struct work *work);
/* Whether there will be no further job. */
bool pool_is_empty(struct pool *pool);
/* Where the result of a job goes, before it is handed over. */
sb_result *pool_result(struct pool *pool, const struct work *work);
/* Marks a job as ready and hands over what is ready at the head of the ring. */
void pool_hand_over(struct pool *pool, uint64_t number);
/* A job that cannot be done: what was asked before it is still handed over, nothing after. */
void pool_refuse(struct pool *pool, const struct work *work, const sb_error *reason);
/* Ends the work. */
void pool_stop(struct pool *pool, sb_status status, const sb_error *error);
/* Adds up what the caches of the workers did. */
void pool_count_rows(struct pool *pool, uint64_t n_rows, uint64_t n_evaluated, double seconds);

/* Works until there are no more jobs; the argument is the pool. For pthread_create. */
void *draw_worker_run(void *pool);

#endif
