/* See law_models.h. */
#include "law_models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/backend.h"

const struct law_model law_models[N_LAW_MODELS] = {
    [FIGURE_1] = {"Figure 1",
                  "{\"format\":\"sbeam-tree\",\"tree\":{"
                  "\"0\":[0.6,{\"0\":[0.3333333333333333,{\"0\":[0.25,null],\"1\":[0.75,null]}],"
                  "\"1\":[0.6666666666666667,{\"0\":[0.375,null],\"1\":[0.625,null]}]}],"
                  "\"1\":[0.4,{\"0\":[0.75,{\"0\":[0.6666666666666667,null],"
                  "\"1\":[0.3333333333333333,null]}],"
                  "\"1\":[0.25,{\"0\":[0.5,null],\"1\":[0.5,null]}]}]}}",
                  200},
    [UNEVEN] =
        {"uneven depths",
         "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.317,null],\"b\":[0.283,{\"c\":[0.61,null],"
         "\"d\":[0.39,{\"e\":[0.8,{\"f\":[0.7,null],\"g\":[0.3,null]}],\"h\":[0.2,null]}]}],"
         "\"i\":[0.4,{\"j\":[1,{\"k\":[1,null]}]}]}}",
         200},
    [ZEROS] = {"zero probabilities",
               "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[0.55,{\"x\":[0,null],\"y\":[0.35,null],"
               "\"z\":[0.65,null]}],\"b\":[0,{\"x\":[0.5,null],\"y\":[0.5,null]}],\"c\":[0.45,"
               "{\"x\":[0.9,null],\"y\":[0.1,null],\"z\":[0,null]}]}}",
               200},
    [LOPSIDED] =
        {"siblings 1 and 1e-20",
         "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[1,{\"x\":[0.3,null],\"y\":[0.7,null]}],"
         "\"b\":[1e-20,{\"u\":[0.4,null],\"v\":[0.35,null],\"w\":[0.25,null]}]}}",
         200},
    [CHAIN] = {"chain with EOS and max-len",
               "{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"</s>\"],\"eos\":\"</s>\","
               "\"start\":[0.45,0.35,0.2],\"next\":{\"a\":[0.15,0.5,0.35],\"b\":[0.6,0.1,0.3]}}",
               2},
};

static void open_json(const char *json, int32_t max_len, struct setup *setup, struct leaves *leaves)
{
    sb_error err;
    sb_model *model;
    if (model_open_memory(&model, "law model", json, strlen(json), &err) != SB_OK)
        fail_msg("%s", err.message);
    memset(setup, 0, sizeof *setup);
    sb_config_default(&setup->config);
    setup->config.seed = 20190515;
    setup->config.max_len = max_len;
    setup->model = model;
    setup->leaves = leaves;
    enumerate_leaves(model, 1, max_len, leaves);
}

void open_law_model(int i, struct setup *setup, struct leaves *leaves)
{
    open_json(law_models[i].json, law_models[i].max_len, setup, leaves);
}

void open_wide_chain(struct setup *setup, struct leaves *leaves)
{
    open_json("{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"c\",\"d\",\"</s>\"],"
              "\"eos\":\"</s>\",\"start\":[0.5,0.25,0.12,0.08,0.05],\"next\":{"
              "\"a\":[0.1,0.5,0.2,0.1,0.1],\"b\":[0.6,0.05,0.1,0.05,0.2],"
              "\"c\":[0.2,0.2,0.2,0.2,0.2],\"d\":[0.02,0.03,0.05,0.1,0.8]}}",
              3, setup, leaves);
}

void open_wide_tree(struct setup *setup, struct leaves *leaves)
{
    open_json("{\"format\":\"sbeam-tree\",\"tree\":{"
              "\"a\":[0.31,{\"a\":[0.37,null],\"b\":[0.26,null],\"c\":[0.19,null],"
              "\"d\":[0.11,null],\"e\":[0.07,null]}],\"b\":[0.27,null],"
              "\"c\":[0.19,{\"a\":[0.41,null],\"b\":[0.23,null],\"c\":[0.17,null],"
              "\"d\":[0.12,null],\"e\":[0.07,null]}],\"d\":[0.14,null],"
              "\"e\":[0.09,{\"a\":[0.55,null],\"b\":[0.45,null]}]}}",
              200, setup, leaves);
}

/* --- the library as a sampler --- */

struct relay {
    struct setup *setup;
    void (*visit)(void *user, const struct picks *picks);
    void *user;
    bool given;
};

static int give_empty_input(void *user, sb_input *input, sb_error *err)
{
    (void)err;
    struct relay *const relay = user;
    if (relay->given)
        return 0;
    relay->given = true;
    *input = (sb_input){.text = ""};
    return 1;
}

static int relay_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    (void)input;
    (void)err;
    const struct relay *const relay = user;
    struct picks picks = {.n = result->n_sequences, .kappa = result->kappa};
    assert_true(picks.n <= MOST_PICKS);
    for (int i = 0; i < picks.n; i++) {
        picks.leaf[i] = find_leaf(relay->setup->model, relay->setup->leaves, &result->sequences[i]);
        picks.g[i] = result->sequences[i].g;
    }
    relay->visit(relay->user, &picks);
    return 0;
}

void run_sampler(struct setup *setup, sampler sample, size_t n,
                 void (*visit)(void *user, const struct picks *picks), void *user)
{
    if (sample != NULL) {
        for (size_t i = 0; i < n; i++) {
            struct picks picks;
            sample(setup, i, &picks);
            visit(user, &picks);
        }
        return;
    }
    sb_config config = setup->config;
    const char *const search = getenv("SBEAM_TEST_SEARCH");
    if (search != NULL && sb_method_takes(config.method, "search"))
        assert_int_equal(sb_config_set(&config, "search", search, NULL), SB_OK);
    struct relay relay = {setup, visit, user, false};
    const sb_pipe pipe = {.user = &relay, .source = give_empty_input, .sink = relay_result};
    sb_plan plan;
    sb_plan_default(&plan);
    plan.n_draws = n;
    sb_error err;
    if (sb_draw_all(setup->model, &config, &plan, &pipe, &err) != SB_OK)
        fail_msg("%s", err.message);
}
