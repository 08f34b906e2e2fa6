/* Draws for many inputs on several threads, and gives the results in one order.
 *
 * A job is one (input, temperature, draw). Each worker has its own session and decoder. Workers
 * take jobs in order and put the results into a ring. The worker that completes the oldest job
 * hands its result, and those after it that are ready, to the sink. The ring bounds the number of
 * pending results, so memory does not grow with the number of inputs. The result of a job does not
 * depend on the worker or on the other jobs of the batch. */
#include "sbeam/draw.h"

#include "base/alloc.h"
#include "base/status.h"
#include "decode/cached_steps.h"
#include "decode/draw_pool.h"
#include "decode/fit.h"
#include "decode/interrupt.h"
#include "decode/method.h"
#include "decode/result.h"

/* --- the pool: its data is used under the lock --- */

static void stop_with(struct pool *pool, sb_status status, const sb_error *error)
{
    if (pool->status == SB_OK) {
        pool->status = status;
        pool->error = *error;
    }
    pthread_cond_broadcast(&pool->room);
}

static void end_reading(struct pool *pool, struct reading *reading)
{
    if (pool->pipe->done != NULL)
        pool->pipe->done(pool->pipe->user, &reading->input);
    alloc_free(reading);
}

/* Calls the caller's flush, if no other input can begin, so that the sink can write its results. */
static void flush_if_dry(struct pool *pool)
{
    if (!pool->is_dry || pool->n_flushed == pool->n_handed || pool->status != SB_OK)
        return;
    pool->n_flushed = pool->n_handed;
    if (pool->pipe->flush == NULL)
        return;
    sb_error error = {SB_ERR_STOPPED, "the sink of results stopped"};
    if (pool->pipe->flush(pool->pipe->user, &error) != 0)
        stop_with(pool, error.status, &error);
}

/* Returns whether the source can be asked. If another worker waits for the source, the source has
 * no input. */
static bool source_is_ready(struct pool *pool)
{
    if (pool->is_waiting)
        return false;
    pool->is_dry = pool->pipe->ready != NULL && !pool->pipe->ready(pool->pipe->user, 0);
    flush_if_dry(pool);
    return !pool->is_dry;
}

/* Makes pool->current an input with jobs left. Returns false at the end, on failure, or if there is
 * no input now. */
static bool read_input(struct pool *pool, bool is_idle)
{
    if (pool->current != NULL && pool->next_of_input < pool->jobs_per_input)
        return true;
    if (pool->at_end || (pool->plan.one_input && !is_idle) || !source_is_ready(pool))
        return false;
    sb_error error = {SB_ERR_STOPPED, "the source of inputs stopped"};
    struct reading *const reading = alloc_zeroed(1, sizeof *reading);
    if (reading == NULL) {
        stop_with(pool, status_no_memory(&error), &error);
        return false;
    }
    const int got = pool->pipe->source(pool->pipe->user, &reading->input, &error);
    if (got != 1) {
        alloc_free(reading);
        pool->current = NULL;
        pool->at_end = pool->is_dry = true;
        if (got != 0)
            stop_with(pool, error.status, &error);
        pthread_cond_broadcast(&pool->room);
        flush_if_dry(pool);
        return false;
    }
    reading->left = pool->jobs_per_input;
    pool->current = reading;
    pool->next_of_input = 0;
    return true;
}

static bool ring_is_full(const struct pool *pool)
{
    return pool->n_taken - pool->n_handed >= pool->ring_size;
}

/* Takes the next job, if there is one now. */
static bool take_job(struct pool *pool, bool is_idle, struct work *work)
{
    if (pool->status != SB_OK || ring_is_full(pool) || !read_input(pool, is_idle))
        return false;
    const uint64_t i = pool->next_of_input++;
    work->reading = pool->current;
    work->number = pool->n_taken++;
    work->n_told = 0;
    work->job.stream = pool->current->input.stream;
    work->job.draw = pool->plan.first_draw + i % pool->plan.n_draws;
    work->job.temperature = pool->plan.temperatures[i / pool->plan.n_draws];
    struct pending *const pending = &pool->ring[work->number % pool->ring_size];
    pending->reading = pool->current;
    pending->ready = false;
    pending->error.status = SB_OK;
    return true;
}

/* Waits until there may be a job. One worker waits for the source. It does not hold the lock, so
 * the others can hand over their results, and ten times a second it checks whether the work has
 * ended. A single worker without an interrupt need not check, because nothing else can end the
 * work. */
static void wait_for_job(struct pool *pool)
{
    enum { TENTH = 100 }; /* of a second, in milliseconds */
    if (ring_is_full(pool) || pool->is_waiting) {
        pthread_cond_wait(&pool->room, &pool->lock);
        return;
    }
    const bool is_alone = pool->plan.threads == 1 && pool->plan.interrupt == NULL;
    pool->is_waiting = true;
    pthread_mutex_unlock(&pool->lock);
    const bool is_ready = pool->pipe->ready(pool->pipe->user, is_alone ? -1 : TENTH);
    pthread_mutex_lock(&pool->lock);
    pool->is_waiting = false;
    if (interrupt_is_raised(pool->plan.interrupt))
        stop_with(pool, SB_ERR_STOPPED, &(sb_error){SB_ERR_STOPPED, "interrupted"});
    if (is_ready)
        pthread_cond_broadcast(&pool->room);
}

bool pool_take(struct pool *pool, bool may_wait, struct work *work)
{
    pthread_mutex_lock(&pool->lock);
    bool taken = take_job(pool, may_wait, work);
    while (!taken && may_wait && pool->status == SB_OK && !pool->at_end) {
        wait_for_job(pool);
        taken = take_job(pool, may_wait, work);
    }
    pthread_mutex_unlock(&pool->lock);
    return taken;
}

bool pool_is_empty(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    const bool has_more = pool->current != NULL && pool->next_of_input < pool->jobs_per_input;
    const bool is_empty = pool->status != SB_OK || (pool->at_end && !has_more);
    pthread_mutex_unlock(&pool->lock);
    return is_empty;
}

void pool_hand_over(struct pool *pool, uint64_t number)
{
    pthread_mutex_lock(&pool->lock);
    pool->ring[number % pool->ring_size].ready = true;
    while (pool->status == SB_OK && pool->n_handed < pool->n_taken) {
        struct pending *const head = &pool->ring[pool->n_handed % pool->ring_size];
        if (!head->ready)
            break;
        if (head->error.status != SB_OK) {
            stop_with(pool, head->error.status, &head->error);
            break;
        }
        sb_error error = {SB_ERR_STOPPED, "the sink of results stopped"};
        if (pool->pipe->sink(pool->pipe->user, &head->reading->input, &head->result, &error) != 0) {
            stop_with(pool, error.status, &error);
            break;
        }
        struct reading *const reading = head->reading;
        head->reading = NULL;
        pool->n_handed++;
        if (--reading->left == 0) {
            if (reading == pool->current)
                pool->current = NULL;
            end_reading(pool, reading);
        }
    }
    flush_if_dry(pool);
    pthread_cond_broadcast(&pool->room);
    pthread_mutex_unlock(&pool->lock);
}

bool pool_tell(struct pool *pool, const struct work *work, int32_t rank,
               const sb_sequence *sequence)
{
    const sb_certain found = {.stream = work->job.stream,
                              .draw = work->job.draw,
                              .temperature = work->job.temperature,
                              .rank = rank,
                              .sequence = *sequence};
    sb_error error = {SB_ERR_STOPPED, "the caller stopped at a sequence"};
    pthread_mutex_lock(&pool->lock);
    if (pool->status == SB_OK &&
        pool->pipe->certain(pool->pipe->user, &work->reading->input, &found, &error) != 0)
        stop_with(pool, error.status, &error);
    const bool goes_on = pool->status == SB_OK;
    pthread_mutex_unlock(&pool->lock);
    return goes_on;
}

void pool_refuse(struct pool *pool, const struct work *work, const sb_error *reason)
{
    pthread_mutex_lock(&pool->lock);
    struct pending *const pending = &pool->ring[work->number % pool->ring_size];
    const unsigned long long stream = (unsigned long long)work->reading->input.stream;
    if (reason->message[0] != '\0')
        status_fail(&pending->error, reason->status, "input %llu: %s", stream, reason->message);
    else
        status_fail(&pending->error, reason->status,
                    "input %llu: the model failed without a message", stream);
    pool->at_end = true;
    pool->next_of_input = pool->jobs_per_input;
    pthread_mutex_unlock(&pool->lock);
    pool_hand_over(pool, work->number);
}

sb_result *pool_result(struct pool *pool, const struct work *work)
{
    return &pool->ring[work->number % pool->ring_size].result;
}

void pool_stop(struct pool *pool, sb_status status, const sb_error *error)
{
    pthread_mutex_lock(&pool->lock);
    stop_with(pool, status, error);
    pthread_mutex_unlock(&pool->lock);
}

void pool_count_rows(struct pool *pool, uint64_t n_rows, uint64_t n_evaluated, double seconds)
{
    pthread_mutex_lock(&pool->lock);
    pool->cached.rows += n_rows;
    pool->cached.evaluated += n_evaluated;
    pool->cached.seconds += seconds;
    pthread_mutex_unlock(&pool->lock);
}

/* --- the public calls --- */

/* Sets the batch to that of the plan, or lower if there are never that many jobs at once or if the
 * model has too few rows. If possible, each job leaves one row unused, for what the model keeps of
 * its input, such as a prompt. */
static void choose_batch(struct pool *pool)
{
    const int64_t limit = sb_model_get_info(pool->model)->max_rows;
    const int64_t needed = method_needed_rows(pool->config);
    pool->batch = pool->plan.batch;
    if (pool->plan.one_input && pool->jobs_per_input < (uint64_t)pool->batch)
        pool->batch = (int32_t)pool->jobs_per_input;
    if (limit == 0)
        return;
    if (limit / pool->batch < needed + 1)
        pool->batch = limit > needed ? (int32_t)(limit / (needed + 1)) : 1;
    pool->max_rows = (int32_t)(limit / pool->batch);
    if (pool->max_rows > needed)
        pool->max_rows--;
}

/* Returns the size of the work of a worker's session. */
static sb_session_spec make_session_spec(const struct pool *pool)
{
    const sb_config *const config = pool->config;
    const sb_model_info *const info = sb_model_get_info(pool->model);
    const bool is_bounded = method_get(config->method)->row_use == ROWS_BOUNDED;
    const int64_t rows = pool->batch * (is_bounded ? method_needed_rows(config) : pool->max_rows);
    const int64_t states =
        rows +
        (config->search == SB_SEARCH_BEST_FIRST ? pool->batch * ((int64_t)config->k + 1) : 0);
    const bool is_shorter = info->max_len > 0 && info->max_len < config->max_len;
    return (sb_session_spec){
        .max_inputs = pool->batch,
        .max_rows = states < INT32_MAX ? (int32_t)rows : 0,
        .max_states = states < INT32_MAX ? (int32_t)states : 0,
        .max_len = is_shorter ? info->max_len : config->max_len,
        .threads = info->has_threads ? pool->plan.threads : 1,
    };
}

/* Opens the cache, if the plan has one. It needs a session, to learn the size of a state. */
static sb_status open_cache(struct pool *pool, sb_error *err)
{
    if (pool->plan.cache_size == 0)
        return SB_OK;
    sb_session *session;
    sb_status status =
        sb_session_open(&session, pool->model, &(sb_session_spec){.max_inputs = 1}, err);
    if (status != SB_OK)
        return status;
    status = row_cache_open(&pool->cache, pool->plan.cache_size,
                            cached_steps_data_size(pool->model, session), err);
    sb_session_close(session);
    return status;
}

static void close_pool(struct pool *pool)
{
    for (uint64_t i = 0; pool->ring != NULL && i < pool->ring_size; i++)
        result_release(&pool->ring[i].result);
    alloc_free(pool->ring);
    alloc_free(pool->threads);
    row_cache_close(pool->cache);
    pthread_cond_destroy(&pool->room);
    pthread_mutex_destroy(&pool->lock);
}

static sb_status open_pool(struct pool *pool, sb_error *err)
{
    pool->jobs_per_input = pool->plan.n_draws * pool->plan.n_temperatures;
    choose_batch(pool);
    pool->session_spec = make_session_spec(pool);
    if (sb_model_get_info(pool->model)->has_threads)
        pool->plan.threads = 1; /* the session of the only worker gets them */
    pool->ring_size = 4 * (uint64_t)pool->plan.threads * (uint64_t)pool->batch;
    pool->ring = alloc_zeroed(pool->ring_size, sizeof *pool->ring);
    pool->threads = alloc_array((size_t)pool->plan.threads, sizeof *pool->threads);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->room, NULL);
    const bool has_room = pool->ring != NULL && pool->threads != NULL;
    const sb_status status = has_room ? open_cache(pool, err) : status_no_memory(err);
    if (status != SB_OK)
        close_pool(pool);
    return status;
}

static void run_workers(struct pool *pool)
{
    /* If a thread cannot be made, the others do its work. */
    int32_t n = 0;
    while (n < pool->plan.threads - 1 &&
           pthread_create(&pool->threads[n], NULL, draw_worker_run, pool) == 0)
        n++;
    draw_worker_run(pool);
    while (n > 0)
        pthread_join(pool->threads[--n], NULL);
}

/* Calls `done` for the inputs that were read but not finished because the work was stopped. */
static void end_readings(struct pool *pool)
{
    struct reading *last = NULL;
    for (uint64_t j = pool->n_handed; j < pool->n_taken; j++) {
        struct reading *const reading = pool->ring[j % pool->ring_size].reading;
        if (reading != last) {
            if (reading == pool->current)
                pool->current = NULL;
            end_reading(pool, reading);
        }
        last = reading;
    }
    if (pool->current != NULL && pool->current != last)
        end_reading(pool, pool->current);
}

sb_status sb_draw_all(const sb_model *model, const sb_config *config, const sb_plan *plan,
                      const sb_pipe *pipe, sb_error *err)
{
    if (model == NULL || config == NULL || plan == NULL || pipe == NULL || pipe->source == NULL ||
        pipe->sink == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_draw_all: model, config, plan, source or sink is NULL");
    sb_config chosen = *config;
    struct pool pool = {.model = model, .config = &chosen, .plan = *plan, .pipe = pipe};
    if (plan->temperatures == NULL) {
        pool.plan.temperatures = &config->temperature;
        pool.plan.n_temperatures = 1;
    }
    sb_status status = sb_config_check(config, err);
    if (status == SB_OK)
        status = sb_plan_check(plan, err);
    if (status == SB_OK)
        status = fit_to_model(&chosen, model, err);
    if (status == SB_OK && plan->cache_size > 0 && !sb_model_has_states(model))
        status = status_fail(err, SB_ERR_ARGUMENT,
                             "a cache needs a model that can save the state of a row; a model of "
                             "kind '%s' cannot",
                             sb_model_get_info(model)->kind);
    if (status == SB_OK)
        status = open_pool(&pool, err);
    if (status != SB_OK)
        return status;
    run_workers(&pool);
    end_readings(&pool);
    if (pool.cache != NULL)
        pool.cached.used = row_cache_used(pool.cache);
    if (plan->cache_stats != NULL)
        *plan->cache_stats = pool.cached;
    close_pool(&pool);
    if (pool.status != SB_OK)
        return status_fail(err, pool.status, "%s", pool.error.message);
    return SB_OK;
}
