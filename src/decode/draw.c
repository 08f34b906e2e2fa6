/* Many inputs, several threads, one order.
 *
 * A job is one (input, temperature, draw). Workers, each with a session and a decoder of its own,
 * take jobs in order and put their results into a ring; whoever completes the oldest one hands it
 * and its ready successors to the sink. The ring bounds what is pending, so nothing grows with the
 * number of inputs. What a job gives does not depend on who does it or beside which others. */
#include "sbeam/draw.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "decode/decode.h"

enum { MOST_THREADS = 1024, MOST_BATCH = 4096 };

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
    uint64_t jobs_per_input;
    int32_t batch;

    pthread_mutex_t lock; /* guards all that follows */
    pthread_cond_t room;  /* the ring has moved, or the work is over */
    struct reading *current;
    uint64_t next_of_input; /* the next job of the current input */
    bool at_end;
    struct pending *ring; /* (ring_size): job number j is at j % ring_size */
    uint64_t ring_size, n_taken, n_handed;
    sb_status status; /* the first failure */
    sb_error error;
};

struct work {
    struct reading *reading;
    uint64_t number;
    sb_job job;
};

/* --- the shared half: under the lock --- */

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

/* Makes pool->current an input with jobs left; false at the end or on failure. */
static bool read_input(struct pool *pool)
{
    if (pool->current != NULL && pool->next_of_input < pool->jobs_per_input)
        return true;
    if (pool->at_end)
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
        pool->at_end = true;
        if (got != 0)
            stop_with(pool, error.status, &error);
        pthread_cond_broadcast(&pool->room);
        return false;
    }
    reading->left = pool->jobs_per_input;
    pool->current = reading;
    pool->next_of_input = 0;
    return true;
}

/* The next job. Waits for room in the ring only when the caller has nothing else to do. */
static bool take_work(struct pool *pool, bool may_wait, struct work *work)
{
    pthread_mutex_lock(&pool->lock);
    while (may_wait && pool->status == SB_OK && !pool->at_end &&
           pool->n_taken - pool->n_handed >= pool->ring_size)
        pthread_cond_wait(&pool->room, &pool->lock);
    const bool taken = pool->status == SB_OK && pool->n_taken - pool->n_handed < pool->ring_size &&
                       read_input(pool);
    if (taken) {
        const uint64_t i = pool->next_of_input++;
        work->reading = pool->current;
        work->number = pool->n_taken++;
        work->job.stream = pool->current->input.stream;
        work->job.draw = pool->plan.first_draw + i % pool->plan.n_draws;
        work->job.temperature = pool->plan.temperatures[i / pool->plan.n_draws];
        struct pending *const pending = &pool->ring[work->number % pool->ring_size];
        pending->reading = pool->current;
        pending->ready = false;
        pending->error.status = SB_OK;
    }
    pthread_mutex_unlock(&pool->lock);
    return taken;
}

/* Marks a job as ready and hands over what is ready at the head of the ring. */
static void hand_over(struct pool *pool, uint64_t number)
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
    pthread_cond_broadcast(&pool->room);
    pthread_mutex_unlock(&pool->lock);
}

/* A job that cannot be done: what was asked before it is still handed over, nothing after. */
static void refuse_job(struct pool *pool, const struct work *work, const sb_error *reason)
{
    pthread_mutex_lock(&pool->lock);
    struct pending *const pending = &pool->ring[work->number % pool->ring_size];
    const unsigned long long stream = (unsigned long long)work->reading->input.stream;
    if (reason->message[0] != '\0')
        status_fail(&pending->error, reason->status, "input %llu: %s", stream, reason->message);
    else
        status_fail(&pending->error, reason->status, "input %llu: the model failed without a word",
                    stream);
    pool->at_end = true;
    pool->next_of_input = pool->jobs_per_input;
    pthread_mutex_unlock(&pool->lock);
    hand_over(pool, work->number);
}

/* --- a worker --- */

struct worker {
    struct pool *pool;
    sb_session *session;
    sb_decoder *decoder;
    struct work *work; /* (batch) by slot; no reading: the slot is free */
    int32_t n_active;
    void *rows;
    size_t rows_size; /* bytes */
};

static bool is_leaf(void *user, int32_t row, int32_t token)
{
    const struct worker *const worker = user;
    return sb_session_is_leaf(worker->session, row, token);
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

/* Text before these last tokens was looked at in earlier steps: a token has at least one byte. That
 * of a model with a way of its own may have none, or change with what is before it; then all is
 * looked at. */
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

static sb_status open_worker(struct worker *worker, sb_error *err)
{
    const struct pool *const pool = worker->pool;
    const sb_model_info *const info = sb_model_get_info(pool->model);
    const sb_decoder_spec spec = {
        .vocab_size = info->vocab_size,
        .eos = info->eos,
        .row_type = info->row_type,
        .max_slots = pool->batch,
        .max_rows = info->max_rows / pool->batch,
        .stop_window = stop_window(pool->model, pool->config),
        .user = worker,
        .is_leaf = sb_model_has_leaves(pool->model) ? is_leaf : NULL,
        .is_stop = pool->config->n_stop > 0 ? is_stop : NULL,
    };
    sb_config config = *pool->config;
    if (info->max_len > 0 && config.max_len > info->max_len)
        config.max_len = info->max_len;
    worker->work = alloc_zeroed((size_t)pool->batch, sizeof *worker->work);
    if (worker->work == NULL)
        return status_no_memory(err);
    const sb_status status = sb_session_open(&worker->session, pool->model, pool->batch, err);
    return status != SB_OK ? status : sb_decoder_open(&worker->decoder, &spec, &config, err);
}

static void close_worker(struct worker *worker)
{
    sb_decoder_close(worker->decoder);
    sb_session_close(worker->session);
    alloc_free(worker->work);
    alloc_free(worker->rows);
}

/* Starts a job in a slot. */
static sb_status begin(struct worker *worker, const struct work *work, sb_error *err)
{
    const sb_input *const input = &work->reading->input;
    int32_t slot;
    sb_status status = sb_decoder_add(worker->decoder, &work->job, &slot, err);
    if (status != SB_OK)
        return status;
    sb_error reason = {SB_OK, ""};
    status = sb_session_begin(worker->session, slot, input->text, input->size, &reason);
    if (status == SB_OK) {
        worker->work[slot] = *work;
        worker->n_active++;
        return SB_OK;
    }
    reason.status = status;
    refuse_job(worker->pool, work, &reason);
    return sb_decoder_cancel(worker->decoder, slot, err);
}

/* One step of the model and of the search. */
static sb_status step(struct worker *worker, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(worker->pool->model);
    const size_t element = info->row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
    const int32_t *parent, *token, *input;
    const int32_t n = sb_decoder_rows(worker->decoder, &parent, &token, &input);
    if (alloc_reserve(&worker->rows, &worker->rows_size,
                      (size_t)n * (size_t)info->vocab_size * element, 1) != SB_OK)
        return status_fail(err, SB_ERR_MEMORY, "not enough memory for %d rows of %d scores", n,
                           info->vocab_size);
    sb_status status = sb_session_step(worker->session, n, parent, token, input, worker->rows, err);
    if (status != SB_OK)
        return status;
    status = sb_decoder_advance(worker->decoder, worker->rows, (size_t)info->vocab_size, err);
    /* These concern single slots, which say so when they are taken. */
    return status == SB_ERR_MODEL || status == SB_ERR_LIMIT ? SB_OK : status;
}

/* Hands over the results, and the errors, of the slots that have finished. */
static void collect(struct worker *worker)
{
    struct pool *const pool = worker->pool;
    int32_t slot;
    while ((slot = sb_decoder_finished(worker->decoder)) >= 0) {
        const struct work work = worker->work[slot];
        sb_error reason = {SB_OK, ""};
        sb_result *const result = &pool->ring[work.number % pool->ring_size].result;
        worker->work[slot].reading = NULL;
        worker->n_active--;
        if (sb_decoder_take(worker->decoder, slot, result, &reason) == SB_OK)
            hand_over(pool, work.number);
        else
            refuse_job(pool, &work, &reason);
    }
}

/* The step as a whole failed, and with it all jobs of this worker: the first of them will tell. */
static void refuse_all(struct worker *worker, const sb_error *reason)
{
    for (int32_t slot = 0; slot < worker->pool->batch; slot++)
        if (worker->work[slot].reading != NULL)
            refuse_job(worker->pool, &worker->work[slot], reason);
}

/* Works until there are no more jobs. What fails before a job is begun is returned; after that it
 * belongs to the job. */
static sb_status work_on(struct worker *worker, sb_error *err)
{
    struct pool *const pool = worker->pool;
    sb_status status = open_worker(worker, err);
    while (status == SB_OK) {
        struct work work;
        while (status == SB_OK && worker->n_active < pool->batch &&
               take_work(pool, worker->n_active == 0, &work))
            status = begin(worker, &work, err);
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

static void *run_worker(void *argument)
{
    struct worker worker = {.pool = argument};
    sb_error error = {SB_OK, ""};
    const sb_status status = work_on(&worker, &error);
    close_worker(&worker);
    if (status != SB_OK) {
        pthread_mutex_lock(&worker.pool->lock);
        stop_with(worker.pool, status, &error);
        pthread_mutex_unlock(&worker.pool->lock);
    }
    return NULL;
}

/* --- the public calls --- */

void sb_plan_default(sb_plan *plan)
{
    *plan = (sb_plan){.n_draws = 1, .threads = 1, .batch = 16};
}

/* Most rows that one job asks for at once; reject keeps to what there is. */
static int64_t rows_of_job(const sb_config *config)
{
    return (int64_t)config->k + (config->method == SB_METHOD_SBS && config->kappa ? 1 : 0);
}

static sb_status check_plan(const sb_model *model, const sb_config *config, struct pool *pool,
                            sb_error *err)
{
    const sb_plan *const plan = &pool->plan;
    if (plan->threads < 1 || plan->threads > MOST_THREADS)
        return status_fail(err, SB_ERR_ARGUMENT, "threads is %d; expected 1 to %d", plan->threads,
                           MOST_THREADS);
    if (plan->batch < 1 || plan->batch > MOST_BATCH)
        return status_fail(err, SB_ERR_ARGUMENT, "batch is %d; expected 1 to %d", plan->batch,
                           MOST_BATCH);
    if (plan->n_temperatures < 1)
        return status_fail(err, SB_ERR_ARGUMENT, "the list of temperatures is empty");
    for (size_t i = 0; i < plan->n_temperatures; i++) {
        const sb_status status = config_check_temperature(plan->temperatures[i], err);
        if (status != SB_OK)
            return status;
    }
    if (plan->n_draws < 1 || plan->n_draws > UINT64_MAX / plan->n_temperatures ||
        plan->n_draws - 1 > UINT64_MAX - plan->first_draw)
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "draws is %llu from %llu on; expected at least 1, and numbers below 2^64",
            (unsigned long long)plan->n_draws, (unsigned long long)plan->first_draw);
    if (config->n_stop > 0 && sb_model_token_text(model, 0) == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "stop strings need text, and the tokens of this model have none");
    const sb_model_info *const info = sb_model_get_info(model);
    if (info->max_len > 0 && config->min_len > info->max_len)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "min-len is %d, but the model gives sequences of at most %d tokens",
                           config->min_len, info->max_len);
    pool->batch = plan->batch;
    if (info->max_rows > 0 && (int64_t)info->max_rows / pool->batch < rows_of_job(config))
        pool->batch = (int32_t)((int64_t)info->max_rows / rows_of_job(config));
    if (pool->batch < 1)
        pool->batch = 1; /* the decoder says why that is too much */
    return SB_OK;
}

static void run_workers(struct pool *pool)
{
    /* A thread that cannot be made is work left to the others. */
    pthread_t threads[MOST_THREADS];
    int32_t n = 0;
    while (n < pool->plan.threads - 1 && pthread_create(&threads[n], NULL, run_worker, pool) == 0)
        n++;
    run_worker(pool);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

/* Inputs that were read but not finished, because the work was stopped. */
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
                           "sb_draw_all: model, config, plan, source and sink expected");
    struct pool pool = {.model = model, .config = config, .plan = *plan, .pipe = pipe};
    if (plan->temperatures == NULL) {
        pool.plan.temperatures = &config->temperature;
        pool.plan.n_temperatures = 1;
    }
    sb_status status = sb_config_check(config, err);
    if (status == SB_OK)
        status = check_plan(model, config, &pool, err);
    if (status != SB_OK)
        return status;
    pool.jobs_per_input = pool.plan.n_draws * pool.plan.n_temperatures;
    pool.ring_size = 4 * (uint64_t)pool.plan.threads * (uint64_t)pool.batch;
    pool.ring = alloc_zeroed(pool.ring_size, sizeof *pool.ring);
    if (pool.ring == NULL)
        return status_no_memory(err);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.room, NULL);
    run_workers(&pool);
    end_readings(&pool);
    pthread_cond_destroy(&pool.room);
    pthread_mutex_destroy(&pool.lock);
    for (uint64_t i = 0; i < pool.ring_size; i++)
        result_release(&pool.ring[i].result);
    alloc_free(pool.ring);
    if (pool.status != SB_OK)
        return status_fail(err, pool.status, "%s", pool.error.message);
    return SB_OK;
}
