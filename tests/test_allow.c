/* Tests the law of a draw with a list of permitted outputs: chi-square of ordered draws, and the
 * mean sum of weights, against the enumerated model that is renormalised at each step. The same
 * test must catch samplers that are broken on purpose. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw_check.h"
#include "law_models.h"
#include "statistics.h"

enum { DRAWS = 100000 };

/* A chain of three tokens and EOS, whose list has lines of all lengths: an empty one, and lines
 * that begin others. "b" has one continuation, "c" is not the beginning of any line. */
static const char *const chain =
    "{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"c\",\"</s>\"],"
    "\"eos\":\"</s>\",\"start\":[0.41,0.17,0.3,0.12],\"next\":{"
    "\"a\":[0.13,0.31,0.23,0.33],\"b\":[0.37,0.07,0.29,0.27],"
    "\"c\":[0.19,0.43,0.11,0.27]}}";
static const struct leaves chain_lines = {.n = 8,
                                          .list = {{.n_tokens = 0},
                                                   {.tokens = {0}, .n_tokens = 1},
                                                   {.tokens = {0, 1}, .n_tokens = 2},
                                                   {.tokens = {0, 2, 2}, .n_tokens = 3},
                                                   {.tokens = {1, 0, 0, 1}, .n_tokens = 4},
                                                   {.tokens = {0, 1, 1, 0}, .n_tokens = 4},
                                                   {.tokens = {0, 2, 2}, .n_tokens = 3},
                                                   {.tokens = {1, 0, 0}, .n_tokens = 3}}};

/* A tree, whose sequences end at leaves. Its list cuts some of them short and leaves out others.
 * The tree ends within the line "p q q" and has nothing that begins with s, so these lines are
 * never drawn. */
static const char *const tree =
    "{\"format\":\"sbeam-tree\",\"tree\":{\"p\":[0.5,{\"q\":[0.3,null],\"r\":[0.3,{\"p\":[0.6,null]"
    ","
    "\"q\":[0.4,null]}],\"s\":[0.4,null]}],\"q\":[0.3,null],\"r\":[0.2,{\"p\":[0.35,null],"
    "\"s\":[0.65,null]}]}}";

struct task {
    const char *name, *json;
    const struct leaves *lines;
    int32_t max_len;
    double temperature;
};

static sb_trie *open_lines(const struct leaves *lines)
{
    int32_t tokens[MOST_LEAVES * MOST_DEPTH];
    uint64_t ends[MOST_LEAVES], n = 0;
    for (int i = 0; i < lines->n; i++) {
        for (int32_t t = 0; t < lines->list[i].n_tokens; t++)
            tokens[n++] = lines->list[i].tokens[t];
        ends[i] = n;
    }
    sb_trie *trie;
    sb_error err;
    assert_int_equal(sb_trie_open(&trie, tokens, ends, (size_t)lines->n, &err), SB_OK);
    return trie;
}

/* The lines of the tree, by the ids that the model gives its tokens. */
static void find_tree_lines(const sb_model *model, struct leaves *lines)
{
    static const char *const texts[] = {"p s", "p r", "p q q", "q", "r s", "s p"};
    lines->n = 0;
    for (int i = 0; i < 6; i++) {
        int32_t *tokens, n;
        sb_error err;
        assert_int_equal(sb_model_encode(model, texts[i], strlen(texts[i]), &tokens, &n, &err),
                         SB_OK);
        struct leaf *const line = &lines->list[lines->n++];
        *line = (struct leaf){.n_tokens = n};
        memcpy(line->tokens, tokens, (size_t)n * sizeof *tokens);
        sb_free(tokens);
    }
}

/* Opens a model with its list. The caller closes both. */
static void open_task(const struct task *task, struct setup *setup, struct leaves *leaves)
{
    struct leaves lines;
    memset(setup, 0, sizeof *setup);
    setup->model = open_json(task->json);
    setup->leaves = leaves;
    setup->config = config_of(SB_METHOD_SBS, 1);
    setup->config.max_len = task->max_len;
    setup->config.temperature = task->temperature;
    if (task->lines != NULL)
        lines = *task->lines;
    else
        find_tree_lines(setup->model, &lines);
    setup->config.allow = open_lines(&lines);
    if (task->lines == NULL) {
        lines.list[2] = lines.list[4]; /* "p q q": the tree ends after "p q" */
        lines.n--;                     /* "s p": no sequence begins with s */
    }
    enumerate_permitted(setup->model, task->temperature, task->max_len, &lines, leaves);
}

static void close_task(struct setup *setup)
{
    sb_trie_close((sb_trie *)(uintptr_t)setup->config.allow);
    sb_model_close((sb_model *)(uintptr_t)setup->model);
}

static const struct task tasks[] = {
    {"chain", chain, &chain_lines, 9, 1},
    {"chain, T = 0.5", chain, &chain_lines, 9, 0.5},
    {"chain, max-len", chain, &chain_lines, 4, 1},
    {"tree", tree, NULL, 9, 1},
    {"tree, T = 2", tree, NULL, 9, 2},
};
enum { N_TASKS = sizeof tasks / sizeof *tasks };

/* --- the law --- */

struct tally {
    const struct ordered_law *law;
    const struct leaves *leaves;
    double *count;   /* (n_cells) */
    double *weights; /* (draws) the sum of the weights of each draw */
    size_t n;
};

static void count_picks(void *user, const struct picks *picks)
{
    struct tally *const tally = user;
    assert_int_equal(picks->n, tally->law->k);
    tally->count[ordered_law_cell(tally->law, picks)]++;
    double sum = 0;
    for (int i = 0; i < picks->n; i++) {
        const double phi = tally->leaves->list[picks->leaf[i]].phi;
        sum += exp(phi) / -expm1(-exp(phi - picks->kappa));
    }
    tally->weights[tally->n++] = sum;
}

static struct fit fit_order(struct setup *setup, sampler sample, int k, size_t draws,
                            struct mean_test *weights)
{
    struct ordered_law law;
    ordered_law_open(&law, setup->leaves, k);
    struct tally tally = {&law, setup->leaves, calloc(law.n_cells, sizeof(double)),
                          calloc(draws, sizeof(double)), 0};
    setup->config.k = law.k;
    run_sampler(setup, sample, draws, count_picks, &tally);
    const struct fit fit = fit_counts(law.probability, tally.count, law.n_cells);
    *weights = test_mean(tally.weights, draws, 1);
    free(tally.count);
    free(tally.weights);
    ordered_law_close(&law);
    return fit;
}

static void sbs_has_the_law(void **state)
{
    (void)state;
    for (int t = 0; t < N_TASKS; t++) {
        struct setup setup;
        struct leaves leaves;
        open_task(&tasks[t], &setup, &leaves);
        for (int k = 1; k <= 3; k++) {
            struct mean_test weights;
            const struct fit fit = fit_order(&setup, NULL, k, share_of(DRAWS), &weights);
            print_message("%s, %d lines, k = %d: chi-square %.1f on %d, p = %.3g, catches a bias "
                          "of %.2g %%; weights: z = %.2f\n",
                          tasks[t].name, leaves.n, k, fit.statistic, fit.degrees, fit.p_value,
                          100 * fit.smallest_bias, weights.z);
            assert_true(fit.p_value > FALSE_ALARM);
            if (k > 1) /* at k = 1 the weight has infinite variance */
                assert_true(fabs(weights.z) < 4.9);
        }
        close_task(&setup);
    }
}

/* The other methods that promise a law. */
static void other_methods_have_the_law(void **state)
{
    (void)state;
    static const struct {
        sb_method method;
        int k;
    } cases[] = {{SB_METHOD_REJECT, 2},
                 {SB_METHOD_EXPLICIT, 2},
                 {SB_METHOD_SAMPLE, 1},
                 {SB_METHOD_RESAMPLE, 1},
                 {SB_METHOD_COMMIT, 1}};
    for (int t = 0; t < N_TASKS; t++)
        for (int c = 0; c < 5; c++) {
            struct setup setup;
            struct leaves leaves;
            struct mean_test weights;
            open_task(&tasks[t], &setup, &leaves);
            setup.config.method = cases[c].method;
            const struct fit fit =
                fit_order(&setup, NULL, cases[c].k, share_of(DRAWS / 4), &weights);
            assert_true(fit.p_value > FALSE_ALARM);
            close_task(&setup);
        }
}

/* --- broken on purpose --- */

/* Draws from the model without a list until k different lines have been found: p(line | list),
 * which is what a sampler gives that forbids tokens without renormalising. */
static void sample_given_list(struct setup *setup, uint64_t draw, struct picks *picks)
{
    struct leaves given = *setup->leaves;
    double total = 0;
    for (int i = 0; i < given.n; i++) {
        double log_p[MOST_DEPTH];
        struct leaf *const leaf = &given.list[i];
        sb_error err;
        assert_int_equal(sb_score(setup->model, "", 0, leaf->tokens, leaf->n_tokens, log_p, &err),
                         SB_OK);
        leaf->phi = 0;
        for (int32_t t = 0; t < leaf->n_tokens; t++)
            leaf->phi += log_p[t];
        total += exp(leaf->phi);
    }
    for (int i = 0; i < given.n; i++)
        given.list[i].phi -= log(total);
    struct setup other = *setup;
    other.leaves = &given;
    sample_leaves(&other, draw, picks);
}

static void other_laws_are_caught(void **state)
{
    (void)state;
    uint64_t generator = 5;
    struct setup setup;
    struct leaves leaves;
    struct mean_test weights;
    open_task(&tasks[0], &setup, &leaves);
    setup.state = &generator;
    assert_true(fit_order(&setup, sample_leaves, 2, share_of(DRAWS), &weights).p_value >
                FALSE_ALARM);
    assert_true(fit_order(&setup, sample_given_list, 2, share_of(20000), &weights).p_value <
                FALSE_ALARM);
    close_task(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sbs_has_the_law),
        cmocka_unit_test(other_methods_have_the_law),
        cmocka_unit_test(other_laws_are_caught),
    };
    return cmocka_run_group_tests_name("allow", tests, NULL, NULL);
}
