/* Each thread takes the next line, scores it and puts it into a ring. The thread that completes the
 * oldest line writes the record of this line and the records after it that are ready. So a record
 * is written as soon as it and all records before it exist, even if standard input stays open. The
 * ring bounds the number of lines in memory. If a line fails, the records before it are written. */
#include "cli/score_pool.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/line_reader.h"

enum { LINES_PER_THREAD = 16 };

typedef struct score_pool {
    const score_work *work;
    size_t n_threads;
    pthread_mutex_t lock; /* guards all fields below; the reader belongs to the thread that waits */
    pthread_cond_t moved; /* signals that a line may be taken or that the work has ended */
    line_reader reader;
    bool is_waiting; /* a thread waits for a line, without the lock */
    bool is_dry;     /* there was no line when the reader was last asked */
    bool at_end;
    score_item *ring; /* (capacity) line number n, from 0, is at index n % capacity */
    size_t capacity;
    uint64_t n_taken, n_written;
    output out;
    sb_error read_err; /* if its status is not SB_OK, reading failed */
    int code;          /* the exit code */
} score_pool;

static void free_item(score_item *item)
{
    sb_input_record_close(&item->record);
    free(item->token_log_p);
    free(item->text);
    *item = (score_item){0};
}

static void stop_with(score_pool *pool, int code)
{
    pool->code = code;
    pool->at_end = true;
    pthread_cond_broadcast(&pool->moved);
}

/* Writes all finished records to standard output if there is no other line to score now. */
static void flush_if_dry(score_pool *pool)
{
    if (pool->is_dry && pool->code == EXIT_FINE && !output_flush(&pool->out))
        stop_with(pool, EXIT_FAILED);
}

/* Writes the lines that are ready, from the oldest on. */
static void write_ready(score_pool *pool)
{
    while (pool->code == EXIT_FINE && pool->n_written < pool->n_taken) {
        score_item *const item = &pool->ring[pool->n_written % pool->capacity];
        if (!item->is_ready)
            break;
        if (item->status != SB_OK) {
            output_flush(&pool->out);
            stop_with(pool, cli_failure("score", "%s:%" PRIu64 ": %s", pool->reader.name,
                                        item->line, item->err.message));
            return;
        }
        score_write(item, &pool->out);
        free_item(item);
        pool->n_written++;
        if (!output_flush_in_time(&pool->out))
            stop_with(pool, EXIT_FAILED);
    }
    flush_if_dry(pool);
    pthread_cond_broadcast(&pool->moved);
}

/* Reads the line that the reader has. Returns NULL at the end or after an error. */
static score_item *read_line(score_pool *pool)
{
    sb_error err;
    const int more = line_reader_next(&pool->reader, &err);
    if (more < 0)
        pool->read_err = err;
    if (more <= 0) {
        pool->at_end = pool->is_dry = true;
        flush_if_dry(pool);
        pthread_cond_broadcast(&pool->moved);
        return NULL;
    }
    score_item *const item = &pool->ring[pool->n_taken++ % pool->capacity];
    item->line = pool->reader.number;
    item->size = pool->reader.size;
    item->text = cli_realloc(NULL, item->size + 1, 1);
    memcpy(item->text, pool->reader.line, item->size + 1);
    return item;
}

/* Waits for a line without the lock, so that the other threads can write their records. */
static void wait_for_line(score_pool *pool)
{
    enum { TENTH = 100 }; /* of a second, in milliseconds: to look whether the work has ended */
    pool->is_waiting = true;
    pthread_mutex_unlock(&pool->lock);
    const bool is_ready = line_reader_wait(&pool->reader, pool->n_threads == 1 ? -1 : TENTH);
    pthread_mutex_lock(&pool->lock);
    pool->is_waiting = false;
    if (is_ready)
        pthread_cond_broadcast(&pool->moved);
}

/* Takes the next line, and waits for it. Returns NULL if the work has ended. */
static score_item *take_line(score_pool *pool)
{
    while (!pool->at_end) {
        if (pool->is_waiting || pool->n_taken - pool->n_written == pool->capacity) {
            pthread_cond_wait(&pool->moved, &pool->lock);
            continue;
        }
        pool->is_dry = !line_reader_wait(&pool->reader, 0);
        if (!pool->is_dry)
            return read_line(pool);
        flush_if_dry(pool);
        if (!pool->at_end)
            wait_for_line(pool);
    }
    return NULL;
}

static void *run_thread(void *argument)
{
    score_pool *const pool = argument;
    score_item *item;
    pthread_mutex_lock(&pool->lock);
    while ((item = take_line(pool)) != NULL) {
        pthread_mutex_unlock(&pool->lock);
        item->status = score_line(pool->work, item);
        pthread_mutex_lock(&pool->lock);
        item->is_ready = true;
        write_ready(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Runs the threads; this one works, too. If a thread cannot be made, the others do its work. */
static void run_threads(score_pool *pool)
{
    pthread_t *const threads = cli_realloc(NULL, pool->n_threads, sizeof *threads);
    size_t n = 0;
    while (n + 1 < pool->n_threads && pthread_create(&threads[n], NULL, run_thread, pool) == 0)
        n++;
    run_thread(pool);
    while (n > 0)
        pthread_join(threads[--n], NULL);
    free(threads);
}

int score_lines(const score_work *work, size_t n_threads)
{
    score_pool pool = {
        .work = work, .n_threads = n_threads, .capacity = n_threads * LINES_PER_THREAD};
    sb_error err;
    if (line_reader_open(&pool.reader, NULL, &err) != SB_OK)
        return cli_error("score", &err);
    pool.ring = cli_realloc(NULL, pool.capacity, sizeof *pool.ring);
    memset(pool.ring, 0, pool.capacity * sizeof *pool.ring);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.moved, NULL);
    run_threads(&pool);
    if (!output_flush(&pool.out))
        pool.code = EXIT_FAILED;
    if (pool.code == EXIT_FINE && pool.read_err.status != SB_OK)
        pool.code = cli_error("score", &pool.read_err);
    for (size_t i = 0; i < pool.capacity; i++)
        free_item(&pool.ring[i]);
    free(pool.ring);
    output_free(&pool.out);
    pthread_cond_destroy(&pool.moved);
    pthread_mutex_destroy(&pool.lock);
    line_reader_close(&pool.reader);
    return pool.code;
}
