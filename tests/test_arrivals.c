/* Tests drawing from inputs that arrive over time: results are handed over and flushed while a
 * thread waits for the next input; the work can end while a thread waits; and with one_input the
 * time of arrival does not decide which inputs are computed together.
 *
 * A thread feeds the inputs and looks at what has been flushed. The library calls the functions of
 * the pipe from several threads, so they only take notes, and the test itself asserts. If an
 * expected result is missing after a minute, the feeder ends the inputs, so that a broken library
 * fails the test instead of blocking it. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "decode/result.h"
#include "draw_check.h"

enum { N_INPUTS = 6, N_DRAWS = 2, N_RESULTS = N_INPUTS * N_DRAWS, DEADLINE = 60 /* seconds */ };

static const char *const tree_json =
    "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.6,{\"b\":[0.5,null],\"c\":[0.5,null]}],"
    "\"d\":[0.4,null]}}";

static const char *const texts[N_INPUTS] = {"", "a", "", "a", "", ""};

/* What has happened. All fields are used under the lock. */
struct arrivals {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *const *texts; /* of the inputs that arrive */
    int n_arrived, n_given, n_results, n_flushed, n_done;
    bool has_ended;  /* no more inputs will arrive */
    bool is_waiting; /* `ready` waits */
    bool is_patient; /* `ready` ignores its limit and waits until it has an answer */
    bool is_late;    /* the feeder gave up */
    bool was_early;  /* the source was asked although it had to wait, or it or `ready` was called
                      * while `ready` waited */
    int n_draws;     /* of each input */
    int stop_at;     /* the sink stops at this result */
    bool flush_fails;
    sb_interrupt *interrupt;
    sb_result *results[N_RESULTS];
};

static struct timespec deadline_after(long milliseconds)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += milliseconds / 1000;
    end.tv_nsec += milliseconds % 1000 * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    return end;
}

static bool can_answer(const struct arrivals *a)
{
    return a->n_given < a->n_arrived || a->has_ended;
}

static bool wait_for_text(void *user, int milliseconds)
{
    struct arrivals *const a = user;
    pthread_mutex_lock(&a->lock);
    const bool has_limit = milliseconds >= 0 && !a->is_patient;
    const struct timespec end = deadline_after(has_limit ? milliseconds : 2000L * DEADLINE);
    a->was_early = a->was_early || a->is_waiting;
    a->is_waiting = milliseconds != 0;
    pthread_cond_broadcast(&a->changed);
    int code = 0;
    while (milliseconds != 0 && !can_answer(a) && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&a->changed, &a->lock, &end);
    a->is_waiting = false;
    const bool answer = can_answer(a);
    pthread_mutex_unlock(&a->lock);
    return answer;
}

static int give_text(void *user, sb_input *input, sb_error *err)
{
    (void)err;
    struct arrivals *const a = user;
    pthread_mutex_lock(&a->lock);
    a->was_early = a->was_early || a->is_waiting || !can_answer(a);
    while (!can_answer(a))
        pthread_cond_wait(&a->changed, &a->lock);
    const bool has_text = a->n_given < a->n_arrived;
    if (has_text) {
        const char *const text = a->texts[a->n_given];
        *input = (sb_input){text, strlen(text), (uint64_t)a->n_given++, NULL};
    }
    pthread_mutex_unlock(&a->lock);
    return has_text ? 1 : 0;
}

static int note_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    (void)input;
    (void)err;
    struct arrivals *const a = user;
    pthread_mutex_lock(&a->lock);
    const bool copied = result_copy(a->results[a->n_results++], result) == SB_OK;
    const bool stops = a->n_results == a->stop_at;
    pthread_mutex_unlock(&a->lock);
    return stops || !copied;
}

static int note_flush(void *user, sb_error *err)
{
    struct arrivals *const a = user;
    pthread_mutex_lock(&a->lock);
    a->n_flushed = a->n_results;
    const bool fails = a->flush_fails;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    if (fails)
        sb_error_set(err, SB_ERR_IO, "the disk is full");
    return fails ? -1 : 0;
}

static void note_done(void *user, const sb_input *input)
{
    (void)input;
    struct arrivals *const a = user;
    pthread_mutex_lock(&a->lock);
    a->n_done++;
    pthread_mutex_unlock(&a->lock);
}

/* Waits until a number reaches `wanted`. Called with the lock. */
static void wait_until(struct arrivals *a, const int *number, int wanted)
{
    const struct timespec end = deadline_after(1000L * DEADLINE);
    int code = 0;
    while (*number < wanted && !a->is_late && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&a->changed, &a->lock, &end);
    a->is_late = a->is_late || code == ETIMEDOUT;
}

static void open_arrivals(struct arrivals *a)
{
    *a = (struct arrivals){.texts = texts, .n_draws = N_DRAWS};
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    for (int i = 0; i < N_RESULTS; i++)
        assert_int_equal(sb_result_open(&a->results[i], NULL), SB_OK);
}

static void close_arrivals(struct arrivals *a)
{
    for (int i = 0; i < N_RESULTS; i++)
        sb_result_close(a->results[i]);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
}

/* Draws from what `feed` makes arrive. */
static sb_status run(struct arrivals *a, const sb_model *model, const sb_plan *plan,
                     void *(*feed)(void *user), sb_error *err)
{
    const sb_config config = config_of(SB_METHOD_SBS, 2);
    const sb_pipe pipe = {.user = a,
                          .source = give_text,
                          .sink = note_result,
                          .done = note_done,
                          .ready = wait_for_text,
                          .flush = note_flush};
    pthread_t feeder;
    assert_int_equal(pthread_create(&feeder, NULL, feed, a), 0);
    const sb_status status = sb_draw_all(model, &config, plan, &pipe, err);
    pthread_mutex_lock(&a->lock);
    a->has_ended = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(feeder, NULL);
    assert_false(a->is_late);
    assert_false(a->was_early);
    assert_int_equal(a->n_done, a->n_given);
    return status;
}

static sb_plan plan_of(int32_t threads, int32_t batch)
{
    sb_plan plan;
    sb_plan_default(&plan);
    plan.n_draws = N_DRAWS;
    plan.threads = threads;
    plan.batch = batch;
    return plan;
}

/* --- answers --- */

/* Gives an input only after all results of the input before have been flushed. */
static void *feed_one_by_one(void *user)
{
    struct arrivals *const a = user;
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < N_INPUTS; i++) {
        a->n_arrived++;
        pthread_cond_broadcast(&a->changed);
        wait_until(a, &a->n_flushed, (i + 1) * a->n_draws);
    }
    a->has_ended = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void answers_come_before_the_next_input(void **state)
{
    (void)state;
    sb_model *const model = open_json(tree_json);
    const sb_config config = config_of(SB_METHOD_SBS, 2);
    const sb_plan at_once = plan_of(1, 16);
    sb_input inputs[N_INPUTS];
    struct arrivals whole;
    open_arrivals(&whole);
    for (int i = 0; i < N_INPUTS; i++)
        inputs[i] = (sb_input){texts[i], strlen(texts[i]), (uint64_t)i, NULL};
    assert_int_equal(sb_draw_batch(model, inputs, N_INPUTS, &config, &at_once, whole.results, NULL),
                     SB_OK);
    static const int32_t plans[][2] = {{1, 1}, {1, 16}, {2, 1}, {2, 16}, {4, 3}};
    for (size_t i = 0; i < 2 * sizeof plans / sizeof *plans; i++) {
        struct arrivals a;
        sb_plan plan = plan_of(plans[i / 2][0], plans[i / 2][1]);
        plan.one_input = i % 2 == 1;
        open_arrivals(&a);
        assert_int_equal(run(&a, model, &plan, feed_one_by_one, NULL), SB_OK);
        assert_int_equal(a.n_results, N_RESULTS);
        for (int r = 0; r < N_RESULTS; r++)
            assert_same_results(a.results[r], whole.results[r]);
        close_arrivals(&a);
    }
    close_arrivals(&whole);
    sb_model_close(model);
}

/* --- the end of the work while a thread waits --- */

/* Gives `n` inputs, and no others until the work has ended by itself. */
static void *feed_and_leave_open(struct arrivals *a, int n)
{
    pthread_mutex_lock(&a->lock);
    a->n_arrived = n;
    pthread_cond_broadcast(&a->changed);
    if (a->interrupt != NULL) {
        wait_until(a, &a->n_flushed, n * N_DRAWS);
        sb_interrupt_raise(a->interrupt);
    }
    const struct timespec end = deadline_after(1000L * DEADLINE);
    int code = 0;
    while (!a->has_ended && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&a->changed, &a->lock, &end);
    a->is_late = a->is_late || !a->has_ended;
    a->has_ended = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static void *feed_two(void *user)
{
    return feed_and_leave_open(user, 2);
}

static void the_work_ends_although_inputs_may_come(void **state)
{
    (void)state;
    sb_model *const model = open_json(tree_json);
    static const char *const refused[] = {"", "nowhere"};
    for (int i = 0; i < 4 * 3; i++) {
        struct arrivals a;
        sb_error err = {SB_OK, ""};
        sb_plan plan = plan_of(1 + i % 3, i % 2 ? 16 : 1);
        open_arrivals(&a);
        switch (i / 3) {
        case 0: /* the sink stops */
            a.stop_at = 3;
            assert_int_equal(run(&a, model, &plan, feed_two, &err), SB_ERR_STOPPED);
            assert_int_equal(a.n_results, 3);
            break;
        case 1: /* flush stops */
            a.flush_fails = true;
            assert_int_equal(run(&a, model, &plan, feed_two, &err), SB_ERR_IO);
            assert_string_equal(err.message, "the disk is full");
            break;
        case 2: /* an input is refused */
            a.texts = refused;
            assert_int_equal(run(&a, model, &plan, feed_two, &err), SB_ERR_INPUT);
            assert_int_equal(a.n_results, N_DRAWS);
            break;
        default: /* the interrupt is raised while there is nothing to do */
            assert_int_equal(sb_interrupt_open(&a.interrupt, NULL), SB_OK);
            plan.interrupt = a.interrupt;
            assert_int_equal(run(&a, model, &plan, feed_two, &err), SB_ERR_STOPPED);
            assert_string_equal(err.message, "interrupted");
            assert_int_equal(a.n_results, 2 * N_DRAWS);
            sb_interrupt_close(a.interrupt);
        }
        close_arrivals(&a);
    }
    sb_model_close(model);
}

/* --- a model that looks at its pipe --- */

/* All tokens of its rows are equally likely. If it is told to, it waits before its first step until
 * another thread waits in `ready`. It counts the steps that have several inputs. */
struct watcher {
    struct arrivals *arrivals;
    bool waits;
    int n_mixed;
    int32_t max_inputs; /* of the session */
};

struct watching {
    struct watcher *watcher;
    const char *texts[N_RESULTS]; /* of the inputs of the session */
};

static sb_status open_watching(const void *self, const sb_session_spec *spec, void **session,
                               sb_error *err)
{
    (void)err;
    struct watching *const watching = calloc(1, sizeof *watching);
    watching->watcher = *(struct watcher *const *)self;
    watching->watcher->max_inputs = spec->max_inputs;
    *session = watching;
    return SB_OK;
}

static sb_status begin_watching(void *session, int32_t input, const char *text, size_t size,
                                sb_error *err)
{
    (void)size, (void)err;
    ((struct watching *)session)->texts[input] = text;
    return SB_OK;
}

static sb_status step_watching(void *session, int32_t n_rows, const int32_t *from,
                               const int32_t *to, const int32_t *token, const int32_t *input,
                               void *rows, sb_error *err)
{
    (void)from, (void)to, (void)token, (void)err;
    const struct watching *const watching = session;
    struct watcher *const watcher = watching->watcher;
    struct arrivals *const a = watcher->arrivals;
    pthread_mutex_lock(&a->lock);
    const struct timespec end = deadline_after(1000L * DEADLINE);
    int code = 0;
    while (watcher->waits && !a->is_waiting && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&a->changed, &a->lock, &end);
    a->is_late = a->is_late || code == ETIMEDOUT;
    watcher->waits = false;
    for (int32_t i = 1; i < n_rows; i++)
        if (watching->texts[input[i]] != watching->texts[input[0]]) {
            watcher->n_mixed++;
            break;
        }
    pthread_mutex_unlock(&a->lock);
    memset(rows, 0, (size_t)n_rows * 3 * sizeof(float));
    return SB_OK;
}

static sb_model *open_watcher(struct watcher *watcher)
{
    const sb_model_ops ops = {.session_open = open_watching,
                              .session_close = free,
                              .begin = begin_watching,
                              .step = step_watching,
                              .close = free};
    const sb_model_info info = {
        .kind = "watching", .vocab_size = 3, .eos = 0, .row_type = SB_ROW_FLOAT, .max_len = 4};
    struct watcher **const self = malloc(sizeof *self);
    *self = watcher;
    sb_model *model;
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, self, NULL), SB_OK);
    return model;
}

/* A thread that waits for an input holds no lock: the other thread computes, hands over and flushes
 * the only draw meanwhile. */
static void a_waiting_thread_stops_no_other(void **state)
{
    (void)state;
    struct arrivals a;
    open_arrivals(&a);
    struct watcher watcher = {.arrivals = &a, .waits = true};
    sb_model *const model = open_watcher(&watcher);
    sb_plan plan = plan_of(2, 16);
    plan.n_draws = (uint64_t)(a.n_draws = 1); /* two threads could share two draws, and both step */
    a.is_patient = true;
    assert_int_equal(run(&a, model, &plan, feed_one_by_one, NULL), SB_OK);
    assert_int_equal(a.n_results, N_INPUTS);
    close_arrivals(&a);
    sb_model_close(model);
}

static void *feed_all(void *user)
{
    struct arrivals *const a = user;
    pthread_mutex_lock(&a->lock);
    a->n_arrived = N_INPUTS;
    a->has_ended = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* With one_input no step has two inputs, although all inputs are there. Without it some steps
 * have. */
static void inputs_are_not_mixed(void **state)
{
    (void)state;
    static const char *const different[N_INPUTS] = {"a", "b", "c", "d", "e", "f"};
    for (int one = 0; one < 2; one++) {
        struct arrivals a;
        open_arrivals(&a);
        a.texts = different;
        struct watcher watcher = {.arrivals = &a};
        sb_model *const model = open_watcher(&watcher);
        sb_plan plan = plan_of(1, N_RESULTS);
        plan.one_input = one == 1;
        feed_all(&a); /* before the first input is asked for */
        assert_int_equal(run(&a, model, &plan, feed_all, NULL), SB_OK);
        assert_int_equal(a.n_results, N_RESULTS);
        assert_true(one ? watcher.n_mixed == 0 : watcher.n_mixed > 0);
        assert_int_equal(watcher.max_inputs, one ? N_DRAWS : N_RESULTS);
        close_arrivals(&a);
        sb_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_before_the_next_input),
        cmocka_unit_test(the_work_ends_although_inputs_may_come),
        cmocka_unit_test(a_waiting_thread_stops_no_other),
        cmocka_unit_test(inputs_are_not_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
