/* The data that the workers of sb_draw_all share. draw.c is the pool, draw_worker.c is a worker. */
#ifndef DECODE_DRAW_POOL_H
#define DECODE_DRAW_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "decode/row_cache.h"
#include "sbeam/decoder.h"
#include "sbeam/draw.h"

/* An input that was read and for which `done` has not been called. */
struct reading {
    sb_input input;
    uint64_t left; /* results that the sink has not taken yet */
};

/* The result of a job, from the taking of the job until the sink has taken the result. */
struct pending {
    sb_result result;
    struct reading *reading;
    bool ready;
    sb_error error; /* if status is not SB_OK, the job failed; the work ends when its turn comes */
};

struct pool {
    const sb_model *model;
    const sb_config *config;
    sb_plan plan;
    const sb_pipe *pipe;
    struct row_cache *cache; /* or NULL */
    uint64_t jobs_per_input;
    int32_t batch;
    int32_t max_rows; /* maximum number of rows of a job at once, or 0: no limit */
    sb_session_spec session_spec;
    pthread_t *threads; /* (plan.threads); the thread of the caller works, too, and has no entry */

    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t room;  /* signals that the ring has moved, that the source may have an input, or
                           * that the work has ended */
    struct reading *current;
    uint64_t next_of_input; /* number of its next job */
    bool at_end;
    bool is_waiting;      /* a worker waits for the source, without the lock */
    bool is_dry;          /* the source had no input when it was last asked */
    struct pending *ring; /* (ring_size) job number j is at index j % ring_size */
    uint64_t ring_size, n_taken, n_handed;
    uint64_t n_flushed; /* number of results that were handed over before the last flush */
    sb_cache_stats cached;
    sb_status status; /* the first failure */
    sb_error error;
};

/* A job that a worker has taken. */
struct work {
    struct reading *reading;
    uint64_t number; /* of the job, in the order of the results */
    sb_job job;
    int32_t n_told; /* sequences that the caller was told of */
};

/* Takes the next job. Returns false if there is none now, the work has ended, or the ring is full.
 * With may_wait it waits for an input and for room in the ring, and returns false only if the work
 * has ended. Only a worker that has nothing else to do may wait. */
bool pool_take(struct pool *pool, bool may_wait, struct work *work);
/* Returns whether there are no more jobs. */
bool pool_is_empty(struct pool *pool);
/* Returns where the worker puts the result of a job, before it calls pool_hand_over. */
sb_result *pool_result(struct pool *pool, const struct work *work);
/* Marks a job as ready, then hands to the sink all results that are ready at the head of the ring.
 */
void pool_hand_over(struct pool *pool, uint64_t number);
/* Tells the caller of a sequence that is certain. Returns false if the work has ended. */
bool pool_tell(struct pool *pool, const struct work *work, int32_t rank,
               const sb_sequence *sequence);
/* Marks a job as failed. The sink still gets the results of all jobs before it, but none after it.
 */
void pool_refuse(struct pool *pool, const struct work *work, const sb_error *reason);
/* Ends the work at once; the first error is the one that is returned. */
void pool_stop(struct pool *pool, sb_status status, const sb_error *error);
/* Adds a worker's use of the cache to the statistics. */
void pool_count_rows(struct pool *pool, uint64_t n_rows, uint64_t n_evaluated, double seconds);

/* Runs a worker until there are no more jobs. The argument is the pool. For pthread_create. */
void *draw_worker_run(void *pool);

#endif
