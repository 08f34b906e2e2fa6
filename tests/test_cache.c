/* Tests the cache of rows: it does not change draws, computes no prefix twice while there is room,
 * keeps to its memory limit, and never leaves a thread waiting for a row. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/row_cache.h"
#include "draw_check.h"
#include "model_check.h"

/* --- the store --- */

static struct noise_node key_of(uint64_t n)
{
    return (struct noise_node){n, 7 * n};
}

/* Claims one key, fills it if it is the caller's, and lets it go; what it was. */
static enum claim_kind visit(struct row_cache *cache, uint64_t n)
{
    const struct noise_node key = key_of(n);
    struct claim claim;
    row_cache_claim(cache, 1, &key, &claim);
    const enum claim_kind kind = claim.kind;
    if (kind == CLAIM_OWN)
        memcpy(row_cache_data(&claim), &n, sizeof n);
    if (kind == CLAIM_READY)
        assert_memory_equal(row_cache_data(&claim), &n, sizeof n);
    row_cache_publish(cache, 1, &claim, false);
    row_cache_wait(cache, 1, &claim);
    row_cache_release(cache, 1, &claim);
    return kind;
}

static void least_recently_used_goes_first(void **state)
{
    (void)state;
    struct row_cache *cache;
    const size_t size = 4096;
    assert_int_equal(row_cache_open(&cache, size, 64, NULL), SB_OK);
    for (uint64_t n = 0; n < 100; n++) {
        assert_int_equal(visit(cache, n), CLAIM_OWN);
        assert_int_equal(visit(cache, 0), CLAIM_READY); /* in use all the time */
        assert_true(row_cache_used(cache) <= size);
    }
    assert_true(row_cache_used(cache) > size / 2);
    for (uint64_t n = 99; n > 90; n--)
        assert_int_equal(visit(cache, n), CLAIM_READY);
    for (uint64_t n = 1; n < 50; n++)
        assert_int_equal(visit(cache, n), CLAIM_OWN);
    row_cache_close(cache);
}

static void claims_hold_rows_and_what_is_full_is_alone(void **state)
{
    (void)state;
    struct row_cache *cache;
    assert_int_equal(row_cache_open(&cache, 2 * 200, 64, NULL), SB_OK);
    const struct noise_node keys[] = {key_of(1), key_of(2), key_of(1), key_of(3), key_of(4)};
    struct claim claims[5];
    row_cache_claim(cache, 5, keys, claims);
    assert_int_equal(claims[0].kind, CLAIM_OWN);
    assert_int_equal(claims[1].kind, CLAIM_OWN);
    assert_int_equal(claims[2].kind, CLAIM_AWAITED); /* its own, twice in one step */
    assert_int_equal(claims[4].kind, CLAIM_ALONE);
    row_cache_publish(cache, 5, claims, false);
    row_cache_wait(cache, 5, claims);
    assert_int_equal(claims[2].kind, CLAIM_READY);
    assert_ptr_equal(claims[2].row, claims[0].row);
    row_cache_release(cache, 5, claims);
    assert_int_equal(visit(cache, 4), CLAIM_OWN);
    row_cache_close(cache);

    assert_int_equal(row_cache_open(&cache, 10, 64, NULL), SB_OK); /* no room for any */
    assert_int_equal(visit(cache, 1), CLAIM_ALONE);
    row_cache_close(cache);
}

static void failed_rows_leave(void **state)
{
    (void)state;
    struct row_cache *cache;
    assert_int_equal(row_cache_open(&cache, 4096, 64, NULL), SB_OK);
    const struct noise_node keys[] = {key_of(1), key_of(1), key_of(2)};
    struct claim claims[3];
    row_cache_claim(cache, 3, keys, claims);
    row_cache_publish(cache, 3, claims, true);
    row_cache_wait(cache, 3, claims);
    for (int i = 0; i < 3; i++)
        assert_int_equal(claims[i].kind, CLAIM_ALONE);
    row_cache_release(cache, 3, claims);
    assert_int_equal(visit(cache, 1), CLAIM_OWN);
    row_cache_close(cache);
}

/* --- draws --- */

typedef struct collected {
    const sb_input *inputs;
    size_t n_inputs, next;
    sb_result **results;
    size_t n_results;
} collected;

static int give(void *user, sb_input *input, sb_error *err)
{
    (void)err;
    collected *const c = user;
    if (c->next == c->n_inputs)
        return 0;
    *input = c->inputs[c->next++];
    return 1;
}

static uint64_t hash_results(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *const bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* Everything that a result says, but for time. */
static int digest(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    (void)err;
    uint64_t *const hash = input->user;
    collected *const c = user;
    c->n_results++;
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        *hash = hash_results(*hash, s->tokens, (size_t)s->n_tokens * sizeof *s->tokens);
        const double numbers[] = {s->log_p, s->log_p_model, s->g, s->log_weight};
        *hash = hash_results(*hash, numbers, sizeof numbers);
    }
    *hash = hash_results(*hash, &result->kappa, sizeof result->kappa);
    *hash = hash_results(*hash, &result->model_rows, sizeof result->model_rows);
    return 0;
}

static sb_status draw_digest(const sb_model *model, const char *const *texts, size_t n_texts,
                             const sb_config *config, sb_plan plan, uint64_t *hash, sb_error *err)
{
    sb_input inputs[8];
    *hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n_texts; i++)
        inputs[i] = (sb_input){texts[i], strlen(texts[i]), i, hash};
    collected c = {.inputs = inputs, .n_inputs = n_texts};
    const sb_pipe pipe = {.user = &c, .source = give, .sink = digest};
    return sb_draw_all(model, config, &plan, &pipe, err);
}

static void check_unchanged(const sb_model *model, const char *const *texts, size_t n_texts)
{
    static const double temperatures[] = {1, 0.37};
    static const size_t sizes[] = {1, 3000, 1 << 20};
    static const sb_method methods[] = {SB_METHOD_SBS, SB_METHOD_SAMPLE, SB_METHOD_BEAM,
                                        SB_METHOD_DIVERSE, SB_METHOD_RESAMPLE};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        sb_config config = config_of(methods[m], 6);
        config.max_len = 12;
        sb_plan plan;
        sb_plan_default(&plan);
        plan.temperatures = temperatures;
        plan.n_temperatures = 2;
        plan.n_draws = 7;
        uint64_t expected, found;
        assert_int_equal(draw_digest(model, texts, n_texts, &config, plan, &expected, NULL), SB_OK);
        for (int i = 0; i < 9; i++) {
            sb_cache_stats stats = {0};
            plan.cache_size = sizes[i % 3];
            plan.threads = 1 + i / 3;
            plan.batch = 1 + 5 * (i % 2);
            plan.cache_stats = &stats;
            assert_int_equal(draw_digest(model, texts, n_texts, &config, plan, &found, NULL),
                             SB_OK);
            assert_true(found == expected);
            assert_true(stats.rows >= stats.evaluated && stats.evaluated > 0);
            assert_true(stats.used <= plan.cache_size + 16);
        }
    }
}

static void draws_stay_as_they_are(void **state)
{
    (void)state;
    static const char *const nothing[] = {"", "", ""};
    static const char *const prefixes[] = {"", "a", "a b", "a a"};
    uint64_t generator = 5;
    for (int i = 0; i < 5; i++) {
        sb_model *const tree = random_tree(&generator, 2 + i);
        check_unchanged(tree, nothing, 3);
        sb_model_close(tree);
    }
    sb_model *const chain = open_json(small_chain);
    check_unchanged(chain, prefixes, 4);
    sb_model_close(chain);
    sb_model *const arpa = open_file(TEST_DATA "/small.arpa");
    check_unchanged(arpa, nothing, 3);
    sb_model_close(arpa);
}

#ifdef SBEAM_HAVE_NN
static void neural_draws_stay_as_they_are(void **state)
{
    (void)state;
    static const char *const sources[] = {"a b c", "c", "a b c", ""};
    sb_model *const model = open_file(TEST_DATA "/tiny-fconv/model.safetensors");
    check_unchanged(model, sources, 1); /* equal rows in other batches are for test_everyday */
    sb_model_close(model);
}
#endif

/* --- a model that counts: the state is a hash of the path, and every evaluation is noted --- */

enum { COUNTED_VOCAB = 5, MOST_NOTED = 1 << 16 };

static struct {
    pthread_mutex_t lock;
    uint64_t noted[MOST_NOTED];
    size_t n;
    size_t fail_at; /* this evaluation fails; 0: none */
} counter = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct counted_session {
    uint64_t starts[64], now[4096], next[4096];
} counted_session;

static uint64_t mix(uint64_t x, uint64_t y)
{
    x = (x ^ (y + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
    return x ^ x >> 29;
}

static sb_status counted_open(const void *self, const sb_session_spec *spec, void **session,
                              sb_error *err)
{
    (void)self;
    (void)err;
    assert_true(spec->max_inputs <= 64);
    *session = calloc(1, sizeof(counted_session));
    return SB_OK;
}

static sb_status counted_begin(void *session, int32_t input, const char *text, size_t size,
                               sb_error *err)
{
    (void)err;
    counted_session *const s = session;
    s->starts[input] = hash_results(1, text, size);
    return SB_OK;
}

static sb_status counted_step(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                              const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    counted_session *const s = session;
    float *const row = rows;
    sb_status status = SB_OK;
    pthread_mutex_lock(&counter.lock);
    for (int32_t i = 0; i < n_rows; i++) {
        const uint64_t path =
            from[i] < 0 ? s->starts[input[i]] : mix(s->now[from[i]], (uint64_t)token[i]);
        s->next[i] = path;
        counter.noted[counter.n++ % MOST_NOTED] = path;
        if (counter.n == counter.fail_at)
            status = sb_error_set(err, SB_ERR_MODEL, "broken on purpose");
        for (int32_t t = 0; t < COUNTED_VOCAB; t++)
            row[i * COUNTED_VOCAB + t] = (float)(mix(path, (uint64_t)t + 99) % 1000) / 300;
    }
    pthread_mutex_unlock(&counter.lock);
    for (int32_t i = 0; i < n_rows; i++)
        s->now[to[i]] = s->next[i];
    return status;
}

static size_t counted_size(const void *session)
{
    (void)session;
    return sizeof(uint64_t);
}

static void counted_save(const void *session, int32_t state, void *bytes)
{
    const counted_session *const s = session;
    memcpy(bytes, &s->now[state], sizeof s->now[state]);
}

static sb_status counted_restore(void *session, int32_t n, const int32_t *states, const void *bytes,
                                 sb_error *err)
{
    (void)err;
    counted_session *const s = session;
    for (int32_t i = 0; i < n; i++)
        memcpy(&s->now[states[i]], (const char *)bytes + (size_t)i * sizeof *s->now,
               sizeof *s->now);
    return SB_OK;
}

static sb_model *counted_model(bool has_states)
{
    const sb_model_ops ops = {.session_open = counted_open,
                              .session_close = free,
                              .begin = counted_begin,
                              .step = counted_step,
                              .state_size = has_states ? counted_size : NULL,
                              .save = has_states ? counted_save : NULL,
                              .restore = has_states ? counted_restore : NULL};
    const sb_model_info info = {
        .kind = "counted", .vocab_size = COUNTED_VOCAB, .eos = 0, .row_type = SB_ROW_FLOAT};
    sb_model *model;
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, NULL, NULL), SB_OK);
    return model;
}

static int compare_paths(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t count_repeats(void)
{
    size_t repeats = 0;
    qsort(counter.noted, counter.n, sizeof *counter.noted, compare_paths);
    for (size_t i = 1; i < counter.n; i++)
        repeats += counter.noted[i] == counter.noted[i - 1];
    return repeats;
}

static void nothing_is_computed_twice(void **state)
{
    (void)state;
    static const char *const texts[] = {"one", "two", "one"};
    static const double temperatures[] = {1, 0.5};
    sb_model *const model = counted_model(true);
    sb_config config = config_of(SB_METHOD_SBS, 10);
    config.max_len = 6;
    sb_cache_stats stats;
    sb_plan plan;
    sb_plan_default(&plan);
    plan.temperatures = temperatures;
    plan.n_temperatures = 2;
    plan.n_draws = 20;
    plan.cache_stats = &stats;
    size_t evaluated[2];
    for (int i = 0; i < 8; i++) {
        uint64_t hash;
        plan.cache_size = 1 << 24;
        plan.threads = 1 + i % 4;
        plan.batch = 1 + 15 * (i / 4);
        counter.n = 0;
        assert_int_equal(draw_digest(model, texts, 3, &config, plan, &hash, NULL), SB_OK);
        assert_true(stats.evaluated == counter.n && counter.n < stats.rows);
        evaluated[i > 0] = counter.n;
        assert_int_equal(evaluated[0], evaluated[i > 0]); /* whatever the threads */
        assert_int_equal(count_repeats(), 0);
    }
    /* The count can find repeats: without a cache there are many. */
    uint64_t hash;
    plan.cache_size = 0;
    plan.threads = 1;
    counter.n = 0;
    assert_int_equal(draw_digest(model, texts, 3, &config, plan, &hash, NULL), SB_OK);
    assert_true(count_repeats() > counter.n / 2);
    sb_model_close(model);
}

static void a_failing_step_ends_the_work(void **state)
{
    (void)state;
    static const char *const texts[] = {"one", "one", "one", "one"};
    sb_model *const model = counted_model(true);
    sb_config config = config_of(SB_METHOD_SBS, 10);
    config.max_len = 6;
    sb_plan plan;
    sb_plan_default(&plan);
    plan.n_draws = 10;
    plan.threads = 4;
    plan.batch = 2;
    plan.cache_size = 1 << 20;
    uint64_t hash;
    counter.n = 0;
    assert_int_equal(draw_digest(model, texts, 4, &config, plan, &hash, NULL), SB_OK);
    const size_t n_evaluations = counter.n;
    for (size_t n = 1; n <= n_evaluations; n = n * 3 / 2 + 1) {
        counter.n = 0;
        counter.fail_at = n;
        sb_error err = {.message = ""};
        assert_int_equal(draw_digest(model, texts, 4, &config, plan, &hash, &err), SB_ERR_MODEL);
        assert_non_null(strstr(err.message, "broken on purpose"));
    }
    counter.fail_at = 0;
    sb_model_close(model);
}

static void memory_that_runs_out_is_an_error(void **state)
{
    (void)state;
    static const char *const texts[] = {"", ""};
    sb_model *const model = open_json(small_chain);
    sb_config config = config_of(SB_METHOD_SBS, 4);
    sb_plan plan;
    sb_plan_default(&plan);
    plan.cache_size = 1 << 16;
    uint64_t expected, hash;
    assert_int_equal(draw_digest(model, texts, 2, &config, plan, &expected, NULL), SB_OK);
    bool failed = true;
    for (long n = 1; failed; n++) {
        sb_error err = {.message = ""};
        alloc_fail_at(n);
        const sb_status status = draw_digest(model, texts, 2, &config, plan, &hash, &err);
        failed = alloc_has_failed();
        alloc_fail_at(0);
        /* Where the cache itself cannot grow it goes on with what it has. */
        if (status == SB_OK)
            assert_true(hash == expected);
        else
            assert_int_equal(status, SB_ERR_MEMORY);
    }
    sb_model_close(model);
}

static void models_without_states_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"one"};
    sb_model *const model = counted_model(false);
    const sb_config config = config_of(SB_METHOD_SBS, 3);
    sb_plan plan;
    sb_plan_default(&plan);
    plan.cache_size = 1 << 20;
    uint64_t hash;
    sb_error err = {.message = ""};
    assert_int_equal(draw_digest(model, texts, 1, &config, plan, &hash, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "a cache needs a model that can save the state of a row; "
                                     "a model of kind 'counted' cannot");
    sb_model_close(model);

    const sb_model_ops half = {.session_open = counted_open,
                               .session_close = free,
                               .step = counted_step,
                               .save = counted_save};
    const sb_model_info info = {.kind = "half", .vocab_size = 2, .eos = 0};
    sb_model *none = NULL;
    assert_int_equal(sb_model_open_custom(&none, &half, &info, NULL, &err), SB_ERR_ARGUMENT);
    assert_null(none);
}

/* The functions check what they are given: here there is one state, number 0, or none. */
static void sessions_check_states(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain), *const other = counted_model(false);
    sb_session *session;
    double row[64];
    char saved[64];
    const int32_t none = -1, first = 0;
    assert_int_equal(sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 1}, NULL),
                     SB_OK);
    assert_true(sb_session_state_size(session) <= sizeof saved);
    assert_true(sb_model_get_info(model)->vocab_size <= 64);
    assert_int_equal(sb_session_begin(session, 0, "", 0, NULL), SB_OK);
    assert_int_equal(sb_session_save(session, 0, saved, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(session_rows(session, 1, &none, &none, &first, row, NULL), SB_OK);
    assert_int_equal(sb_session_save(session, 1, saved, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_save(session, -1, saved, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_save(session, 0, NULL, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_save(session, 0, saved, NULL), SB_OK);
    assert_int_equal(sb_session_restore(session, -1, &first, saved, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_restore(session, 1, &first, NULL, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_restore(session, 1, NULL, saved, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_restore(session, 1, &none, saved, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_restore(session, 2, (int32_t[]){3, 3}, saved, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_restore(session, 1, (int32_t[]){3}, saved, NULL), SB_OK);
    assert_int_equal(sb_session_save(session, 3, saved, NULL), SB_OK);
    assert_int_equal(sb_session_save(session, 0, saved, NULL), SB_OK); /* state 0 is still there */
    assert_int_equal(sb_session_release(session, -1, &first, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_release(session, 1, NULL, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_release(session, 1, &first, NULL), SB_OK);
    assert_int_equal(sb_session_save(session, 0, saved, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_save(session, 3, saved, NULL), SB_OK);
    sb_session_close(session);
    assert_int_equal(sb_session_open(&session, other, &(sb_session_spec){.max_inputs = 1}, NULL),
                     SB_OK);
    assert_int_equal(sb_session_save(session, 0, saved, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_restore(session, 1, &first, saved, NULL), SB_ERR_ARGUMENT);
    sb_session_close(session);
    sb_model_close(other);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_recently_used_goes_first),
        cmocka_unit_test(claims_hold_rows_and_what_is_full_is_alone),
        cmocka_unit_test(failed_rows_leave),
        cmocka_unit_test(draws_stay_as_they_are),
#ifdef SBEAM_HAVE_NN
        cmocka_unit_test(neural_draws_stay_as_they_are),
#endif
        cmocka_unit_test(nothing_is_computed_twice),
        cmocka_unit_test(a_failing_step_ends_the_work),
        cmocka_unit_test(memory_that_runs_out_is_an_error),
        cmocka_unit_test(models_without_states_are_refused),
        cmocka_unit_test(sessions_check_states),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
