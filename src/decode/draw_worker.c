/* A worker: takes jobs from the pool and advances up to `batch` of them together, step by step. */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "decode/cached_steps.h"
#include "decode/draw_pool.h"
#include "decode/interrupt.h"
#include "decode/loop.h"

/* Maximum number of bytes of scores that a worker asks for at once, unless a single row has more.
 * It is enough for fast matrix products: 512 rows of 32,000 floats. */
enum { MOST_SCORE_BYTES = 1 << 26 };

static atomic_int rows_in_tests;

void draw_worker_limit_rows(int32_t n)
{
    atomic_store(&rows_in_tests, n);
}

struct worker {
    struct pool *pool;
    sb_session *session;
    sb_decoder *decoder;
    struct work *work;  /* (batch) the job of each slot; if its reading is NULL, the slot is free */
    struct work *first; /* (batch) the first jobs */
    int32_t n_active;
    void *rows;                 /* (n_room, vocab_size) */
    size_t n_room;              /* rows */
    size_t most_rows;           /* maximum number of rows that are asked for at once */
    const int32_t *to;          /* (n_rows) the states of the rows of the last step */
    struct cached_steps cached; /* used if the pool has a cache */
};

static bool is_leaf(void *user, int32_t row, int32_t token)
{
    const struct worker *const worker = user;
    return sb_session_is_leaf(worker->session, worker->to[row], token);
}

static int is_stop(void *user, const int32_t *tokens, int32_t n_tokens)
{
    const struct worker *const worker = user;
    const sb_config *const config = worker->pool->config;
    char *text;
    if (sb_model_decode(worker->pool->model, tokens, n_tokens, &text, NULL) != SB_OK)
        return -1;
    int found = 0;
    for (size_t i = 0; i < config->n_stop && !found; i++)
        found = strstr(text, config->stop[i]) != NULL;
    sb_free(text);
    return found;
}

/* Returns how many of the last tokens is_stop must look at, or 0 for all. A token has at least one
 * byte of text, and earlier steps have checked the text before the last token, so as many tokens
 * as the longest stop string has bytes, and one more, are enough. But if the model has its own
 * text, a token may have no bytes or may change the text before it; then all tokens are needed. */
static int32_t stop_window(const sb_model *model, const sb_config *config)
{
    if (sb_model_has_own_text(model))
        return 0;
    size_t longest = 0;
    for (size_t i = 0; i < config->n_stop; i++)
        if (strlen(config->stop[i]) > longest)
            longest = strlen(config->stop[i]);
    return longest < INT32_MAX / 2 ? (int32_t)longest + 1 : 0;
}

static size_t score_size(const sb_model_info *info)
{
    return info->row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
}

/* Returns the maximum number of rows that are asked for at once. The number is a function of the
 * model, so that a draw does not depend on the batch, the threads or the other draws. */
static size_t count_rows(const sb_model_info *info)
{
    const size_t in_tests = (size_t)atomic_load(&rows_in_tests);
    const size_t n = MOST_SCORE_BYTES / ((size_t)info->vocab_size * score_size(info));
    return in_tests > 0 ? in_tests : n > 0 ? n : 1;
}

/* Opens the decoder, which refuses bad settings before the source is asked for an input. */
static sb_status open_decoder(struct worker *worker, sb_error *err)
{
    const struct pool *const pool = worker->pool;
    const sb_model_info *const info = sb_model_get_info(pool->model);
    const sb_decoder_spec spec = {
        .vocab_size = info->vocab_size,
        .eos = info->eos,
        .row_type = info->row_type,
        .max_slots = pool->batch,
        .max_rows = pool->max_rows,
        .stop_window = stop_window(pool->model, pool->config),
        .user = worker,
        .is_leaf = sb_model_has_leaves(pool->model) ? is_leaf : NULL,
        .is_stop = pool->config->n_stop > 0 ? is_stop : NULL,
    };
    sb_config config = *pool->config;
    config.max_len = pool->session_spec.max_len;
    worker->work = alloc_zeroed((size_t)pool->batch, sizeof *worker->work);
    worker->first = alloc_array((size_t)pool->batch, sizeof *worker->first);
    if (worker->work == NULL || worker->first == NULL)
        return status_no_memory(err);
    const sb_status status = sb_decoder_open(&worker->decoder, &spec, &config, err);
    worker->most_rows = count_rows(info);
    if (status == SB_OK)
        loop_serve_session(worker->decoder, worker->most_rows);
    return status;
}

/* Opens the session after the first jobs have been taken. A model makes room for the numbers in the
 * spec. So if there are no other jobs, the spec gets the numbers for these jobs, not for a whole
 * batch. */
static sb_status open_session(struct worker *worker, int32_t n_first, sb_error *err)
{
    struct pool *const pool = worker->pool;
    sb_session_spec spec = pool->session_spec;
    if (pool_is_empty(pool)) {
        spec.max_rows = spec.max_states = spec.max_rows / pool->batch * n_first;
        spec.max_inputs = n_first;
    }
    if ((size_t)spec.max_rows > worker->most_rows)
        spec.max_rows = (int32_t)worker->most_rows;
    sb_status status = sb_session_open(&worker->session, pool->model, &spec, err);
    if (status == SB_OK && pool->cache != NULL)
        status = cached_steps_open(&worker->cached, pool->cache, pool->model, worker->session,
                                   pool->batch, worker->most_rows, err);
    return status;
}

static void close_worker(struct worker *worker)
{
    sb_decoder_close(worker->decoder);
    cached_steps_close(&worker->cached);
    sb_session_close(worker->session);
    alloc_free(worker->work);
    alloc_free(worker->first);
    alloc_free(worker->rows);
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
        status = sb_decoder_add(worker->decoder, &work->job, &slot, err);
    if (status != SB_OK)
        return status;
    sb_error reason = {SB_OK, ""};
    status = sb_session_begin(worker->session, slot, input->text, input->size, &reason);
    if (status == SB_OK) {
        if (worker->pool->cache != NULL)
            cached_steps_begin(&worker->cached, slot, input->text, input->size);
        worker->work[slot] = *work;
        worker->n_active++;
        return SB_OK;
    }
    reason.status = status;
    pool_refuse(worker->pool, work, &reason);
    return sb_decoder_cancel(worker->decoder, slot, err);
}

/* Makes room for n rows, of which there are at most most_rows. Returns false if memory is short. */
static bool reserve_rows(struct worker *worker, size_t n)
{
    if (n <= worker->n_room)
        return true;
    const sb_model_info *const info = sb_model_get_info(worker->pool->model);
    const size_t doubled = 2 * worker->n_room < worker->most_rows ? 2 * worker->n_room : n;
    const size_t n_room = doubled > n ? doubled : n;
    alloc_free(worker->rows);
    worker->n_room = 0;
    worker->rows = alloc_array(n_room, (size_t)info->vocab_size * score_size(info));
    if (worker->rows == NULL)
        return false;
    worker->n_room = n_room;
    return true;
}

/* Computes the rows that the search asks for. */
static sb_status compute_rows(struct worker *worker, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(worker->pool->model);
    const int32_t *from, *token, *input;
    const int32_t n = sb_decoder_rows(worker->decoder, NULL, &token, &input);
    if (!reserve_rows(worker, (size_t)n))
        return status_fail(err, SB_ERR_MEMORY, "not enough memory for %d rows of %d scores", n,
                           info->vocab_size);
    if (loop_number_states(worker->decoder, &from, &worker->to) != SB_OK)
        return status_no_memory(err);
    struct states *const states = &worker->decoder->states;
    const int32_t n_released = (int32_t)states->n_released;
    states->n_released = 0;
    if (worker->pool->cache != NULL) /* it keeps the states itself */
        return cached_steps_take(&worker->cached, n, from, worker->to, token, input, worker->rows,
                                 err);
    const sb_status status = sb_session_release(worker->session, n_released, states->released, err);
    return status == SB_OK ? sb_session_step(worker->session, n, from, worker->to, token, input,
                                             worker->rows, err)
                           : status;
}

/* Makes one step of the model and of the search. */
static sb_status step(struct worker *worker, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(worker->pool->model);
    sb_status status = compute_rows(worker, err);
    if (status != SB_OK)
        return status;
    status = sb_decoder_advance(worker->decoder, worker->rows, (size_t)info->vocab_size, err);
    /* These concern single slots, whose errors sb_decoder_take returns. */
    return status == SB_ERR_MODEL || status == SB_ERR_LIMIT ? SB_OK : status;
}

/* Hands over the results and errors of the slots that have finished. */
static void collect(struct worker *worker)
{
    struct pool *const pool = worker->pool;
    int32_t slot;
    while ((slot = sb_decoder_finished(worker->decoder)) >= 0) {
        const struct work work = worker->work[slot];
        sb_error reason = {SB_OK, ""};
        sb_result *const result = pool_result(pool, &work);
        worker->work[slot].reading = NULL;
        worker->n_active--;
        if (sb_decoder_take(worker->decoder, slot, result, &reason) == SB_OK)
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
    sb_status status = open_decoder(worker, err);
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
        const sb_status stepped = step(worker, &reason);
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
    pool_count_rows(worker.pool, worker.cached.n_rows, worker.cached.n_evaluated,
                    worker.cached.seconds);
    close_worker(&worker);
    if (status != SB_OK)
        pool_stop(worker.pool, status, &error);
    return NULL;
}
