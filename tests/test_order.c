/* Tests the law of the order: chi-square of ordered draws against the exact Plackett-Luce law of
 * enumerable models. The same test must catch samplers that are broken on purpose. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "law_models.h"
#include "statistics.h"

enum { DRAWS = 200000 };

struct counts {
    const struct ordered_law *law;
    double *count; /* (n_cells) */
    double wrong;  /* samples of the wrong size, or that hold a leaf twice */
};

static bool are_distinct(const struct picks *picks)
{
    for (int i = 0; i < picks->n; i++)
        for (int j = 0; j < i; j++)
            if (picks->leaf[i] == picks->leaf[j])
                return false;
    return true;
}

static void count_picks(void *user, const struct picks *picks)
{
    struct counts *const counts = user;
    if (picks->n == counts->law->k && are_distinct(picks))
        counts->count[ordered_law_cell(counts->law, picks)]++;
    else
        counts->wrong++;
}

static struct fit fit_law(struct setup *setup, sampler sample, const struct ordered_law *law,
                          size_t draws)
{
    struct counts counts = {law, calloc(law->n_cells, sizeof(double)), 0};
    setup->config.k = law->k;
    run_sampler(setup, sample, draws, count_picks, &counts);
    struct fit fit = fit_counts(law->probability, counts.count, law->n_cells);
    if (counts.wrong > 0)
        fit.p_value = 0;
    free(counts.count);
    return fit;
}

static struct fit fit_order(struct setup *setup, sampler sample, int k, size_t draws)
{
    struct ordered_law law;
    ordered_law_open(&law, setup->leaves, k);
    const struct fit fit = fit_law(setup, sample, &law, draws);
    ordered_law_close(&law);
    return fit;
}

static void check_order(const char *name, sb_method method, sampler sample, size_t draws)
{
    for (int m = 0; m < N_LAW_MODELS; m++) {
        struct setup setup;
        struct leaves leaves;
        open_law_model(m, &setup, &leaves);
        uint64_t state = 1;
        setup.state = &state;
        setup.config.method = method;
        const int ks[] = {1, 2, 3, leaves.n};
        for (int i = 0; i < 4; i++) {
            /* Rejection cannot wait for leaves of 1e-20. */
            if (method == SB_METHOD_REJECT && m == LOPSIDED && ks[i] > 2)
                continue;
            const struct fit fit = fit_order(&setup, sample, ks[i], share_of(draws));
            print_message("%s, %s, k = %d: chi-square %.1f on %d, p = %.3g, catches a bias of "
                          "%.2g %%\n",
                          name, law_models[m].name, ks[i], fit.statistic, fit.degrees, fit.p_value,
                          100 * fit.smallest_bias);
            assert_true(fit.p_value > FALSE_ALARM);
        }
        sb_model_close((sb_model *)(uintptr_t)setup.model);
    }
}

static void sbs_has_the_law(void **state)
{
    (void)state;
    check_order("sbs", SB_METHOD_SBS, NULL, DRAWS);
}

static void reject_has_the_law(void **state)
{
    (void)state;
    check_order("reject", SB_METHOD_REJECT, NULL, DRAWS / 2);
}

static void reference_has_the_law(void **state)
{
    (void)state;
    check_order("independent Gumbels", SB_METHOD_SBS, sample_leaves, DRAWS / 4);
}

/* sbs with k = 1 and ancestral sampling are one law, that of the model. */
static void one_sample_has_the_law(void **state)
{
    (void)state;
    for (int m = 0; m < N_LAW_MODELS; m++) {
        struct setup setup;
        struct leaves leaves;
        open_law_model(m, &setup, &leaves);
        setup.config.method = SB_METHOD_SAMPLE;
        assert_true(fit_order(&setup, NULL, 1, share_of(DRAWS)).p_value > FALSE_ALARM);
        /* And with one sequence neither fresh noise nor commitment does harm. */
        setup.config.method = SB_METHOD_RESAMPLE;
        assert_true(fit_order(&setup, NULL, 1, share_of(DRAWS)).p_value > FALSE_ALARM);
        setup.config.method = SB_METHOD_COMMIT;
        assert_true(fit_order(&setup, NULL, 1, share_of(DRAWS)).p_value > FALSE_ALARM);
        sb_model_close((sb_model *)(uintptr_t)setup.model);
    }
}

/* The library against the reference, sample against sample: no formula in between. */
static void sbs_agrees_with_reference(void **state)
{
    (void)state;
    struct setup setup;
    struct leaves leaves;
    struct ordered_law law;
    open_law_model(FIGURE_1, &setup, &leaves);
    uint64_t generator = 2;
    setup.state = &generator;
    setup.config.k = 3;
    ordered_law_open(&law, &leaves, 3);
    struct counts ours = {&law, calloc(law.n_cells, sizeof(double)), 0};
    struct counts theirs = {&law, calloc(law.n_cells, sizeof(double)), 0};
    run_sampler(&setup, NULL, share_of(DRAWS), count_picks, &ours);
    run_sampler(&setup, sample_leaves, share_of(DRAWS), count_picks, &theirs);
    assert_true(fit_two_counts(ours.count, theirs.count, law.n_cells).p_value > FALSE_ALARM);
    free(ours.count);
    free(theirs.count);
    ordered_law_close(&law);
    sb_model_close((sb_model *)(uintptr_t)setup.model);
}

/* --- fresh noise: its own, biased law --- */

/* Chi-square of a method against a law of its own, which is closed then. */
static void check_own_law(const char *name, sb_method method, struct setup *setup,
                          struct ordered_law *law)
{
    setup->config.method = method;
    const struct fit fit = fit_law(setup, NULL, law, share_of(DRAWS));
    print_message("%s, %d leaves, k = %d: chi-square %.1f on %d, p = %.3g, catches a bias of "
                  "%.2g %%\n",
                  name, setup->leaves->n, law->k, fit.statistic, fit.degrees, fit.p_value,
                  100 * fit.smallest_bias);
    assert_true(fit.p_value > FALSE_ALARM);
    ordered_law_close(law);
}

/* An empty law, to be filled. */
static void open_own_law(struct ordered_law *law, const struct leaves *leaves, int k)
{
    ordered_law_open(law, leaves, k);
    memset(law->probability, 0, law->n_cells * sizeof *law->probability);
}

/* A prefix of leaves, and the mass below it. */
struct node {
    int32_t tokens[MOST_DEPTH], n_tokens;
    double mass;
    int leaf; /* the number of the leaf that it is, or -1 */
};

static bool begins_with(const struct leaf *leaf, const int32_t *tokens, int32_t n)
{
    return leaf->n_tokens >= n && memcmp(leaf->tokens, tokens, (size_t)n * sizeof *tokens) == 0;
}

static struct node node_of(const struct leaves *leaves, int leaf, int32_t depth)
{
    struct node node = {.n_tokens = depth, .leaf = -1};
    memcpy(node.tokens, leaves->list[leaf].tokens, sizeof node.tokens);
    for (int i = 0; i < leaves->n; i++)
        if (begins_with(&leaves->list[i], node.tokens, depth))
            node.mass += exp(leaves->list[i].phi);
    if (leaves->list[leaf].n_tokens == depth)
        node.leaf = leaf;
    return node;
}

/* The children of a prefix, or the leaf itself. Leaves are listed depth first, so those of one
 * child lie together. */
static int list_children(const struct leaves *leaves, const struct node *parent, struct node *list)
{
    if (parent->leaf >= 0) {
        *list = *parent;
        return 1;
    }
    int n = 0;
    for (int i = 0; i < leaves->n; i++) {
        const struct leaf *const leaf = &leaves->list[i];
        if (begins_with(leaf, parent->tokens, parent->n_tokens) &&
            (n == 0 || !begins_with(leaf, list[n - 1].tokens, parent->n_tokens + 1)))
            list[n++] = node_of(leaves, i, parent->n_tokens + 1);
    }
    return n;
}

/* Fresh Gumbels make the next beam an ordered sample without replacement of all children and
 * finished leaves of this one, whatever came before. A beam of one has beam[1].n_tokens = -1. */
static void add_resampled(struct ordered_law *law, const struct leaves *leaves,
                          const struct node beam[2], double probability)
{
    if (beam[0].leaf >= 0 && beam[1].leaf >= 0) {
        const struct picks picks = {.n = 2, .leaf = {beam[0].leaf, beam[1].leaf}};
        law->probability[ordered_law_cell(law, &picks)] += probability;
        return;
    }
    struct node list[2 * MOST_LEAVES];
    int n = list_children(leaves, &beam[0], list);
    if (beam[1].n_tokens >= 0)
        n += list_children(leaves, &beam[1], list + n);
    double total = 0;
    for (int i = 0; i < n; i++)
        total += list[i].mass;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i != j) {
                const struct node next[2] = {list[i], list[j]};
                add_resampled(law, leaves, next,
                              probability * list[i].mass / total * list[j].mass /
                                  (total - list[i].mass));
            }
}

/* Not the law of the model, yet one that is known: leaves that have finished are drawn anew too. */
static void resample_has_its_law(void **state)
{
    (void)state;
    static const int models[] = {FIGURE_1, UNEVEN, CHAIN};
    for (int i = 0; i < 3; i++) {
        struct setup setup;
        struct leaves leaves;
        struct ordered_law law;
        open_law_model(models[i], &setup, &leaves);
        open_own_law(&law, &leaves, 2);
        const struct node start[2] = {{.mass = 1, .leaf = -1}, {.n_tokens = -1, .leaf = -1}};
        add_resampled(&law, &leaves, start, 1);
        check_own_law("resample", SB_METHOD_RESAMPLE, &setup, &law);
        sb_model_close((sb_model *)(uintptr_t)setup.model);
    }
}

/* --- the other shortcuts, and their own laws --- */

static bool shares_first_token(const struct leaves *leaves, const struct picks *picks, int leaf)
{
    for (int i = 0; i < picks->n; i++)
        if (leaves->list[picks->leaf[i]].tokens[0] == leaves->list[leaf].tokens[0])
            return true;
    return false;
}

/* A first token that is left, by its share of what is left; then a leaf below it, by its share of
 * that: the leaf itself by its share of all leaves below first tokens that are left. */
static void add_committed(struct ordered_law *law, const struct leaves *leaves,
                          const struct picks *picks, double probability)
{
    if (picks->n == law->k) {
        law->probability[ordered_law_cell(law, picks)] += probability;
        return;
    }
    double left = 0;
    for (int i = 0; i < leaves->n; i++)
        if (!shares_first_token(leaves, picks, i))
            left += exp(leaves->list[i].phi);
    for (int i = 0; i < leaves->n; i++) {
        if (shares_first_token(leaves, picks, i))
            continue;
        struct picks next = *picks;
        next.leaf[next.n++] = i;
        add_committed(law, leaves, &next, probability * exp(leaves->list[i].phi) / left);
    }
}

static void commit_has_its_law(void **state)
{
    (void)state;
    static const struct {
        int model, k;
    } cases[] = {{FIGURE_1, 2}, {UNEVEN, 2}, {UNEVEN, 3}, {ZEROS, 2}, {LOPSIDED, 2}, {CHAIN, 2}};
    const struct picks none = {.n = 0};
    struct setup setup;
    struct leaves leaves;
    struct ordered_law law;
    for (int i = 0; i < 6; i++) {
        open_law_model(cases[i].model, &setup, &leaves);
        open_own_law(&law, &leaves, cases[i].k);
        add_committed(&law, &leaves, &none, 1);
        check_own_law("commit", SB_METHOD_COMMIT, &setup, &law);
        sb_model_close((sb_model *)(uintptr_t)setup.model);
    }
}

/* The probability that each subset of the list is what has been drawn when it has as many members:
 * its last member may be any. (2^n) numbers, the caller's to free. */
static double *weigh_subsets(const struct node *list, int n)
{
    double *const probability = calloc((size_t)1 << n, sizeof *probability);
    probability[0] = 1;
    for (unsigned set = 0; set < 1u << n; set++) {
        double left = 0;
        for (int i = 0; i < n; i++)
            left += set >> i & 1 ? 0 : list[i].mass;
        for (int i = 0; i < n; i++)
            if (!(set >> i & 1))
                probability[set | 1u << i] += probability[set] * list[i].mass / left;
    }
    return probability;
}

static int compare_masses(const void *a, const void *b)
{
    const struct node *const x = a, *const y = b;
    return (x->mass < y->mass) - (x->mass > y->mass);
}

/* 2k of all children and finished leaves, of which the k likeliest go on. */
static void add_beam_sampled(struct ordered_law *law, const struct leaves *leaves,
                             const struct node *beam, int n_beam, double probability)
{
    struct node list[16], drawn[16];
    struct picks picks = {.n = 0};
    int n = 0;
    for (int i = 0; i < n_beam; i++) {
        n += list_children(leaves, &beam[i], list + n);
        if (beam[i].leaf >= 0)
            picks.leaf[picks.n++] = beam[i].leaf;
    }
    if (picks.n == law->k) {
        law->probability[ordered_law_cell(law, &picks)] += probability;
        return;
    }
    const int most = n < 2 * law->k ? n : 2 * law->k;
    double *const weight = weigh_subsets(list, n);
    for (unsigned set = 0; set < 1u << n; set++) {
        int n_drawn = 0;
        for (int i = 0; i < n; i++)
            if (set >> i & 1)
                drawn[n_drawn++] = list[i];
        if (n_drawn != most)
            continue;
        qsort(drawn, (size_t)n_drawn, sizeof *drawn, compare_masses);
        add_beam_sampled(law, leaves, drawn, n_drawn < law->k ? n_drawn : law->k,
                         probability * weight[set]);
    }
    free(weight);
}

static void beam_sample_has_its_law(void **state)
{
    (void)state;
    const struct node root = {.mass = 1, .leaf = -1};
    struct setup setup;
    struct leaves leaves;
    struct ordered_law law;
    for (int i = 0; i < 4; i++) {
        if (i == 0)
            open_law_model(CHAIN, &setup, &leaves);
        else
            open_wide_tree(&setup, &leaves);
        open_own_law(&law, &leaves, i == 0 ? 2 : i);
        add_beam_sampled(&law, &leaves, &root, 1, 1);
        check_own_law("beam-sample", SB_METHOD_BEAM_SAMPLE, &setup, &law);
        sb_model_close((sb_model *)(uintptr_t)setup.model);
    }
}

/* --- broken on purpose --- */

/* Takes items out of one list of weights by subtraction from their sum. */
static void sample_by_subtraction(struct setup *setup, uint64_t draw, struct picks *picks)
{
    (void)draw;
    bool used[MOST_LEAVES] = {false};
    double total = 0;
    for (int i = 0; i < setup->leaves->n; i++)
        total += exp(setup->leaves->list[i].phi);
    for (picks->n = 0; picks->n < setup->config.k && total > 0; picks->n++) {
        double left = next_uniform(setup->state) * total;
        int chosen = -1;
        for (int i = 0; i < setup->leaves->n && left >= 0; i++) {
            if (used[i])
                continue;
            chosen = i;
            left -= exp(setup->leaves->list[i].phi);
        }
        if (chosen < 0)
            break;
        used[chosen] = true;
        picks->leaf[picks->n] = chosen;
        total -= exp(setup->leaves->list[chosen].phi);
    }
}

/* Loses the leaf that finished first when there is one too many. */
static void sample_and_drop(struct setup *setup, uint64_t draw, struct picks *picks)
{
    struct setup wider = *setup;
    wider.config.k++;
    sample_leaves(&wider, draw, picks);
    int first = -1, depth = MOST_DEPTH;
    for (int i = 0; i < picks->n; i++)
        if (setup->leaves->list[picks->leaf[i]].n_tokens < depth) {
            first = i;
            depth = setup->leaves->list[picks->leaf[i]].n_tokens;
        }
    const bool drops = picks->n > setup->config.k && depth == 1;
    for (int i = drops ? first : picks->n; i + 1 < picks->n; i++)
        picks->leaf[i] = picks->leaf[i + 1];
    picks->n = picks->n < setup->config.k ? picks->n : setup->config.k;
}

/* Right, but for one draw in a hundred, which is always the same. */
static void sample_tilted(struct setup *setup, uint64_t draw, struct picks *picks)
{
    sample_leaves(setup, draw, picks);
    if (draw % 100 == 0)
        for (int i = 0; i < picks->n; i++)
            picks->leaf[i] = i;
}

/* Right, but for one draw in 50,000, which holds a leaf twice. */
static void sample_twice(struct setup *setup, uint64_t draw, struct picks *picks)
{
    sample_leaves(setup, draw, picks);
    if (draw % 50000 == 1234)
        picks->leaf[picks->n - 1] = picks->leaf[picks->n - 2];
}

static void expect_caught(const char *name, int model, sb_method method, sampler sample, int k)
{
    struct setup setup;
    struct leaves leaves;
    open_law_model(model, &setup, &leaves);
    uint64_t state = 3;
    setup.state = &state;
    setup.config.method = method;
    const struct fit fit = fit_order(&setup, sample, k, share_of(DRAWS));
    print_message("%s on %s: p = %.3g\n", name, law_models[model].name, fit.p_value);
    assert_true(fit.p_value < FALSE_ALARM);
    sb_model_close((sb_model *)(uintptr_t)setup.model);
}

static void broken_samplers_are_caught(void **state)
{
    (void)state;
    expect_caught("subtraction", LOPSIDED, SB_METHOD_SBS, sample_by_subtraction, 3);
    expect_caught("a dropped leaf", UNEVEN, SB_METHOD_SBS, sample_and_drop, 2);
    expect_caught("a tilt of 1 %", FIGURE_1, SB_METHOD_SBS, sample_tilted, 2);
    expect_caught("a duplicate in 50,000 draws", FIGURE_1, SB_METHOD_SBS, sample_twice, 2);
    expect_caught("a duplicate in 50,000 draws", FIGURE_1, SB_METHOD_SBS, sample_twice, 8);
    /* The naive method of section 4.1: noise drawn afresh at each step. */
    expect_caught("fresh noise", FIGURE_1, SB_METHOD_RESAMPLE, NULL, 2);
    expect_caught("fresh noise", UNEVEN, SB_METHOD_RESAMPLE, NULL, 2);
    expect_caught("hard commitment", UNEVEN, SB_METHOD_COMMIT, NULL, 2);
    expect_caught("the best of 2k", CHAIN, SB_METHOD_BEAM_SAMPLE, NULL, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sbs_has_the_law),
        cmocka_unit_test(reject_has_the_law),
        cmocka_unit_test(reference_has_the_law),
        cmocka_unit_test(one_sample_has_the_law),
        cmocka_unit_test(sbs_agrees_with_reference),
        cmocka_unit_test(resample_has_its_law),
        cmocka_unit_test(commit_has_its_law),
        cmocka_unit_test(beam_sample_has_its_law),
        cmocka_unit_test(broken_samplers_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
