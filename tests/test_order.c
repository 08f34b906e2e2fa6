/* The law of the order: chi-square of ordered draws against the exact Plackett-Luce law of
 * enumerable models, and proof that the same test catches samplers that are broken on purpose. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
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
    double wrong;  /* samples of the wrong size */
};

static void count_picks(void *user, const struct picks *picks)
{
    struct counts *const counts = user;
    if (picks->n == counts->law->k)
        counts->count[ordered_law_cell(counts->law, picks)]++;
    else
        counts->wrong++;
}

static struct fit fit_order(struct setup *setup, sampler sample, int k, size_t draws)
{
    struct ordered_law law;
    setup->config.k = k;
    ordered_law_open(&law, setup->leaves, k);
    struct counts counts = {&law, calloc(law.n_cells, sizeof(double)), 0};
    run_sampler(setup, sample, draws, count_picks, &counts);
    struct fit fit = fit_counts(law.probability, counts.count, law.n_cells);
    if (counts.wrong > 0)
        fit.p_value = 0;
    free(counts.count);
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
        /* And with one sequence fresh noise does no harm. */
        setup.config.method = SB_METHOD_RESAMPLE;
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

/* Right, but for a sequence that comes twice now and then. */
static void sample_twice(struct setup *setup, uint64_t draw, struct picks *picks)
{
    sample_leaves(setup, draw, picks);
    if (draw % 50000 == 0)
        picks->leaf[1] = picks->leaf[0];
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
    /* The naive method of section 4.1: noise drawn afresh at each step. */
    expect_caught("fresh noise", FIGURE_1, SB_METHOD_RESAMPLE, NULL, 2);
    expect_caught("fresh noise", UNEVEN, SB_METHOD_RESAMPLE, NULL, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sbs_has_the_law),           cmocka_unit_test(reject_has_the_law),
        cmocka_unit_test(reference_has_the_law),     cmocka_unit_test(one_sample_has_the_law),
        cmocka_unit_test(sbs_agrees_with_reference), cmocka_unit_test(broken_samplers_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
