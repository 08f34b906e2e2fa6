/* GGUF models through llama.cpp, held to llama.cpp itself: a context with one sequence, one token
 * at a time, whose logits are normalised here.
 *
 * SBEAM_GGUF names the model, stories260K.gguf (260 thousand parameters, 512 tokens); without it,
 * and in a build without llama.cpp, what needs it says that it was skipped. */
#include <unistd.h>

#include "draw_check.h"
#include "model_check.h"

/* A file of these bytes, whose name is written to path. */
static void write_file(char *path, const void *data, size_t size)
{
    strcpy(path, "/tmp/sbeam-test-XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, size), size);
    close(file);
}

/* Opens a file of these bytes and expects to be refused. */
static void expect_refusal(const void *data, size_t size, const char *message)
{
    char path[64];
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    write_file(path, data, size);
    const sb_status status = sb_model_open(&model, path, &err);
    unlink(path);
    assert_null(model);
    assert_int_equal(status, SB_ERR_FORMAT);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in: %s", message, err.message);
}

#ifndef SBEAM_HAVE_LLAMA

static void without_llama_it_says_how_to_get_it(void **state)
{
    (void)state;
    expect_refusal("GGUF\3\0\0\0", 8, "scripts/setup --with llama");
}

int main(void)
{
    print_message("skipped: GGUF models: this build is without llama.cpp\n");
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_llama_it_says_how_to_get_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#include <llama.h>

static const char *const prompt = "Once upon a time";
static const char *const lily =
    ", there was a little girl named Lily. She loved to play outside in "
    "the park. One day, she saw a big, red ball.";

static const char *gguf_path(void)
{
    const char *const path = getenv("SBEAM_GGUF");
    if (path == NULL || path[0] == '\0') {
        print_message("skipped: GGUF models: SBEAM_GGUF names no file\n");
        skip();
    }
    return path;
}

/* --- llama.cpp by itself --- */

struct plain {
    struct llama_model *model;
    struct llama_context *context;
    const struct llama_vocab *vocab;
    int32_t n_vocab;
    int32_t position;
};

static void keep_quiet(enum ggml_log_level level, const char *text, void *user)
{
    (void)level, (void)text, (void)user;
}

static struct plain plain_open(const char *path)
{
    llama_log_set(keep_quiet, NULL);
    struct plain p = {.model = llama_model_load_from_file(path, llama_model_default_params())};
    assert_non_null(p.model);
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = 512;
    params.type_k = params.type_v = GGML_TYPE_F32;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    params.n_threads = params.n_threads_batch = 1;
    p.context = llama_init_from_model(p.model, params);
    assert_non_null(p.context);
    p.vocab = llama_model_get_vocab(p.model);
    p.n_vocab = llama_vocab_n_tokens(p.vocab);
    return p;
}

static void plain_close(struct plain *p)
{
    llama_free(p->context);
    llama_model_free(p->model);
}

/* Evaluates one more token, and gives the logits after it. */
static const float *plain_step(struct plain *p, int32_t token)
{
    p->position++;
    assert_int_equal(llama_decode(p->context, llama_batch_get_one(&token, 1)), 0);
    return llama_get_logits_ith(p->context, 0);
}

/* Starts anew with a prompt, token by token. */
static const float *plain_start(struct plain *p, const char *text)
{
    int32_t tokens[512];
    const int32_t n =
        llama_tokenize(p->vocab, text, (int32_t)strlen(text), tokens, 512, true, true);
    assert_true(n > 0);
    llama_memory_clear(llama_get_memory(p->context), true);
    p->position = 0;
    const float *logits = NULL;
    for (int32_t i = 0; i < n; i++)
        logits = plain_step(p, tokens[i]);
    return logits;
}

static double log_sum(const float *logits, int32_t n)
{
    double top = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n; i++)
        top = fmax(top, logits[i]);
    for (int32_t i = 0; i < n; i++)
        sum += exp(logits[i] - top);
    return top + log(sum);
}

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

/* --- what the tests share --- */

static sb_config settings(sb_method method, int32_t k, int32_t max_len)
{
    sb_config config = config_of(method, k);
    config.max_len = max_len;
    config.seed = 7;
    return config;
}

static sb_result *draw_from(const sb_model *model, const char *text, const sb_config *config)
{
    sb_result *result;
    sb_error err = {.message = ""};
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    if (sb_draw(model, text, config, result, &err) != SB_OK)
        fail_msg("%s", err.message);
    return result;
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

/* --- tests --- */

static void greedy_is_llamas(void **state)
{
    (void)state;
    static const char *const prompts[] = {"Once upon a time", "", "The little dog", "One day, a",
                                          "The end.</s><s>Tom"};
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
    float *const rows = malloc(4 * n_vocab * sizeof *rows),
                 *const expected = malloc(2 * n_vocab * sizeof *expected);
    const int32_t none[] = {-1, -1}, inputs[] = {1, 0, 0, 0}, back[] = {1, 0, 0, 0};
    const int32_t pair[] = {0, 1}, tokens[] = {300, 310, 320, 330};
    for (int is_refused = 0; is_refused < 2; is_refused++) {
        sb_session *session;
        assert_int_equal(sb_session_open(&session, model, &spec, NULL), SB_OK);
        assert_int_equal(sb_session_begin(session, 0, prompt, strlen(prompt), NULL), SB_OK);
        assert_int_equal(sb_session_begin(session, 1, "Tom", 3, NULL), SB_OK);
        assert_int_equal(sb_session_step(session, 2, none, none, pair, rows, NULL), SB_OK);
        if (is_refused) {
            assert_int_equal(sb_session_step(session, 4, back, tokens, inputs, rows, NULL), SB_OK);
            assert_int_equal(sb_session_begin(session, 0, prompt, strlen(prompt), NULL), SB_OK);
            assert_int_equal(sb_session_step(session, 1, pair + 1, tokens, inputs, rows, NULL),
                             SB_ERR_STATE);
            assert_int_equal(sb_session_step(session, 2, none, none, pair, rows, NULL), SB_OK);
        }
        assert_int_equal(sb_session_step(session, 2, pair, tokens, pair, rows, NULL), SB_OK);
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
    assert_int_equal(sb_session_step(session, 1, &none, &none, &input, row, NULL), SB_OK);
    for (int i = 0; i < 480; i++) /* far more than it has been opened for */
        assert_int_equal(sb_session_step(session, 1, &first, &token, &input, row, NULL), SB_OK);
    assert_int_equal(sb_session_begin(session, 2, story, strlen(story), &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "its context is full"));
    err.message[0] = '\0';
    assert_int_equal(sb_session_step(session, 1, &first, &token, &input, row, &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "its context is full"));
    assert_int_equal(sb_session_step(session, 1, &none, &none, &other, row, &err), SB_ERR_LIMIT);
    assert_int_equal(sb_session_begin(session, 1, "Lily", 4, NULL), SB_OK);
    assert_int_equal(sb_session_step(session, 1, &none, &none, &other, row, &err), SB_OK);
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

static void text_comes_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        lily, " there was", "there", "", " caf\xc3\xa9 \xe2\x82\xac.", "\nTwo  blanks\n"};
    sb_model *const model = open_file(gguf_path());
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int32_t *tokens, n;
        char *text;
        sb_error err = {.message = ""};
        if (sb_model_encode(model, texts[i], strlen(texts[i]), &tokens, &n, &err) != SB_OK)
            fail_msg("'%s': %s", texts[i], err.message);
        assert_int_equal(sb_model_decode(model, tokens, n, &text, NULL), SB_OK);
        assert_string_equal(text, texts[i]);
        sb_free(text);
        sb_free(tokens);
    }
    sb_model_close(model);
}

static void stop_strings_end_sequences(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    sb_config config = settings(SB_METHOD_BEAM, 1, 60);
    const char *const stop[] = {"park", ". One"};
    config.stop = stop;
    config.n_stop = 2;
    sb_result *const r = draw_from(model, prompt, &config);
    char *text;
    assert_int_equal(r->sequences[0].end, SB_END_STOP);
    assert_int_equal(
        sb_model_decode(model, r->sequences[0].tokens, r->sequences[0].n_tokens, &text, NULL),
        SB_OK);
    assert_non_null(strstr(text, "outside in the park"));
    assert_null(strstr(text, "park. "));
    sb_free(text);
    sb_result_close(r);
    sb_model_close(model);
}

static void wrong_inputs_are_refused(void **state)
{
    (void)state;
    sb_model *const model = open_file(gguf_path());
    char *const long_text = malloc(8000);
    memset(long_text, 'a', 7999);
    long_text[7999] = '\0';
    static const sb_session_spec no_rows = {.max_inputs = 1, .max_len = 5};
    static const sb_session_spec too_many = {.max_inputs = 40, .max_rows = 240, .max_len = 5};
    static const sb_session_spec most = {.max_inputs = INT32_MAX, .max_rows = 1, .max_len = 5};
    const struct {
        const char *text, *message;
        int32_t max_len;
    } wrong[] = {{"\xff\xfe", "not UTF-8", 10},
                 {long_text, "shorten the prompt", 10},
                 {prompt, "lower max-len", 512}};
    sb_result *result;
    sb_error err = {.message = ""};
    assert_int_equal(sb_result_open(&result, NULL), SB_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const sb_config config = settings(SB_METHOD_SBS, 2, wrong[i].max_len);
        assert_int_equal(sb_draw(model, wrong[i].text, &config, result, &err), SB_ERR_INPUT);
        assert_non_null(strstr(err.message, wrong[i].message));
    }
    sb_session *session;
    assert_int_equal(sb_session_open(&session, model, &no_rows, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_open(&session, model, &too_many, &err), SB_ERR_LIMIT);
    assert_int_equal(sb_session_open(&session, model, &most, &err), SB_ERR_LIMIT);
    sb_result_close(result);
    free(long_text);
    sb_model_close(model);
}

/* --- files --- */

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *const data = malloc(*size + 4096);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *size, file), *size);
    fclose(file);
    return data;
}

static size_t put(uint8_t *to, uint64_t value, size_t size)
{
    memcpy(to, &value, size); /* little-endian, as is every machine that this runs on */
    return size;
}

static size_t put_text(uint8_t *to, const char *text)
{
    const size_t size = put(to, strlen(text), 8);
    memcpy(to + size, text, strlen(text));
    return size + strlen(text);
}

enum { BOOL = 7, UINT32 = 4, STRING = 8 }; /* types of metadata */

/* Adds two entries to a file's metadata: a number of so many bytes, and a comment that makes them a
 * multiple of the alignment, so that everything after them stays where it must be. */
static void add_entry(uint8_t *data, size_t *size, const char *name, uint32_t type, uint64_t value,
                      size_t value_size)
{
    enum { HEADER = 24, ADDED = 128 };
    uint8_t added[ADDED];
    char comment[ADDED] = "";
    size_t n = put_text(added, name);
    n += put(added + n, type, 4);
    n += put(added + n, value, value_size);
    n += put_text(added + n, "general.comment");
    n += put(added + n, STRING, 4);
    memset(comment, '.', ADDED - n - 8);
    n += put_text(added + n, comment);
    assert_int_equal(n, ADDED);
    uint64_t n_entries;
    memcpy(&n_entries, data + 16, 8);
    put(data + 16, n_entries + 2, 8);
    memmove(data + HEADER + ADDED, data + HEADER, *size - HEADER);
    memcpy(data + HEADER, added, ADDED);
    *size += ADDED;
}

static void tokens_that_end_are_one_leaf(void **state)
{
    (void)state;
    sb_model *model = open_file(gguf_path());
    const int32_t eos = sb_model_get_info(model)->eos, other = token_of(model, ".");
    sb_model_close(model);
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    char path[64];
    add_entry(data, &size, "tokenizer.ggml.eot_token_id", UINT32, (uint64_t)other, 4);
    write_file(path, data, size);
    free(data);
    model = open_file(path);
    struct plain p = plain_open(path);
    unlink(path);
    assert_true(llama_vocab_is_eog(p.vocab, other));
    assert_int_equal(sb_model_get_info(model)->eos, eos);
    const char *const text = "Lily went home";
    const float *const logits = plain_start(&p, text);
    const double expected =
        log(exp((double)logits[eos]) + exp((double)logits[other])) - log_sum(logits, p.n_vocab);
    double scores[2];
    assert_int_equal(sb_score(model, text, strlen(text), &eos, 1, &scores[0], NULL), SB_OK);
    assert_int_equal(sb_score(model, text, strlen(text), &other, 1, &scores[1], NULL), SB_OK);
    assert_true(fabs(scores[0] - expected) < 1e-4);
    assert_true(scores[0] > log(0.05)); /* so that it says something */
    assert_true(scores[1] == -INFINITY);
    sb_model_close(model);
    plain_close(&p);
}

/* Some models put their end token after a text; an output does not go on from there. */
static void prompts_do_not_end(void **state)
{
    (void)state;
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    char path[64];
    add_entry(data, &size, "tokenizer.ggml.add_eos_token", BOOL, true, 1);
    write_file(path, data, size);
    free(data);
    sb_model *const models[] = {open_file(gguf_path()), open_file(path)};
    unlink(path);
    double scores[2];
    for (int i = 0; i < 2; i++) {
        const int32_t comma = token_of(models[i], ",");
        assert_int_equal(
            sb_score(models[i], prompt, strlen(prompt), &comma, 1, &scores[i], NULL), SB_OK);
        sb_model_close(models[i]);
    }
    assert_true(scores[0] == scores[1]);
}

static void models_that_look_ahead_are_refused(void **state)
{
    (void)state;
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    add_entry(data, &size, "llama.attention.causal", BOOL, false, 1);
    expect_refusal(data, size, "not a causal language model");
    free(data);
}

/* The number has 32 bits and no sign. */
static void a_context_may_be_longer_than_any_text(void **state)
{
    (void)state;
    static const char key[] = "llama.context_length";
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    for (size_t i = 0; i + 64 < size; i++)
        if (memcmp(data + i, key, sizeof key - 1) == 0)
            put(data + i + sizeof key - 1 + 4, UINT32_MAX, 4);
    char path[64];
    write_file(path, data, size);
    free(data);
    sb_model *const model = open_file(path);
    unlink(path);
    assert_int_equal(sb_model_get_info(model)->max_len, 0);
    const sb_config config = settings(SB_METHOD_SBS, 2, 4);
    sb_result_close(draw_from(model, prompt, &config));
    sb_model_close(model);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    size_t size;
    uint8_t *const data = read_file(gguf_path(), &size);
    expect_refusal("GGUF", 4, "llama.cpp cannot load");
    expect_refusal("GGUF\3\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f\1\0\0\0\0\0\0\0", 24,
                   "llama.cpp cannot load");
    const size_t cuts[] = {23, 100, 5000, 20000, size / 2, size - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        expect_refusal(data, cuts[i], "llama.cpp cannot load");
    /* A token twice: llama.cpp's assertion, which would end the process. */
    for (size_t i = 0; i + 6 < size; i++)
        if (memcmp(data + i, "<0x41>", 6) == 0)
            data[i + 4] = '2';
    expect_refusal(data, size, "GGML_ASSERT");
    free(data);
}

/* Opens the model, draws twice from a prompt that is longer than the one before, reads the text. */
static sb_status open_and_draw(sb_result *const *results)
{
    char story[600] = "";
    for (int i = 0; i < 11; i++)
        strcat(story, "Lily and Tom went to the park with a big red ball. ");
    const sb_input inputs[2] = {{.text = "Tom", .size = 3}, {.text = story, .size = strlen(story)}};
    const sb_config config = settings(SB_METHOD_SBS, 3, 4);
    sb_model *model = NULL;
    char *text = NULL;
    sb_plan plan;
    sb_plan_default(&plan);
    sb_status status = sb_model_open(&model, gguf_path(), NULL);
    if (status == SB_OK)
        status = sb_draw_batch(model, inputs, 2, &config, &plan, (sb_result **)results, NULL);
    if (status == SB_OK)
        status = sb_model_decode(model, results[1]->sequences[0].tokens,
                                 results[1]->sequences[0].n_tokens, &text, NULL);
    sb_free(text);
    sb_model_close(model);
    return status;
}

static void memory_fails(void **state)
{
    (void)state;
    sb_result *results[2];
    long n = 1;
    for (;; n++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(sb_result_open(&results[i], NULL), SB_OK);
        alloc_fail_at(n);
        const sb_status status = open_and_draw(results);
        const bool failed = alloc_has_failed();
        alloc_fail_at(0);
        for (int i = 0; i < 2; i++)
            sb_result_close(results[i]);
        assert_int_equal(status, failed ? SB_ERR_MEMORY : SB_OK);
        if (!failed)
            break;
    }
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greedy_is_llamas),
        cmocka_unit_test(log_probabilities_are_llamas),
        cmocka_unit_test(draws_are_distinct_and_nested),
        cmocka_unit_test(too_many_rows_are_refused),
        cmocka_unit_test(inputs_travel_together),
        cmocka_unit_test(draws_of_the_largest_k),
        cmocka_unit_test(a_refused_step_leaves_no_rows),
        cmocka_unit_test(a_failed_prompt_is_told_to_all),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(every_method_draws),
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(stop_strings_end_sequences),
        cmocka_unit_test(wrong_inputs_are_refused),
        cmocka_unit_test(tokens_that_end_are_one_leaf),
        cmocka_unit_test(prompts_do_not_end),
        cmocka_unit_test(models_that_look_ahead_are_refused),
        cmocka_unit_test(a_context_may_be_longer_than_any_text),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
