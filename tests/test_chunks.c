/* The rows of a level may come in several chunks, so that memory is bounded. A draw must not depend
 * on the chunks. So every method is run with chunks of 1, 2, 3 and 7 rows, with all kinds of
 * models, and compared with the draw that gets each level at once. Sequences, G, kappa and
 * probabilities are equal to the bit. Only the pruned mass, and with it log_p_draw, is added up in
 * another order. */
#include "decode/loop.h"
#include "decode/stepper.h"
#include "draw_check.h"
#include "model_check.h"
#include "reference.h"
#include "statistics.h"

static const int32_t chunks[] = {1, 2, 3, 7};
enum { N_CHUNKS = sizeof chunks / sizeof *chunks, MOST_RESULTS = 16 };

/* The settings and the inputs of a draw. */
struct task {
    const sb_model *model;
    sb_config config;
    sb_plan plan;
    const char *text;
    double tolerance; /* of log_p_draw, relative */
};

/* Draws n_draws times at two temperatures. */
static sb_status draw_all(const struct task *task, int32_t most_rows, sb_result **results)
{
    const sb_input input = {.text = task->text, .size = strlen(task->text), .stream = 3};
    sb_error err = {.message = ""};
    stepper_limit_rows(most_rows);
    const sb_status status =
        sb_draw_batch(task->model, &input, 1, &task->config, &task->plan, results, &err);
    stepper_limit_rows(0);
    if (status != SB_OK && status != SB_ERR_LIMIT)
        fail_msg("%s", err.message);
    return status;
}

static void check_near_draw(const struct task *task, const sb_result *a, const sb_result *b)
{
    assert_same_draws(a, b);
    assert_int_equal(a->model_rows, b->model_rows);
    assert_int_equal(a->complete, b->complete);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->sampled_rows, b->sampled_rows);
    const double x = a->log_p_draw, y = b->log_p_draw;
    assert_true(isnan(x) == isnan(y));
    assert_true(isnan(x) || fabs(x - y) <= task->tolerance * (1 + fabs(x)));
}

static void check_task(const struct task *task)
{
    static const double temperatures[] = {1, 0.4};
    sb_result *whole[MOST_RESULTS], *parts[MOST_RESULTS];
    struct task both = *task;
    both.plan.temperatures = temperatures;
    both.plan.n_temperatures = 2;
    const size_t n = 2 * (size_t)both.plan.n_draws;
    assert_true(n <= MOST_RESULTS);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sb_result_open(&whole[i], NULL), SB_OK);
        assert_int_equal(sb_result_open(&parts[i], NULL), SB_OK);
    }
    const sb_status status = draw_all(&both, 1000000, whole);
    for (int c = 0; c < N_CHUNKS; c++) {
        assert_int_equal(draw_all(&both, chunks[c], parts), status);
        for (size_t i = 0; i < n && status == SB_OK; i++)
            check_near_draw(&both, whole[i], parts[i]);
    }
    for (size_t i = 0; i < n; i++) {
        sb_result_close(whole[i]);
        sb_result_close(parts[i]);
    }
}

/* Runs every method with some of its options. */
static void check_methods(struct task *task, uint64_t seed)
{
    static const int32_t ks[] = {1, 2, 4, 6, 12, 30};
    sb_plan_default(&task->plan);
    task->plan.n_draws = 1 + seed % 4;
    task->plan.batch = 1 + (int32_t)(seed % 3);
    task->plan.threads = 1 + (int32_t)(seed % 2);
    const int32_t max_len = task->config.max_len;
    for (int m = 0; sb_method_name((sb_method)m) != NULL; m++) {
        const sb_method method = (sb_method)m;
        task->config = config_of(method, ks[(seed + (uint64_t)m) % 6]);
        task->config.seed = seed;
        task->config.max_len = max_len;
        if (sb_method_takes(method, "kappa"))
            task->config.kappa = seed % 4 != 0;
        if (sb_method_takes(method, "search")) /* best-first search asks for few rows at once */
            task->config.search = SB_SEARCH_LEVEL;
        if (sb_method_takes(method, "groups"))
            task->config.groups = task->config.k % 2 == 0 && seed % 2 ? task->config.k / 2 : 1;
        if (sb_method_takes(method, "penalty"))
            task->config.penalty = seed % 3 == 0 ? SB_PENALTY_STEP : SB_PENALTY_PATH;
        if (sb_method_takes(method, "finished"))
            task->config.finished = seed % 2 ? SB_FINISHED_LEAVE : SB_FINISHED_STAY;
        if (sb_method_takes(method, "early-stop"))
            task->config.early_stop = seed % 5 == 0;
        if (sb_method_takes(method, "length-penalty"))
            task->config.length_penalty = seed % 7 == 0 ? 0.8 : 0;
        if (sb_method_takes(method, "max-samples"))
            task->config.max_samples = 300;
        if (seed % 6 == 1)
            task->config.top_k = 3;
        if (seed % 6 == 2)
            task->config.min_len = 2 < max_len ? 2 : max_len;
        check_task(task);
    }
}

static void trees_do_not_depend_on_chunks(void **state)
{
    (void)state;
    uint64_t generator = 20;
    for (uint64_t seed = 0; seed < (uint64_t)share_of(40); seed++) {
        sb_model *const model = random_tree(&generator, 2 + (int)(seed % 5));
        struct task task = {.model = model, .text = "", .tolerance = 1e-11};
        task.config.max_len = seed % 3 == 0 ? 3 : 200;
        if (seed % 6 != 2) /* else a tree may have no leaf of min-len */
            check_methods(&task, seed);
        sb_model_close(model);
    }
}

static void chains_do_not_depend_on_chunks(void **state)
{
    (void)state;
    sb_model *const chain = open_file(TEST_DATA "/chain.json"), *const small =
                                                                    open_json(small_chain);
    for (uint64_t seed = 0; seed < (uint64_t)share_of(16); seed++) {
        struct task task = {.model = seed % 2 ? chain : small, .text = "", .tolerance = 1e-11};
        task.config.max_len = 7;
        check_methods(&task, seed);
    }
    sb_model_close(small);
    sb_model_close(chain);
}

static void arpa_models_do_not_depend_on_chunks(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/small.arpa");
    for (uint64_t seed = 0; seed < (uint64_t)share_of(16); seed++) {
        struct task task = {.model = model, .text = seed % 2 ? "a" : "", .tolerance = 1e-11};
        task.config.max_len = 6;
        check_methods(&task, seed);
    }
    sb_model_close(model);
}

/* Its rows have the same bits in every batch on machines with AVX2. */
static void networks_do_not_depend_on_chunks(void **state)
{
    (void)state;
#ifdef SBEAM_HAVE_NN
    sb_model *const model = open_file(TEST_DATA "/tiny-fconv/model.safetensors");
    if (sb_model_get_info(model)->rows_depend_on_batch) {
        print_message("skipped: the bits of a row depend on the batch on this machine\n");
        sb_model_close(model);
        skip();
    }
    for (uint64_t seed = 0; seed < (uint64_t)share_of(12); seed++) {
        struct task task = {.model = model, .text = "s1 s2 s3", .tolerance = 1e-6};
        task.config.max_len = 2; /* so that explicit has few nodes */
        check_methods(&task, seed);
    }
    sb_model_close(model);
#else
    skip();
#endif
}

/* The bits of its rows depend on the batch, so only the tokens are compared, and log p roughly. */
static void gguf_models_draw_in_chunks(void **state)
{
    (void)state;
#ifdef SBEAM_HAVE_LLAMA
    const char *const path = getenv("SBEAM_GGUF");
    if (path == NULL || path[0] == '\0') {
        print_message("skipped: GGUF models: SBEAM_GGUF names no file\n");
        skip();
    }
    sb_model *const model = open_file(path);
    struct task task = {.model = model, .text = "Once upon a time"};
    sb_plan_default(&task.plan);
    task.plan.n_draws = 4;
    task.plan.batch = 3;
    task.config = config_of(SB_METHOD_SBS, 10);
    task.config.max_len = 12;
    sb_result *results[N_CHUNKS + 1][4];
    for (int c = 0; c <= N_CHUNKS; c++) {
        for (int i = 0; i < 4; i++)
            assert_int_equal(sb_result_open(&results[c][i], NULL), SB_OK);
        assert_int_equal(draw_all(&task, c < N_CHUNKS ? chunks[c] : 1000, results[c]), SB_OK);
    }
    for (int c = 0; c <= N_CHUNKS; c++)
        for (int i = 0; i < 4; i++) {
            const sb_result *const a = results[c][i], *const b = results[N_CHUNKS][i];
            assert_int_equal(a->n_sequences, b->n_sequences);
            for (int32_t j = 0; j < a->n_sequences; j++) {
                assert_int_equal(a->sequences[j].n_tokens, b->sequences[j].n_tokens);
                assert_memory_equal(a->sequences[j].tokens, b->sequences[j].tokens,
                                    (size_t)a->sequences[j].n_tokens * sizeof(int32_t));
                assert_true(fabs(a->sequences[j].log_p - b->sequences[j].log_p) < 1e-3);
            }
        }
    for (int c = 0; c <= N_CHUNKS; c++)
        for (int i = 0; i < 4; i++)
            sb_result_close(results[c][i]);
    sb_model_close(model);
#else
    skip();
#endif
}

/* A wide beam over float rows without an end token: k is larger than a row, and a level has
 * hundreds of chunks. */
static void wide_beams_do_not_depend_on_chunks(void **state)
{
    (void)state;
    sb_model *const model = hash_model(40);
    static const sb_method methods[] = {SB_METHOD_SBS, SB_METHOD_BEAM, SB_METHOD_SAMPLE};
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        struct task task = {.model = model, .text = "", .tolerance = 1e-6};
        sb_plan_default(&task.plan);
        task.config = config_of(methods[m], 300);
        task.config.max_len = 5;
        check_task(&task);
    }
    sb_model_close(model);
}

/* The cache gives each chunk its rows and states. */
static void cached_rows_do_not_depend_on_chunks(void **state)
{
    (void)state;
    uint64_t generator = 5;
    sb_model *const tree = random_tree(&generator, 6), *const chain = open_json(small_chain);
    for (int i = 0; i < 2; i++)
        for (size_t cache_size = 1 << 12; cache_size <= 1 << 22; cache_size <<= 5) {
            struct task task = {.model = i ? tree : chain, .text = "", .tolerance = 1e-11};
            sb_plan_default(&task.plan);
            task.plan.cache_size = cache_size;
            task.plan.n_draws = 6;
            task.plan.threads = 2;
            task.config = config_of(SB_METHOD_SBS, 9);
            task.config.search = SB_SEARCH_LEVEL;
            task.config.max_len = 8;
            check_task(&task);
        }
    sb_model_close(chain);
    sb_model_close(tree);
}

/* --- a model with rows that have no mass --- */

enum { THORNY_VOCAB = 6, THORNY_STATES = 64 };

static sb_status thorny_open(const void *self, const sb_session_spec *spec, void **session,
                             sb_error *err)
{
    (void)self, (void)err;
    assert_true(spec->max_states > 0 && spec->max_states <= THORNY_STATES);
    *session = calloc(THORNY_STATES, sizeof(uint64_t));
    return SB_OK;
}

static sb_status thorny_step(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                             const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    (void)input, (void)err;
    uint64_t *const states = session, before[THORNY_STATES];
    memcpy(before, states, sizeof before);
    for (int32_t i = 0; i < n_rows; i++) {
        uint64_t x = from[i] < 0 ? 1 : before[from[i]] * 6364136223846793005u + (uint64_t)token[i];
        states[to[i]] = x;
        for (int32_t t = 0; t < THORNY_VOCAB; t++, x *= 1442695040888963407u)
            ((double *)rows)[i * THORNY_VOCAB + t] =
                states[to[i]] % 61 == 5 ? -INFINITY : (double)(x >> 40 & 1023) / 300;
    }
    return SB_OK;
}

static int give_input(void *user, sb_input *input, sb_error *err)
{
    (void)err;
    uint64_t *const n = user;
    if (n[0] == 200)
        return 0;
    *input = (sb_input){.text = "", .stream = n[0]++};
    return 1;
}

/* Adds the tokens and the G of a result to a checksum. */
static int take_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    (void)input, (void)err;
    uint64_t *const n = user;
    n[1]++;
    for (int32_t i = 0; i < result->n_sequences; i++) {
        uint64_t bits;
        memcpy(&bits, &result->sequences[i].g, sizeof bits);
        n[2] = n[2] * 31 + bits;
        for (int32_t t = 0; t < result->sequences[i].n_tokens; t++)
            n[2] = n[2] * 31 + (uint64_t)result->sequences[i].tokens[t];
    }
    return 0;
}

/* A draw that fails in the middle of a level, while others of the batch continue, ends the work
 * after the same results. */
static void failures_do_not_depend_on_chunks(void **state)
{
    (void)state;
    static const sb_model_ops ops = {
        .session_open = thorny_open, .session_close = free, .step = thorny_step};
    const sb_model_info info = {
        .kind = "thorny", .vocab_size = THORNY_VOCAB, .eos = 0, .row_type = SB_ROW_DOUBLE};
    sb_model *model;
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, NULL, NULL), SB_OK);
    sb_config config = config_of(SB_METHOD_SBS, 8);
    config.search = SB_SEARCH_LEVEL;
    sb_plan plan;
    sb_plan_default(&plan);
    plan.batch = 7;
    config.max_len = 4;
    uint64_t whole[3] = {0}, n_failures = 0, n_results = 0;
    sb_status expected = SB_OK;
    for (config.seed = 0; config.seed < 20; config.seed++)
        for (int c = -1; c < N_CHUNKS; c++) {
            uint64_t n[3] = {0};
            const sb_pipe pipe = {.user = n, .source = give_input, .sink = take_result};
            stepper_limit_rows(c < 0 ? 0 : chunks[c]);
            const sb_status status = sb_draw_all(model, &config, &plan, &pipe, NULL);
            stepper_limit_rows(0);
            if (c < 0) {
                memcpy(whole, n, sizeof whole);
                expected = status;
                n_failures += status == SB_ERR_MODEL;
                n_results += n[1];
            }
            assert_int_equal(status, expected);
            assert_int_equal(n[1], whole[1]);
            assert_int_equal(n[2], whole[2]);
        }
    assert_true(n_failures > 5 && n_results > 100);
    sb_model_close(model);
}

/* Jobs that end, fail or are cancelled in the middle of a level give all their states back. They
 * never use more states than one for each row of a level, or for best-first search one for each
 * entry of the frontier and each row. */
static void check_states(sb_search search)
{
    enum { VOCAB = 6, SLOTS = 3, WIDTH = 8, PARALLEL = 3 };
    sb_config config = config_of(SB_METHOD_SBS, WIDTH - 1);
    config.max_len = 5;
    config.search = search;
    config.parallel = search == SB_SEARCH_BEST_FIRST ? PARALLEL : 0;
    const size_t most_states = SLOTS * (size_t)(WIDTH + config.parallel);
    const sb_decoder_spec spec = {.vocab_size = VOCAB,
                                  .eos = 0,
                                  .row_type = SB_ROW_DOUBLE,
                                  .max_slots = SLOTS,
                                  .keeps_states = true};
    for (size_t most_rows = 0; most_rows < 6; most_rows++) {
        sb_decoder *decoder;
        sb_result *result;
        double rows[SLOTS * WIDTH * VOCAB];
        uint64_t generator = 7 + most_rows, n_jobs = 0, n_failed = 0;
        assert_int_equal(sb_decoder_open(&decoder, &spec, &config, NULL), SB_OK);
        assert_int_equal(sb_result_open(&result, NULL), SB_OK);
        loop_limit_rows(decoder, most_rows);
        for (int step = 0; step < 5000; step++) {
            int32_t slot;
            const sb_job job = {.stream = n_jobs};
            while (n_jobs < 40 && sb_decoder_add(decoder, &job, &slot, NULL) == SB_OK)
                n_jobs++;
            if (step % 17 == 5) /* fails if the slot is free */
                (void)sb_decoder_cancel(decoder, step % SLOTS, NULL);
            if (sb_decoder_done(decoder))
                break;
            const int32_t *from, *to, *released;
            const int32_t n = sb_decoder_rows(decoder, NULL, NULL, NULL);
            assert_true(most_rows == 0 || (size_t)n <= most_rows);
            assert_true(sb_decoder_states(decoder, &from, &to, &released, NULL) >= 0);
            for (int32_t i = 0; i < n * VOCAB; i++)
                rows[i] = step % 23 == 11 && i < VOCAB ? -INFINITY : 3 * next_uniform(&generator);
            (void)sb_decoder_advance(decoder, rows, VOCAB, NULL);
            while ((slot = sb_decoder_finished(decoder)) >= 0)
                n_failed += sb_decoder_take(decoder, slot, result, NULL) != SB_OK;
        }
        assert_true(sb_decoder_done(decoder) && n_failed > 0);
        assert_true(decoder->states.n <= most_states);
        assert_int_equal(decoder->states.n_unused, decoder->states.n);
        sb_result_close(result);
        sb_decoder_close(decoder);
    }
}

static void no_state_is_lost(void **state)
{
    (void)state;
    check_states(SB_SEARCH_LEVEL);
    check_states(SB_SEARCH_BEST_FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_do_not_depend_on_chunks),
        cmocka_unit_test(chains_do_not_depend_on_chunks),
        cmocka_unit_test(arpa_models_do_not_depend_on_chunks),
        cmocka_unit_test(networks_do_not_depend_on_chunks),
        cmocka_unit_test(gguf_models_draw_in_chunks),
        cmocka_unit_test(wide_beams_do_not_depend_on_chunks),
        cmocka_unit_test(cached_rows_do_not_depend_on_chunks),
        cmocka_unit_test(failures_do_not_depend_on_chunks),
        cmocka_unit_test(no_state_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
