/* Tests the step interface with hosts that keep its contract and hosts that break it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "draw_check.h"
#include "session_rows.h"

static sb_decoder *open_decoder(int32_t vocab, sb_row_type type, int32_t slots)
{
    sb_config config;
    sb_config_default(&config);
    config.k = 2;
    config.max_len = 3;
    const sb_decoder_spec spec = {
        .vocab_size = vocab, .eos = -1, .row_type = type, .max_slots = slots};
    sb_decoder *decoder;
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, NULL), SB_OK);
    return decoder;
}

static void rows_that_are_no_distribution(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY};
    for (int type = 0; type < 2; type++)
        for (int i = 0; i < 3; i++) {
            sb_decoder *const decoder = open_decoder(4, (sb_row_type)type, 1);
            const sb_job job = {0};
            sb_error err;
            double d[12] = {0};
            float f[12] = {0};
            assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
            const void *const rows = type == SB_ROW_FLOAT ? (const void *)f : (const void *)d;
            assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_OK);
            if (i < 2)
                f[4 + 3] = (float)(d[4 + 3] = bad[i]);
            for (int j = 4; j < 8 && i == 2; j++)
                f[j] = (float)(d[j] = -INFINITY);
            assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_ERR_MODEL);
            assert_non_null(strstr(err.message, "step 2, row 1"));
            assert_non_null(strstr(err.message, i < 2 ? "token 3" : "probability zero"));
            /* Its slot tells it again, has no result, and is free for another job. */
            sb_result *result;
            assert_int_equal(sb_result_open(&result, NULL), SB_OK);
            assert_true(sb_decoder_done(decoder));
            assert_int_equal(sb_decoder_finished(decoder), 0);
            assert_int_equal(sb_decoder_take(decoder, 0, result, &err), SB_ERR_MODEL);
            assert_non_null(strstr(err.message, "step 2, row 1"));
            assert_int_equal(result->n_sequences, 0);
            assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_ERR_STATE);
            assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
            sb_result_close(result);
            sb_decoder_close(decoder);
        }
}

/* Rows of a slot: a hash of the step, the same whatever is beside it. */
static void fill_rows(float *rows, int32_t n_rows, int step)
{
    for (int32_t i = 0; i < n_rows * 4; i++)
        rows[i] = 0.37f * (float)((i % 4 + 1) * (step + 2) % 5);
}

/* A slot that fails does not touch the others: what they give is what they would have given alone,
 * and its own place is free for the next. */
static void one_slot_fails_alone(void **state)
{
    (void)state;
    enum { SLOTS = 3 };
    sb_decoder *const alone = open_decoder(4, SB_ROW_FLOAT, 1);
    sb_decoder *const three = open_decoder(4, SB_ROW_FLOAT, SLOTS);
    sb_result *expected, *found;
    sb_error err, again;
    float rows[SLOTS * 3 * 4];
    assert_int_equal(sb_result_open(&expected, NULL), SB_OK);
    assert_int_equal(sb_result_open(&found, NULL), SB_OK);
    for (uint64_t d = 0; d < SLOTS; d++)
        assert_int_equal(sb_decoder_add(three, &(sb_job){.draw = d}, NULL, &err), SB_OK);
    for (int step = 0; step < 3; step++) {
        const int32_t *input;
        const int32_t n = sb_decoder_rows(three, NULL, NULL, &input);
        fill_rows(rows, n, step);
        int32_t broken = 0; /* a row of the slot in the middle */
        while (input[broken] != 1 && broken + 1 < n)
            broken++;
        if (step == 1)
            rows[4 * broken + 2] = NAN;
        assert_int_equal(sb_decoder_advance(three, rows, 4, &err),
                         step == 1 ? SB_ERR_MODEL : SB_OK);
        if (step != 1)
            continue;
        char where[32];
        snprintf(where, sizeof where, "step 2, row %d: ", broken);
        assert_memory_equal(err.message, where, strlen(where));
        assert_int_equal(sb_decoder_finished(three), 1);
        found->n_sequences = 7; /* as if left over */
        assert_int_equal(sb_decoder_take(three, 1, found, &again), SB_ERR_MODEL);
        assert_int_equal(again.status, SB_ERR_MODEL);
        assert_string_equal(again.message, err.message);
        assert_int_equal(found->n_sequences, 0);
        assert_int_equal(sb_decoder_take(three, 1, found, &again), SB_ERR_STATE);
        assert_int_equal(sb_decoder_finished(three), -1);
    }
    for (int32_t slot = 0; slot < SLOTS; slot += 2) {
        sb_beam_entry entry;
        assert_int_equal(sb_decoder_finished(three), slot);
        assert_true(sb_decoder_beam(three, slot, 0, &entry));
        assert_false(sb_decoder_beam(three, 1, 0, &entry)); /* free */
        assert_int_equal(sb_decoder_take(three, slot, found, &err), SB_OK);
        assert_false(sb_decoder_beam(three, slot, 0, &entry));
        assert_int_equal(sb_decoder_add(alone, &(sb_job){.draw = (uint64_t)slot}, NULL, &err),
                         SB_OK);
        for (int step = 0; step < 3; step++) {
            fill_rows(rows, sb_decoder_rows(alone, NULL, NULL, NULL), step);
            assert_int_equal(sb_decoder_advance(alone, rows, 4, &err), SB_OK);
        }
        assert_int_equal(sb_decoder_take(alone, 0, expected, &err), SB_OK);
        assert_same_results(expected, found);
    }
    int32_t slot;
    assert_int_equal(sb_decoder_add(three, &(sb_job){0}, &slot, &err), SB_OK);
    assert_int_equal(slot, 0);
    sb_result_close(expected);
    sb_result_close(found);
    sb_decoder_close(alone);
    sb_decoder_close(three);
}

/* The same for a limit: one tree of the two is too large for the explicit method. */
static void one_tree_is_too_large(void **state)
{
    (void)state;
    enum { VOCAB = 1100 };
    sb_config config;
    sb_config_default(&config);
    config.method = SB_METHOD_EXPLICIT;
    config.max_len = 2;
    const sb_decoder_spec spec = {
        .vocab_size = VOCAB, .eos = -1, .row_type = SB_ROW_FLOAT, .max_slots = 2};
    sb_decoder *decoder;
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, &err), SB_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sb_decoder_add(decoder, &(sb_job){0}, NULL, &err), SB_OK);
    float *const rows = calloc((size_t)(VOCAB + 2) * VOCAB, sizeof *rows);
    assert_non_null(rows);
    for (int j = 2; j < VOCAB; j++)
        rows[VOCAB + j] = -INFINITY; /* the second slot's root has two children */
    assert_int_equal(sb_decoder_advance(decoder, rows, VOCAB, &err), SB_OK);
    assert_int_equal(sb_decoder_rows(decoder, NULL, NULL, NULL), VOCAB + 2);
    assert_int_equal(sb_decoder_advance(decoder, rows, VOCAB, &err), SB_ERR_LIMIT);
    assert_int_equal(sb_decoder_take(decoder, 0, result, &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "1000000 nodes"));
    assert_int_equal(sb_decoder_take(decoder, 1, result, &err), SB_OK);
    assert_int_equal(result->n_sequences, 5);
    free(rows);
    sb_result_close(result);
    sb_decoder_close(decoder);
}

/* Without memory the decoder as a whole has failed: it can only be closed. */
static void without_memory_nothing_is_left(void **state)
{
    (void)state;
    const sb_job job = {0};
    const float rows[12] = {0};
    sb_result *result;
    sb_error err = {SB_OK, ""};
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    sb_decoder *const decoder = open_decoder(4, SB_ROW_FLOAT, 2);
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
    while (!sb_decoder_done(decoder))
        assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_OK);
    assert_int_equal(sb_decoder_finished(decoder), 0); /* not taken, and lost with the rest */
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
    alloc_fail_at(1);
    assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_ERR_MEMORY);
    assert_true(alloc_has_failed());
    alloc_fail_at(0);
    assert_non_null(strstr(err.message, "memory"));
    assert_true(sb_decoder_done(decoder));
    assert_int_equal(sb_decoder_rows(decoder, NULL, NULL, NULL), 0);
    assert_int_equal(sb_decoder_finished(decoder), -1);
    assert_int_equal(sb_decoder_take(decoder, 0, result, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_cancel(decoder, 0, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_advance(decoder, rows, 4, &err), SB_ERR_STATE);
    sb_decoder_close(decoder);
    sb_result_close(result);
}

static void calls_out_of_order(void **state)
{
    (void)state;
    sb_decoder *decoder = open_decoder(3, SB_ROW_FLOAT, 1);
    const sb_job job = {0}, hot = {.temperature = INFINITY}, wrong = {.temperature = -2};
    const float logits[9] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
    sb_error err;
    int32_t slot;
    sb_result *result;
    sb_beam_entry entry;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    assert_int_equal(sb_decoder_advance(decoder, logits, 3, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_add(decoder, &hot, &slot, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_add(decoder, &wrong, &slot, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_add(decoder, &job, &slot, &err), SB_OK);
    assert_int_equal(sb_decoder_add(decoder, &job, &slot, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_take(decoder, 0, result, &err), SB_ERR_STATE);
    assert_int_equal(sb_decoder_take(decoder, 1, result, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_advance(decoder, logits, 3, &err), SB_OK);
    assert_int_equal(sb_decoder_advance(decoder, logits, 2, &err), SB_ERR_ARGUMENT);
    assert_true(sb_decoder_beam(decoder, 0, 0, &entry) && entry.depth == 1 && entry.parent == 0);
    assert_false(sb_decoder_beam(decoder, 0, 3, &entry));
    assert_false(sb_decoder_beam(decoder, 1, 0, &entry));
    assert_int_equal(sb_decoder_cancel(decoder, 0, &err), SB_OK);
    assert_true(sb_decoder_done(decoder));
    assert_int_equal(sb_decoder_cancel(decoder, 0, &err), SB_ERR_STATE);
    sb_result_close(result);
    sb_decoder_close(decoder);
    sb_decoder_close(NULL);
    sb_result_close(NULL);

    sb_config config;
    sb_config_default(&config);
    const int32_t ban[] = {3};
    static const sb_decoder_spec bad[] = {
        {.vocab_size = 0, .eos = -1, .max_slots = 1},
        {.vocab_size = 3, .eos = 3, .max_slots = 1},
        {.vocab_size = 3, .eos = -2, .max_slots = 1},
        {.vocab_size = 3, .eos = -1, .max_slots = 0},
        {.vocab_size = 3, .eos = -1, .max_slots = 1, .row_type = (sb_row_type)5},
        {.vocab_size = 3, .eos = -1, .max_slots = 1, .max_rows = -1},
        {.vocab_size = 3, .eos = -1, .max_slots = 1}, /* with the ban */
    };
    for (int i = 0; i < 7; i++) {
        config.ban = ban;
        config.n_ban = i == 6;
        assert_int_equal(sb_decoder_open(&decoder, &bad[i], &config, &err), SB_ERR_ARGUMENT);
    }
    /* Stop strings without anybody who knows the text; more rows than the host has. */
    static const char *const stops[] = {"x"};
    const sb_decoder_spec small = {.vocab_size = 3, .eos = -1, .max_slots = 1, .max_rows = 4};
    sb_config_default(&config);
    config.stop = stops;
    config.n_stop = 1;
    assert_int_equal(sb_decoder_open(&decoder, &small, &config, &err), SB_ERR_ARGUMENT);
    sb_config_default(&config);
    assert_int_equal(sb_decoder_open(&decoder, &small, &config, &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "k = 5 needs 6 rows"));
    config.method = SB_METHOD_EXPLICIT;
    config.k = 1;
    assert_int_equal(sb_decoder_open(&decoder, &small, &config, &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "explicit"));
}

static int cannot_tell(void *user, const int32_t *tokens, int32_t n_tokens)
{
    (void)user;
    (void)tokens;
    return n_tokens < 2 ? 0 : -1;
}

/* The most rows that rejection asks for, when 20 of 50 sequences are wanted: the first of two
 * tokens is any, the second certain, so that a round of n samples needs nearly n rows. */
static int32_t most_rows_of_reject(int32_t max_rows)
{
    enum { VOCAB = 50 };
    static float rows[100 * VOCAB];
    sb_config config = config_of(SB_METHOD_REJECT, 20);
    config.max_len = 2;
    const sb_decoder_spec spec = {.vocab_size = VOCAB,
                                  .eos = -1,
                                  .row_type = SB_ROW_FLOAT,
                                  .max_slots = 1,
                                  .max_rows = max_rows};
    sb_decoder *decoder;
    sb_error err;
    int32_t most = 0;
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, &err), SB_OK);
    for (uint64_t d = 0; d < 20; d++) {
        assert_int_equal(sb_decoder_add(decoder, &(sb_job){.draw = d}, NULL, &err), SB_OK);
        while (!sb_decoder_done(decoder)) {
            const int32_t *parent;
            const int32_t n = sb_decoder_rows(decoder, &parent, NULL, NULL);
            most = n > most ? n : most;
            for (int32_t i = 0; i < n * VOCAB; i++)
                rows[i] = parent[0] >= 0 && i % VOCAB > 0 ? -INFINITY : 0;
            assert_int_equal(sb_decoder_advance(decoder, rows, VOCAB, &err), SB_OK);
        }
        assert_int_equal(sb_decoder_finished(decoder), 0);
        assert_int_equal(sb_decoder_cancel(decoder, 0, &err), SB_OK);
    }
    sb_decoder_close(decoder);
    return most;
}

static void reject_keeps_to_the_rows(void **state)
{
    (void)state;
    assert_true(most_rows_of_reject(0) > 20);
    assert_true(most_rows_of_reject(20) <= 20);
    assert_true(most_rows_of_reject(23) <= 23);
}

/* A stop that cannot be told is a failure. */
static void stops_that_cannot_be_told(void **state)
{
    (void)state;
    sb_config config;
    const sb_decoder_spec spec = {.vocab_size = 3,
                                  .eos = -1,
                                  .row_type = SB_ROW_FLOAT,
                                  .max_slots = 1,
                                  .is_stop = cannot_tell};
    const sb_job job = {0};
    const float rows[8 * 3] = {0};
    sb_decoder *decoder;
    sb_error err;
    sb_config_default(&config);
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, &err), SB_OK);
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_OK);
    assert_int_equal(sb_decoder_advance(decoder, rows, 3, &err), SB_OK);
    assert_int_equal(sb_decoder_advance(decoder, rows, 3, &err), SB_ERR_MEMORY);
    assert_int_equal(sb_decoder_finished(decoder), -1);
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, &err), SB_ERR_STATE);
    sb_decoder_close(decoder);
}

/* The step interface gives what the one call gives, jobs joining at any time. */
static void steps_equal_the_call(void **state)
{
    (void)state;
    enum { VOCAB = 40, JOBS = 9, SLOTS = 4 };
    sb_model *const model = hash_model(VOCAB);
    sb_session *session;
    sb_decoder *decoder;
    sb_error err;
    sb_config config;
    sb_config_default(&config);
    config.max_len = 5;
    config.seed = 77;
    config.search = SB_SEARCH_LEVEL;
    const sb_decoder_spec spec = {
        .vocab_size = VOCAB, .eos = -1, .row_type = SB_ROW_FLOAT, .max_slots = SLOTS};
    assert_int_equal(sb_decoder_open(&decoder, &spec, &config, &err), SB_OK);
    assert_int_equal(
        sb_session_open(&session, model, &(sb_session_spec){.max_inputs = SLOTS}, &err), SB_OK);
    static float rows[SLOTS * 6 * VOCAB];
    sb_result *result;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    int started = 0, finished = 0;
    for (int step = 0; finished < JOBS; step++) {
        int32_t slot;
        if (started < JOBS && step % 2 == 0) {
            const sb_job job = {.draw = (uint64_t)started};
            if (sb_decoder_add(decoder, &job, &slot, &err) == SB_OK)
                started++;
        }
        const int32_t *parent, *token, *input;
        const int32_t n = sb_decoder_rows(decoder, &parent, &token, &input);
        assert_int_equal(session_rows(session, n, parent, token, input, rows, &err), SB_OK);
        assert_int_equal(sb_decoder_advance(decoder, rows, VOCAB, &err), SB_OK);
        while ((slot = sb_decoder_finished(decoder)) >= 0) {
            assert_int_equal(sb_decoder_take(decoder, slot, result, &err), SB_OK);
            sb_result *const expected = draw(model, &config, result->draw);
            assert_same_results(expected, result);
            sb_result_close(expected);
            finished++;
        }
    }
    assert_true(sb_decoder_done(decoder));
    sb_result_close(result);
    sb_session_close(session);
    sb_decoder_close(decoder);
    sb_model_close(model);
}

/* Rows of numbers that a float holds are the same draw in either type, changed at any step; and a
 * type that is none is refused. */
static void row_types_may_change(void **state)
{
    (void)state;
    sb_result *expected, *found;
    sb_error err;
    assert_int_equal(sb_result_open(&expected, NULL), SB_OK);
    assert_int_equal(sb_result_open(&found, NULL), SB_OK);
    for (int pattern = 0; pattern < 8; pattern++) {
        sb_decoder *const same = open_decoder(4, SB_ROW_FLOAT, 1);
        sb_decoder *const changing = open_decoder(4, SB_ROW_FLOAT, 1);
        assert_int_equal(sb_decoder_add(same, &(sb_job){0}, NULL, &err), SB_OK);
        assert_int_equal(sb_decoder_add(changing, &(sb_job){0}, NULL, &err), SB_OK);
        for (int step = 0; step < 3; step++) {
            float f[12];
            double d[12];
            fill_rows(f, 3, step);
            for (int i = 0; i < 12; i++)
                d[i] = (double)f[i];
            const sb_row_type type = pattern >> step & 1 ? SB_ROW_DOUBLE : SB_ROW_FLOAT;
            assert_int_equal(sb_decoder_set_row_type(changing, type, &err), SB_OK);
            const void *const rows = type == SB_ROW_FLOAT ? (const void *)f : (const void *)d;
            assert_int_equal(sb_decoder_advance(changing, rows, 4, &err), SB_OK);
            assert_int_equal(sb_decoder_advance(same, f, 4, &err), SB_OK);
        }
        assert_int_equal(sb_decoder_take(same, 0, expected, &err), SB_OK);
        assert_int_equal(sb_decoder_take(changing, 0, found, &err), SB_OK);
        assert_int_equal(expected->n_sequences, found->n_sequences);
        for (int32_t i = 0; i < found->n_sequences; i++) {
            const sb_sequence *const a = &expected->sequences[i], *const b = &found->sequences[i];
            assert_memory_equal(a->tokens, b->tokens, 3 * sizeof *a->tokens);
            assert_true(fabs(a->log_p - b->log_p) < 1e-5); /* float rows are summed in float */
        }
        assert_int_equal(sb_decoder_set_row_type(changing, (sb_row_type)2, &err), SB_ERR_ARGUMENT);
        assert_int_equal(sb_decoder_set_row_type(NULL, SB_ROW_FLOAT, &err), SB_ERR_ARGUMENT);
        sb_decoder_close(same);
        sb_decoder_close(changing);
    }
    sb_result_close(expected);
    sb_result_close(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_no_distribution),
        cmocka_unit_test(one_slot_fails_alone),
        cmocka_unit_test(one_tree_is_too_large),
        cmocka_unit_test(without_memory_nothing_is_left),
        cmocka_unit_test(calls_out_of_order),
        cmocka_unit_test(reject_keeps_to_the_rows),
        cmocka_unit_test(stops_that_cannot_be_told),
        cmocka_unit_test(steps_equal_the_call),
        cmocka_unit_test(row_types_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
