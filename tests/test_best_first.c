/* Best-first search must give the draw of level search, to the bit, for any number of prefixes that
 * are evaluated together, any batch and any threads. Only log_p_draw is summed in another order.
 * With one prefix at a time, it must evaluate exactly the prefixes of the returned sequences. */
#include "draw_check.h"
#include "model_check.h"
#include "reference.h"
#include "statistics.h"

static const int32_t parallels[] = {1, 2, 7, 64};
enum { N_PARALLELS = sizeof parallels / sizeof *parallels, MOST_DRAWS = 4 };

struct task {
    const sb_model *model;
    sb_config config;
    sb_plan plan;
    const char *text;
    double tolerance; /* of log_p_draw, relative */
};

static void draw_all(const struct task *task, sb_result **results)
{
    const sb_input input = {.text = task->text, .size = strlen(task->text), .stream = 3};
    sb_error err = {.message = ""};
    if (sb_draw_batch(task->model, &input, 1, &task->config, &task->plan, results, &err) != SB_OK)
        fail_msg("%s", err.message);
}

static void compare_draws(const struct task *task, const sb_result *level, const sb_result *best)
{
    assert_same_draws(level, best);
    const double x = level->log_p_draw, y = best->log_p_draw;
    assert_true(isnan(x) == isnan(y));
    assert_true(isnan(x) || x == y || fabs(x - y) <= task->tolerance * (1 + fabs(x)));
    const uint64_t least = count_prefixes(best);
    assert_true(best->model_rows >= least);
    if (task->config.parallel == 1)
        assert_int_equal(best->model_rows, least);
}

static void check_task(struct task *task)
{
    sb_result *level[MOST_DRAWS], *best[MOST_DRAWS];
    const size_t n = (size_t)task->plan.n_draws;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(sb_result_open(&level[i], NULL), SB_OK);
        assert_int_equal(sb_result_open(&best[i], NULL), SB_OK);
    }
    task->config.search = SB_SEARCH_LEVEL;
    draw_all(task, level);
    task->config.search = SB_SEARCH_BEST_FIRST;
    for (int p = 0; p < N_PARALLELS; p++) {
        task->config.parallel = parallels[p];
        draw_all(task, best);
        for (size_t i = 0; i < n; i++)
            compare_draws(task, level[i], best[i]);
    }
    task->config.parallel = 0;
    for (size_t i = 0; i < n; i++) {
        sb_result_close(level[i]);
        sb_result_close(best[i]);
    }
}

/* Runs a task with settings that depend on its number. */
static void check_settings(struct task *task, uint64_t number, int32_t max_len)
{
    static const int32_t ks[] = {1, 2, 3, 5, 10, 30, 300};
    static const double temperatures[] = {1, 0.3, 0.1, 3};
    static int32_t ban[] = {1};
    static const char *const stop[] = {"b a", "t1 t2"};
    sb_plan_default(&task->plan);
    task->plan.n_draws = 1 + number % MOST_DRAWS;
    task->plan.batch = 1 + (int32_t)(number % 3);
    task->plan.threads = 1 + (int32_t)(number % 2);
    task->config = config_of(SB_METHOD_SBS, ks[number % 7]);
    task->config.temperature = temperatures[number % 4];
    task->config.seed = number;
    task->config.max_len = max_len;
    task->config.kappa = number % 5 != 0;
    switch (number / 7 % 8) {
    case 1: task->config.top_k = 2; break;
    case 2: task->config.top_p = 0.7; break;
    case 3: task->config.min_p = 0.05; break;
    case 4:
        task->config.ban = ban;
        task->config.n_ban = 1;
        break;
    case 5: task->config.min_len = 2; break;
    case 6:
        task->config.stop = stop;
        task->config.n_stop = 2;
        break;
    default: break;
    }
    check_task(task);
}

static void trees_are_drawn_alike(void **state)
{
    (void)state;
    uint64_t generator = 20;
    for (uint64_t number = 0; number < (uint64_t)share_of(500); number++) {
        sb_model *const model = random_tree(&generator, 2 + (int)(number % 6));
        struct task task = {.model = model, .text = "", .tolerance = 1e-12};
        /* A tree may have no token 1, or no leaf of min-len. */
        const uint64_t kind = number / 7 % 8;
        if (kind != 4 && kind != 5)
            check_settings(&task, number, number % 3 == 0 ? 3 : 200);
        sb_model_close(model);
    }
}

static void chains_are_drawn_alike(void **state)
{
    (void)state;
    sb_model *const chain = open_file(TEST_DATA "/chain.json"), *const small =
                                                                    open_json(small_chain);
    for (uint64_t number = 0; number < (uint64_t)share_of(112); number++) {
        struct task task = {.model = number % 2 ? chain : small, .text = "", .tolerance = 1e-12};
        check_settings(&task, number, number % 3 == 0 ? 4 : 12);
    }
    sb_model_close(small);
    sb_model_close(chain);
}

static void arpa_models_are_drawn_alike(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/small.arpa");
    for (uint64_t number = 0; number < (uint64_t)share_of(112); number++) {
        struct task task = {.model = model, .text = number % 2 ? "a" : "", .tolerance = 1e-12};
        check_settings(&task, number, 6);
    }
    sb_model_close(model);
}

/* A model of one's own, with rows of floats and no leaves but the length limit. */
static void custom_models_are_drawn_alike(void **state)
{
    (void)state;
    sb_model *const model = hash_model(500);
    for (uint64_t number = 0; number < (uint64_t)share_of(28); number++) {
        struct task task = {.model = model, .text = "", .tolerance = 1e-6};
        if (number / 7 % 8 != 6) /* its tokens have no text for stop strings */
            check_settings(&task, number, 5);
    }
    sb_model_close(model);
}

/* The cache holds the rows of earlier draws, so only the rows that the model computes differ. */
static void cached_rows_are_drawn_alike(void **state)
{
    (void)state;
    sb_model *const models[] = {open_file(TEST_DATA "/chain.json"),
                                open_file(TEST_DATA "/fig1.json")};
    for (uint64_t number = 0; number < 14; number++) {
        struct task task = {.model = models[number % 2], .text = "", .tolerance = 1e-12};
        sb_plan_default(&task.plan);
        task.plan.n_draws = MOST_DRAWS;
        task.plan.batch = 2;
        task.plan.threads = 1 + (int32_t)(number % 2);
        task.plan.cache_size = number % 3 == 0 ? 1000 : 1 << 20;
        task.config = config_of(SB_METHOD_SBS, 5 + (int32_t)number);
        task.config.max_len = 7;
        check_task(&task);
    }
    sb_model_close(models[0]);
    sb_model_close(models[1]);
}

/* The bits of a row do not depend on the batch on machines with AVX2. */
static void networks_are_drawn_alike(void **state)
{
    (void)state;
#ifdef SBEAM_HAVE_NN
    sb_model *const model = open_file(TEST_DATA "/tiny-fconv/model.safetensors");
    if (sb_model_get_info(model)->rows_depend_on_batch) {
        print_message("skipped: the bits of a row depend on the batch on this machine\n");
        sb_model_close(model);
        skip();
    }
    for (uint64_t number = 0; number < (uint64_t)share_of(56); number++) {
        struct task task = {.model = model, .text = "s1 s2 s3", .tolerance = 1e-6};
        check_settings(&task, number, 6);
    }
    sb_model_close(model);
#else
    skip();
#endif
}

/* A bad row outside of the sample does not matter, because it is not evaluated. */
static void bad_rows_outside_do_not_matter(void **state)
{
    (void)state;
    sb_model *const model =
        open_json("{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"</s>\"],\"eos\":\"</s>\","
                  "\"start\":[0.5,0,0.5],\"next\":{\"a\":[0,1,0],\"b\":[0,1,0]}}");
    sb_config config = config_of(SB_METHOD_SBS, 1);
    config.min_len = 0;
    config.max_len = 3;
    static int32_t ban[] = {1};
    config.ban = ban;
    config.n_ban = 1;
    int n_good = 0;
    for (config.seed = 0; config.seed < 40; config.seed++) {
        sb_result *results[2];
        sb_status statuses[2];
        for (int i = 0; i < 2; i++) {
            config.search = i == 0 ? SB_SEARCH_LEVEL : SB_SEARCH_BEST_FIRST;
            config.parallel = i;
            assert_int_equal(sb_result_open(&results[i], NULL), SB_OK);
            statuses[i] = sb_draw(model, NULL, &config, results[i], NULL);
        }
        assert_int_equal(statuses[0], SB_ERR_MODEL); /* it evaluates the prefix "a" for kappa */
        if (statuses[1] == SB_OK) {
            n_good++;
            assert_int_equal(results[1]->sequences[0].n_tokens, 0);
            assert_int_equal(results[1]->model_rows, 1);
        }
        sb_result_close(results[0]);
        sb_result_close(results[1]);
    }
    assert_true(n_good > 8 && n_good < 32);
    sb_model_close(model);
}

struct watch {
    bool has_given;
    int32_t n_certain;
};

static int give_once(void *user, sb_input *input, sb_error *err)
{
    (void)err;
    struct watch *const watch = user;
    *input = (sb_input){.text = ""};
    const bool is_first = !watch->has_given;
    watch->has_given = true;
    return is_first;
}

static int refuse_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    (void)user;
    (void)input;
    (void)result;
    (void)err;
    fail_msg("this draw has a result");
    return 1;
}

static int count_certain(void *user, const sb_input *input, const sb_certain *found, sb_error *err)
{
    (void)input;
    (void)err;
    assert_int_equal(found->rank, ((struct watch *)user)->n_certain++);
    return 0;
}

/* If log-probabilities are so low that adding the noise does not change them, all prefixes that
 * wait may have the same G. The search must still go on. The draw is refused, as by level search.
 */
static void equal_values_do_not_stop_the_search(void **state)
{
    (void)state;
    sb_model *const model = open_json(
        "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.7,null],\"b\":[0.1,{\"x\":[1,null]}],"
        "\"c\":[0.1,{\"x\":[1,null]}],\"d\":[0.1,{\"x\":[0.5,null],\"y\":[0.5,null]}]}}");
    for (int32_t parallel = 0; parallel <= 4; parallel++)
        for (int32_t k = 1; k <= 4; k++) {
            sb_config config = config_of(SB_METHOD_SBS, k);
            config.temperature = 1e-30;
            config.search = parallel == 0 ? SB_SEARCH_LEVEL : SB_SEARCH_BEST_FIRST;
            config.parallel = parallel;
            sb_result *result;
            sb_error err;
            assert_int_equal(sb_result_open(&result, NULL), SB_OK);
            assert_int_equal(sb_draw(model, NULL, &config, result, &err),
                             k == 1 ? SB_OK : SB_ERR_LIMIT);
            assert_true(k == 1 || strstr(err.message, "sequence 2 has the log-prob") != NULL);
            sb_result_close(result);
        }
    /* Only the first sequence is certain, because the place of the others may be wrong. */
    sb_config config = config_of(SB_METHOD_SBS, 4);
    config.temperature = 1e-30;
    struct watch watch = {0};
    const sb_pipe pipe = {
        .user = &watch, .source = give_once, .sink = refuse_result, .certain = count_certain};
    sb_plan plan;
    sb_plan_default(&plan);
    assert_int_equal(sb_draw_all(model, &config, &plan, &pipe, NULL), SB_ERR_LIMIT);
    assert_int_equal(watch.n_certain, 1);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_drawn_alike),
        cmocka_unit_test(chains_are_drawn_alike),
        cmocka_unit_test(arpa_models_are_drawn_alike),
        cmocka_unit_test(custom_models_are_drawn_alike),
        cmocka_unit_test(cached_rows_are_drawn_alike),
        cmocka_unit_test(networks_are_drawn_alike),
        cmocka_unit_test(bad_rows_outside_do_not_matter),
        cmocka_unit_test(equal_values_do_not_stop_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
