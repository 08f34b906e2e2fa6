/* A worker: takes jobs from the pool and advances up to `batch` of them together, step by step. */
#include "base/alloc.h"
#include "base/status.h"
#include "decode/draw_pool.h"
#include "decode/interrupt.h"
#include "decode/stepper.h"

struct worker {
    struct pool *pool;
    struct stepper stepper;
    struct work *work;  /* (batch) the job of each slot; if its reading is NULL, the slot is free */
    struct work *first; /* (batch) the first jobs */
    int32_t n_active;
};

/* Opens the decoder, which refuses bad settings before the source is asked for an input. */
static sb_status open_worker(struct worker *worker, sb_error *err)
{
    const struct pool *const pool = worker->pool;
    worker->work = alloc_zeroed((size_t)pool->batch, sizeof *worker->work);
    worker->first = alloc_array((size_t)pool->batch, sizeof *worker->first);
    if (worker->work == NULL || worker->first == NULL)
        return status_no_memory(err);
    return stepper_open(&worker->stepper, pool->model, pool->config, pool->batch, pool->max_rows,
                        err);
}

/* Opens the session after the first jobs have been taken. A model makes room for the numbers in the
 * spec. So if there are no other jobs, the spec gets the numbers for these jobs, not for a whole
 * batch. */
static sb_status open_session(struct worker *worker, int32_t n_first, sb_error *err)
{
    struct pool *const pool = worker->pool;
    sb_session_spec spec = pool->session_spec;
    if (pool_is_empty(pool)) {
        spec.max_rows = spec.max_rows / pool->batch * n_first;
        spec.max_states = spec.max_states / pool->batch * n_first;
        spec.max_inputs = n_first;
    }
    return stepper_open_session(&worker->stepper, &spec, pool->cache, err);
}

static void close_worker(struct worker *worker)
{
    stepper_close(&worker->stepper);
    alloc_free(worker->work);
    alloc_free(worker->first);
}

static sb_status check_interrupt(const struct pool *pool, sb_error *err)
{
    if (!interrupt_is_raised(pool->plan.interrupt))
        return SB_OK;
    return status_fail(err, SB_ERR_STOPPED, "interrupted");
}

/* Starts a job in a slot. Checks the interrupt before, because encoding a source may take long. */
static sb_status begin(struct worker *worker, const struct work *work, sb_error *err)
{
    const sb_input *const input = &work->reading->input;
    int32_t slot;
    sb_status status = check_interrupt(worker->pool, err);
    if (status == SB_OK)
        status = sb_decoder_add(worker->stepper.decoder, &work->job, &slot, err);
    if (status != SB_OK)
        return status;
    sb_error reason = {SB_OK, ""};
    status = stepper_begin(&worker->stepper, slot, input->text, input->size, &reason);
    if (status == SB_OK) {
        worker->work[slot] = *work;
        worker->n_active++;
        return SB_OK;
    }
    reason.status = status;
    pool_refuse(worker->pool, work, &reason);
    return sb_decoder_cancel(worker->stepper.decoder, slot, err);
}

/* Tells the caller of the sequences that have become certain. Returns false if memory is short. */
static bool tell(struct worker *worker)
{
    struct pool *const pool = worker->pool;
    for (int32_t slot = 0; pool->pipe->certain != NULL && slot < pool->batch; slot++) {
        struct work *const work = &worker->work[slot];
        sb_sequence sequence;
        int found = 0;
        while (work->reading != NULL &&
               (found = sb_decoder_certain(worker->stepper.decoder, slot, work->n_told,
                                           &sequence)) == 1 &&
               pool_tell(pool, work, work->n_told, &sequence))
            work->n_told++;
        if (found < 0)
            return false;
    }
    return true;
}

/* Hands over the results and errors of the slots that have finished. */
static void collect(struct worker *worker)
{
    struct pool *const pool = worker->pool;
    int32_t slot;
    while ((slot = sb_decoder_finished(worker->stepper.decoder)) >= 0) {
        const struct work work = worker->work[slot];
        sb_error reason = {SB_OK, ""};
        sb_result *const result = pool_result(pool, &work);
        worker->work[slot].reading = NULL;
        worker->n_active--;
        if (sb_decoder_take(worker->stepper.decoder, slot, result, &reason) == SB_OK)
            pool_hand_over(pool, work.number);
        else
            pool_refuse(pool, &work, &reason);
    }
}

/* Marks all jobs of this worker as failed, after a step failed as a whole. */
static void refuse_all(struct worker *worker, const sb_error *reason)
{
    for (int32_t slot = 0; slot < worker->pool->batch; slot++)
        if (worker->work[slot].reading != NULL)
            pool_refuse(worker->pool, &worker->work[slot], reason);
}

/* Works until there are no more jobs. Returns an interrupt and the errors that occur before a job
 * begins; later errors belong to the job. A thread that waits for room in the ring, or for a row of
 * the cache, waits for a worker that is within a step. A worker completes its step even if it is
 * interrupted, so an interrupt leaves no thread waiting. */
static sb_status work_on(struct worker *worker, sb_error *err)
{
    struct pool *const pool = worker->pool;
    int32_t n_first = 0;
    sb_status status = open_worker(worker, err);
    while (status == SB_OK && n_first < pool->batch &&
           pool_take(pool, n_first == 0, &worker->first[n_first]))
        n_first++;
    if (n_first == 0)
        return status;
    status = open_session(worker, n_first, err);
    for (int32_t i = 0; i < n_first && status == SB_OK; i++)
        status = begin(worker, &worker->first[i], err);
    while (status == SB_OK) {
        struct work work;
        while (status == SB_OK && worker->n_active < pool->batch &&
               pool_take(pool, worker->n_active == 0, &work))
            status = begin(worker, &work, err);
        if (status == SB_OK && worker->n_active > 0)
            status = check_interrupt(pool, err);
        if (status != SB_OK || worker->n_active == 0)
            break;
        sb_error reason = {SB_OK, ""};
        sb_status stepped = stepper_step(&worker->stepper, &reason);
        if (stepped == SB_OK && !tell(worker))
            stepped = status_no_memory(&reason);
        if (stepped != SB_OK) {
            reason.status = stepped;
            refuse_all(worker, &reason);
            break;
        }
        collect(worker);
    }
    return status;
}

void *draw_worker_run(void *argument)
{
    struct worker worker = {.pool = argument};
    sb_error error = {SB_OK, ""};
    const sb_status status = work_on(&worker, &error);
    pool_count_rows(worker.pool, worker.stepper.cached.n_rows, worker.stepper.cached.n_evaluated,
                    worker.stepper.cached.seconds);
    close_worker(&worker);
    if (status != SB_OK)
        pool_stop(worker.pool, status, &error);
    return NULL;
}
