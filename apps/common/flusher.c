/* The thread sleeps while no record waits to be written, so a process that waits for input uses no
 * processor time. The thread does not look at the clock for each record. It begins to wait when the
 * first record arrives, and half a second later writes all records that are there. */
#include "common/flusher.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/cli.h"
#include "common/output.h"

enum { WRITE_SIZE = 1 << 16, HALF_SECOND = 500000000 /* nanoseconds */ };

struct flusher {
    pthread_t thread;
    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t changed;
    output waiting; /* whole records */
    bool is_counting, is_closing, has_failed;
};

/* Writes everything. Called with the lock. */
static void write_all(flusher *late)
{
    if (!late->has_failed && late->waiting.size > 0)
        late->has_failed = !output_flush(&late->waiting);
    late->waiting.size = 0;
}

/* Waits until half a second has passed or the flusher closes. Called with the lock. */
static void count_half_second(flusher *late)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += HALF_SECOND;
    if (end.tv_nsec >= 2 * HALF_SECOND) {
        end.tv_sec++;
        end.tv_nsec -= 2 * HALF_SECOND;
    }
    late->is_counting = true;
    int code = 0;
    while (!late->is_closing && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&late->changed, &late->lock, &end);
    late->is_counting = false;
}

static void *write_in_time(void *argument)
{
    flusher *const late = argument;
    pthread_mutex_lock(&late->lock);
    while (!late->is_closing) {
        if (late->waiting.size == 0) {
            pthread_cond_wait(&late->changed, &late->lock);
        } else {
            count_half_second(late);
            if (!late->is_closing)
                write_all(late);
        }
    }
    pthread_mutex_unlock(&late->lock);
    return NULL;
}

static void free_flusher(flusher *late)
{
    output_free(&late->waiting);
    pthread_cond_destroy(&late->changed);
    pthread_mutex_destroy(&late->lock);
    free(late);
}

flusher *flusher_open(void)
{
    flusher *const late = cli_realloc(NULL, 1, sizeof *late);
    *late = (flusher){0};
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&late->lock, NULL);
    pthread_cond_init(&late->changed, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&late->thread, NULL, write_in_time, late) == 0)
        return late;
    free_flusher(late);
    return NULL;
}

void flusher_close(flusher *late)
{
    if (late == NULL)
        return;
    pthread_mutex_lock(&late->lock);
    late->is_closing = true;
    pthread_cond_signal(&late->changed);
    pthread_mutex_unlock(&late->lock);
    pthread_join(late->thread, NULL);
    free_flusher(late);
}

/* Takes the content of `out`, and writes if `size` bytes or more are there. What is written at once
 * is not copied. */
static bool add(flusher *late, output *out, size_t size)
{
    pthread_mutex_lock(&late->lock);
    if (late->waiting.size + out->size >= size) {
        output present = {.data = out->data, .size = out->size};
        write_all(late);
        late->has_failed = late->has_failed || !output_flush(&present);
    } else {
        output_bytes(&late->waiting, out->data, out->size);
        if (!late->is_counting)
            pthread_cond_signal(&late->changed);
    }
    out->size = 0;
    const bool is_fine = !late->has_failed;
    pthread_mutex_unlock(&late->lock);
    return is_fine;
}

bool flusher_add(flusher *late, output *out)
{
    return add(late, out, WRITE_SIZE);
}

bool flusher_flush(flusher *late, output *out)
{
    return add(late, out, 0);
}
