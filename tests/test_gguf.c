/* Tests draws from GGUF models against llama.cpp itself. */
#ifdef SBEAM_HAVE_LLAMA
#include "gguf_check.h"

static const char *const lily =
    ", there was a little girl named Lily. She loved to play outside in "
    "the park. One day, she saw a big, red ball.";

/* log p of the tokens after the prompt, and of EOS where they end with it. */
static double plain_log_p(struct plain *p, const char *text, const sb_sequence *s, int32_t eos)
{
    const float *logits = plain_start(p, text);
    double log_p = 0;
    for (int32_t i = 0; i < s->n_tokens; i++) {
        log_p += logits[s->tokens[i]] - log_sum(logits, p->n_vocab);
        if (i + 1 < s->n_tokens || s->end == SB_END_EOS)
            logits = plain_step(p, s->tokens[i]);
    }
    return s->end == SB_END_EOS ? log_p + logits[eos] - log_sum(logits, p->n_vocab) : log_p;
}

/* The same first n sequences, as far as the noise of the logits allows. It is about 3e-6 in G, so
 * that in hundreds of sequences some neighbours change places, and in ten thousand choices of a
 * child one may fall to another: one in fifty may differ. */
static void assert_close(const sb_result *a, const sb_result *b, int32_t n)
{
    int32_t n_different = 0;
    assert_true(a->n_sequences >= n && b->n_sequences >= n);
    for (int32_t i = 0; i < n; i++) {
        const sb_sequence *const s = &a->sequences[i], *const t = &b->sequences[i];
        assert_true(fabs(s->g - t->g) < 1e-4);
        if (s->n_tokens != t->n_tokens ||
            memcmp(s->tokens, t->tokens, (size_t)s->n_tokens * sizeof *s->tokens) != 0)
            n_different++;
        else
            assert_true(fabs(s->log_p - t->log_p) < 1e-4);
    }
    if (n_different > n / 50)
        fail_msg("%d of %d sequences differ", n_different, n);
}

static void assert_distinct_and_ordered(const sb_result *r)
{
    for (int32_t i = 0; i < r->n_sequences; i++) {
        const sb_sequence *const s = &r->sequences[i];
        assert_true(i == 0 || s->g <= r->sequences[i - 1].g);
        for (int32_t j = 0; j < i; j++) {
            const sb_sequence *const t = &r->sequences[j];
            assert_true(s->n_tokens != t->n_tokens || s->end != t->end ||
                        memcmp(s->tokens, t->tokens, (size_t)s->n_tokens * sizeof *s->tokens) != 0);
        }
    }
}

static void greedy_is_llamas(void **state)
{
    (void)state;
    static const char *const prompts[] = {"Once upon a time", "", "The little dog", "One day, a"};
    struct plain p = plain_open(gguf_path());
    sb_model *const model = open_file(gguf_path());
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
        const sb_config config = settings(SB_METHOD_BEAM, 1, 60);
        sb_result *const r = draw_from(model, prompts[i], &config);
        const float *logits = plain_start(&p, prompts[i]);
        for (int32_t j = 0; j < r->sequences[0].n_tokens; j++) {
            int32_t best = 0;
            for (int32_t t = 1; t < p.n_vocab; t++)
                best = logits[t] > logits[best] ? t : best;
            assert_int_equal(r->sequences[0].tokens[j], best);
            logits = plain_step(&p, best);
        }
        char *text;
        assert_int_equal(
            sb_model_decode(model, r->sequences[0].tokens, r->sequences[0].n_tokens, &text, NULL),
            SB_OK);
        if (i == 0)
            assert_memory_equal(text, lily, strlen(lily));
        sb_free(text);
        sb_result_close(r);
    }
    sb_model_close(model);
    plain_close(&p);
}

/* Draws greedily and expects the tokens of llama.cpp, to which `special` says how to read the
 * prompt. Returns the tokens; the caller closes the result. */
static sb_result *draw_as_llama(struct plain *p, const sb_model *model, const char *text,
                                bool special)
{
    const sb_config config = settings(SB_METHOD_BEAM, 1, 20);
    sb_result *const r = draw_from(model, text, &config);
    const float *logits = plain_start_with(p, text, special);
    assert_true(r->sequences[0].n_tokens > 0);
    for (int32_t j = 0; j < r->sequences[0].n_tokens; j++) {
        int32_t best = 0;
        for (int32_t t = 1; t < p->n_vocab; t++)
            best = logits[t] > logits[best] ? t : best;
        assert_int_equal(r->sequences[0].tokens[j], best);
        logits = plain_step(p, best);
    }
    return r;
}

/* The names of special tokens are text, unless sb_model_set_special is on; then they are tokens,
 * but only in prompts. */
static void special_tokens_are_text_by_default(void **state)
{
    (void)state;
    static const char text[] = "The end.</s><s>Tom";
    struct plain p = plain_open(gguf_path());
    sb_model *const model = open_file(gguf_path());
    assert_false(sb_model_is_special(model));
    sb_result *const off = draw_as_llama(&p, model, text, false);
    assert_int_equal(sb_model_set_special(model, true, NULL), SB_OK);
    assert_true(sb_model_is_special(model));
    sb_result *const on = draw_as_llama(&p, model, text, true);
    assert_true(off->sequences[0].n_tokens != on->sequences[0].n_tokens ||
                off->sequences[0].log_p != on->sequences[0].log_p);
    for (int i = 0; i < 2; i++) {
        int32_t *tokens, n;
        char *back;
        assert_int_equal(sb_model_set_special(model, i == 0, NULL), SB_OK);
        assert_int_equal(sb_model_encode(model, text, strlen(text), &tokens, &n, NULL), SB_OK);
        assert_int_equal(sb_model_decode(model, tokens, n, &back, NULL), SB_OK);
        assert_string_equal(back, text);
        sb_free(tokens);
        sb_free(back);
    }
    sb_result_close(off);
    sb_result_close(on);
    sb_model_close(model);
    plain_close(&p);
}

static void log_probabilities_are_llamas(void **state)
{
    (void)state;
    struct plain p = plain_open(gguf_path());
    sb_model *const model = open_file(gguf_path());
    const int32_t eos = sb_model_get_info(model)->eos;
    double worst = 0;
    for (int32_t k = 16; k <= 128; k *= 8) {
        sb_config config = settings(SB_METHOD_SBS, k, k == 16 ? 48 : 20);
        config.temperature = 0.7;
        sb_result *const r = draw_from(model, prompt, &config);
        for (int32_t i = 0; i < k; i += k / 16) {
            const sb_sequence *const s = &r->sequences[i];
            const double expected = plain_log_p(&p, prompt, s, eos);
            worst = fmax(worst, fabs(s->log_p_model - expected));
            double *const scores = malloc((size_t)s->n_tokens * sizeof *scores), sum = 0;
            assert_int_equal(
                sb_score(model, prompt, strlen(prompt), s->tokens, s->n_tokens, scores, NULL),
                SB_OK);
            for (int32_t j = 0; j < s->n_tokens; j++)
                sum += scores[j];
            if (s->end != SB_END_EOS)
                worst = fmax(worst, fabs(sum - expected));
            free(scores);
        }
        sb_result_close(r);
    }
    print_message("largest difference of a log-probability: %.1e\n", worst);
    assert_true(worst < 1e-4);
    sb_model_close(model);
    plain_close(&p);
}

static void draws_are_distinct_and_nested(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    const sb_config few = settings(SB_METHOD_SBS, 16, 12);
    const sb_config many = settings(SB_METHOD_SBS, 200, 12),
                    most = settings(SB_METHOD_SBS, 255, 12);
    sb_result *const a = draw_from(model, prompt, &few), *const b = draw_from(model, prompt, &many),
                     *const c = draw_from(model, prompt, &most);
    assert_int_equal(a->n_sequences, 16);
    assert_int_equal(b->n_sequences, 200);
    assert_int_equal(c->n_sequences, 255);
    assert_distinct_and_ordered(a);
    assert_distinct_and_ordered(b);
    assert_distinct_and_ordered(c);
    assert_close(a, b, 16);
    assert_close(b, c, 200);
    assert_true(fabs(a->kappa - b->sequences[16].g) < 1e-4);
    assert_true(fabs(b->kappa - c->sequences[200].g) < 1e-4);
    sb_result_close(a);
    sb_result_close(b);
    sb_result_close(c);
    sb_model_close(model);
}

static void too_many_rows_are_refused(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    sb_config config = settings(SB_METHOD_SBS, 256, 8);
    sb_result *result;
    sb_error err = {.message = ""};
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    assert_int_equal(sb_draw(model, prompt, &config, result, &err), SB_ERR_LIMIT);
    assert_string_equal(err.message, "k = 256 needs 257 rows at once; the model allows 256");
    config.kappa = false;
    assert_int_equal(sb_draw(model, prompt, &config, result, &err), SB_OK);
    assert_int_equal(result->n_sequences, 256);
    config.max_len = 1; /* more sequences than cells that are needed */
    assert_int_equal(sb_draw(model, prompt, &config, result, &err), SB_OK);
    assert_int_equal(result->n_sequences, 256);
    sb_result_close(result);
    sb_model_close(model);
}

/* Short and long prompts together: the context is made anew for the long one, in the middle. */
static void inputs_travel_together(void **state)
{
    (void)state;
    enum { N = 5, DRAWS = 3 };
    sb_model *const model = open_file(gguf_path());
    char story[1200] = "";
    for (int i = 0; i < 8; i++)
        strcat(story, "Lily and Tom went to the park with a big red ball. ");
    sb_input inputs[N] = {{.text = prompt},
                          {.text = "Tom"},
                          {.text = story},
                          {.text = prompt},
                          {.text = "The big dog was"}};
    sb_result *results[N * DRAWS];
    for (uint64_t i = 0; i < N; i++) {
        inputs[i].size = strlen(inputs[i].text);
        inputs[i].stream = i;
    }
    for (size_t i = 0; i < N * DRAWS; i++)
        assert_int_equal(sb_result_open(&results[i], NULL), SB_OK);
    const sb_config config = settings(SB_METHOD_SBS, 6, 30);
    sb_plan plan;
    sb_plan_default(&plan);
    plan.n_draws = DRAWS;
    plan.batch = 4;
    sb_error err = {.message = ""};
    if (sb_draw_batch(model, inputs, N, &config, &plan, results, &err) != SB_OK)
        fail_msg("%s", err.message);
    sb_result *alone;
    assert_int_equal(sb_result_open(&alone, NULL), SB_OK);
    for (size_t i = 0; i < N; i++)
        for (uint64_t d = 0; d < DRAWS; d++) {
            sb_plan_default(&plan);
            plan.first_draw = d;
            assert_int_equal(sb_draw_batch(model, &inputs[i], 1, &config, &plan, &alone, &err),
                             SB_OK);
            assert_close(results[i * DRAWS + d], alone, 6);
            assert_distinct_and_ordered(alone);
        }
    sb_result_close(alone);
    for (size_t i = 0; i < N * DRAWS; i++)
        sb_result_close(results[i]);
    sb_model_close(model);
}

/* With all 256 sequences for rows the prompt is not kept, but evaluated again. */
static void draws_of_the_largest_k(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    const sb_config most = settings(SB_METHOD_SBS, 255, 6), few = settings(SB_METHOD_SBS, 4, 6);
    const sb_input input = {.text = prompt, .size = strlen(prompt)};
    sb_result *all[3], *some[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sb_result_open(&all[i], NULL), SB_OK);
        assert_int_equal(sb_result_open(&some[i], NULL), SB_OK);
    }
    sb_plan plan;
    sb_plan_default(&plan);
    plan.n_draws = 3;
    assert_int_equal(sb_draw_batch(model, &input, 1, &most, &plan, all, NULL), SB_OK);
    assert_int_equal(sb_draw_batch(model, &input, 1, &few, &plan, some, NULL), SB_OK);
    for (int i = 0; i < 3; i++) {
        assert_close(all[i], some[i], 4);
        sb_result_close(all[i]);
        sb_result_close(some[i]);
    }
    sb_model_close(model);
}

/* After a step that was refused no row is alive, and all sequences are there for the next ones. */
static void a_refused_step_leaves_no_rows(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    const size_t n_vocab = (size_t)sb_model_get_info(model)->vocab_size;
    const sb_session_spec spec = {.max_inputs = 2, .max_rows = 4, .max_len = 8};
    float *const rows = malloc(4 * n_vocab * sizeof *rows), *const expected = malloc(
                                                                2 * n_vocab * sizeof *expected);
    const int32_t none[] = {-1, -1}, inputs[] = {1, 0, 0, 0}, back[] = {1, 0, 0, 0};
    const int32_t pair[] = {0, 1}, tokens[] = {300, 310, 320, 330};
    for (int is_refused = 0; is_refused < 2; is_refused++) {
        sb_session *session;
        assert_int_equal(sb_session_open(&session, model, &spec, NULL), SB_OK);
        assert_int_equal(sb_session_begin(session, 0, prompt, strlen(prompt), NULL), SB_OK);
        assert_int_equal(sb_session_begin(session, 1, "Tom", 3, NULL), SB_OK);
        assert_int_equal(session_rows(session, 2, none, none, pair, rows, NULL), SB_OK);
        if (is_refused) {
            assert_int_equal(session_rows(session, 4, back, tokens, inputs, rows, NULL), SB_OK);
            assert_int_equal(sb_session_begin(session, 0, prompt, strlen(prompt), NULL), SB_OK);
            assert_int_equal(session_rows(session, 1, pair + 1, tokens, inputs, rows, NULL),
                             SB_ERR_STATE);
            assert_int_equal(session_rows(session, 2, none, none, pair, rows, NULL), SB_OK);
        }
        assert_int_equal(session_rows(session, 2, pair, tokens, pair, rows, NULL), SB_OK);
        for (size_t j = 0; j < 2 * n_vocab; j++)
            if (is_refused)
                assert_true(fabsf(rows[j] - expected[j]) < 1e-4F);
            else
                expected[j] = rows[j];
        sb_session_close(session);
    }
    free(rows);
    free(expected);
    sb_model_close(model);
}

/* Where the prompt of one input could not be evaluated, the others are lost with it: nothing goes
 * on from an empty cache, and nothing begins without its prompt. */
static void a_failed_prompt_is_told_to_all(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    const sb_session_spec spec = {.max_inputs = 3, .max_rows = 2, .max_len = 1};
    float *const row = malloc((size_t)sb_model_get_info(model)->vocab_size * sizeof *row);
    const int32_t none = -1, first = 0, input = 0, other = 1, token = 300;
    sb_session *session;
    sb_error err = {.message = ""};
    char story[200] = "";
    for (int i = 0; i < 4; i++)
        strcat(story, "Lily and Tom went to the park. ");
    assert_int_equal(sb_session_open(&session, model, &spec, NULL), SB_OK);
    assert_int_equal(sb_session_begin(session, 0, "Tom", 3, NULL), SB_OK);
    assert_int_equal(sb_session_begin(session, 1, "Lily", 4, NULL), SB_OK);
    assert_int_equal(session_rows(session, 1, &none, &none, &input, row, NULL), SB_OK);
    for (int i = 0; i < 480; i++) /* far more than it has been opened for */
        assert_int_equal(session_rows(session, 1, &first, &token, &input, row, NULL), SB_OK);
    assert_int_equal(sb_session_begin(session, 2, story, strlen(story), &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "its context is full"));
    err.message[0] = '\0';
    assert_int_equal(session_rows(session, 1, &first, &token, &input, row, &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "its context is full"));
    assert_int_equal(session_rows(session, 1, &none, &none, &other, row, &err), SB_ERR_LIMIT);
    assert_int_equal(sb_session_begin(session, 1, "Lily", 4, NULL), SB_OK);
    assert_int_equal(session_rows(session, 1, &none, &none, &other, row, &err), SB_OK);
    sb_session_close(session);
    free(row);
    sb_model_close(model);
}

/* They are llama.cpp's: there is one context, and it has them. */
static void threads_change_nothing(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    const sb_config config = settings(SB_METHOD_SBS, 5, 6);
    const sb_input input = {.text = prompt, .size = strlen(prompt)};
    sb_result *one = draw_from(model, prompt, &config), *two;
    assert_int_equal(sb_result_open(&two, NULL), SB_OK);
    sb_plan plan;
    sb_plan_default(&plan);
    plan.threads = 2;
    assert_int_equal(sb_draw_batch(model, &input, 1, &config, &plan, &two, NULL), SB_OK);
    assert_close(one, two, 5);
    sb_result_close(one);
    sb_result_close(two);
    sb_model_close(model);
}

static void every_method_draws(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    for (int method = 0; sb_method_name((sb_method)method) != NULL; method++) {
        sb_config config = settings((sb_method)method, 6, 10);
        sb_result *result;
        sb_error err = {.message = ""};
        assert_int_equal(sb_result_open(&result, NULL), SB_OK);
        const sb_status status = sb_draw(model, prompt, &config, result, &err);
        assert_int_equal(status, method == SB_METHOD_EXPLICIT ? SB_ERR_LIMIT : SB_OK);
        if (status == SB_OK)
            assert_int_equal(result->n_sequences, 6);
        sb_result_close(result);
    }
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_is_llamas),
        cmocka_unit_test(special_tokens_are_text_by_default),
        cmocka_unit_test(log_probabilities_are_llamas),
        cmocka_unit_test(draws_are_distinct_and_nested),
        cmocka_unit_test(too_many_rows_are_refused),
        cmocka_unit_test(inputs_travel_together),
        cmocka_unit_test(draws_of_the_largest_k),
        cmocka_unit_test(a_refused_step_leaves_no_rows),
        cmocka_unit_test(a_failed_prompt_is_told_to_all),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(every_method_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else
#include <stdio.h>

int main(void)
{
    puts("skipped: GGUF models: this build is without llama.cpp");
    return 77; /* as meson wants to be told */
}
#endif
