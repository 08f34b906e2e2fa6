/* Tests kernels, rows and lazy children against slow references. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/algorithm1.h"
#include "math/children.h"
#include "math/row.h"
#include "reference.h"
#include "sbeam/topk.h"
#include "statistics.h"

enum { MOST = 3000 };

static double normal(uint64_t *generator)
{
    return sqrt(-2 * log(next_uniform(generator))) *
           cos(6.283185307179586 * next_uniform(generator));
}

/* Scores with everything in them: wide, flat, equal, -inf. */
static void fill(double *x, size_t n, int kind, uint64_t *generator)
{
    for (size_t i = 0; i < n; i++) {
        const double g = normal(generator);
        switch (kind % 4) {
        case 0: x[i] = 3 * g; break;
        case 1: x[i] = 300 * g; break;
        case 2: x[i] = next_uniform(generator) < 0.3 ? -INFINITY : g - 50; break;
        default: x[i] = floor(2 * g); break;
        }
    }
}

static const size_t lengths[] = {1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 255, 256, 257, 511, 1000, MOST};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

/* --- kernels --- */

static void kernels_match_long_double(void **state)
{
    (void)state;
    static double x[MOST];
    static float f[MOST];
    uint64_t generator = 2;
    for (int round = 0; round < 40; round++)
        for (int l = 0; l < N_LENGTHS; l++) {
            const size_t n = lengths[l];
            fill(x, n, round, &generator);
            x[0] = 0.25; /* some mass */
            long double top = -INFINITY, sum = 0;
            for (size_t i = 0; i < n; i++) {
                f[i] = (float)x[i];
                x[i] = (double)f[i];
                top = x[i] > top ? x[i] : top;
            }
            for (size_t i = 0; i < n; i++)
                sum += expl(x[i] - top);
            const long double exact = top + logl(sum);
            struct row row;
            void *const scratch = malloc(row_scratch_size((int32_t)n));
            row_init(&row, (int32_t)n, SB_ROW_DOUBLE, scratch);
            assert_true(row_open(&row, x, 1));
            /* Doubles to the last digits, floats to the stated error of a weight. */
            assert_true(fabsl(row.top + row.log_z - exact) < 4e-16L * (fabsl(exact) + 16));
            row_init(&row, (int32_t)n, SB_ROW_FLOAT, scratch);
            assert_true(row_open(&row, f, 1));
            assert_true(fabsl(row.log_z - (exact - top)) < 1e-6L);
            assert_true(fabsl(sb_log_sum_exp(f, n) - exact) < 1e-6L * (1 + fabsl(exact)));
            free(scratch);
        }
    assert_true(sb_log_sum_exp(f, 0) == -INFINITY);
}

/* --- rows --- */

struct holder {
    struct row row;
    void *scratch;
};

static void hold(struct holder *holder, const double *x, int32_t n, double temperature)
{
    holder->scratch = malloc(row_scratch_size(n));
    row_init(&holder->row, n, SB_ROW_DOUBLE, holder->scratch);
    assert_true(row_open(&holder->row, x, temperature));
}

/* Removing all members one by one: what is left is always the sum of what is left. */
static void removal_sums_again(void **state)
{
    (void)state;
    static double x[MOST];
    uint64_t generator = 3;
    for (int kind = 0; kind < 4; kind++) {
        const int32_t n = 700;
        const double temperature = kind == 1 ? 0.5 : 1;
        struct holder h;
        fill(x, (size_t)n, kind, &generator);
        hold(&h, x, n, temperature);
        bool gone[MOST] = {false};
        long double all = 0;
        for (int32_t i = 0; i < n; i++)
            all += expl((long double)(x[i] - h.row.top) / temperature);
        for (;;) {
            const int32_t member = row_pick(&h.row, next_uniform(&generator));
            if (member < 0)
                break;
            assert_true(x[member] > -INFINITY && !gone[member]);
            gone[member] = true;
            row_remove(&h.row, member);
            long double left = 0;
            for (int32_t i = 0; i < n; i++)
                left += gone[i] ? 0 : expl((long double)(x[i] - h.row.top) / temperature);
            const double expected = left > 0 ? (double)(logl(left) - logl(all)) : -INFINITY;
            const double found = row_log_rest(&h.row);
            assert_true(found == expected || fabs(found - expected) < 1e-13 * (1 + fabs(expected)));
        }
        assert_true(row_log_rest(&h.row) == -INFINITY);
        for (int32_t i = 0; i < n; i++)
            assert_true(gone[i] == (x[i] > -INFINITY));
        free(h.scratch);
    }
}

/* Probabilities of 1e-300 and less come out one after the other, each with its full precision. */
static void tiny_members_are_drawn(void **state)
{
    (void)state;
    const double x[] = {-690.7, 0, -1400, -46, -1400.5, -690.7};
    for (int32_t spread = 1; spread <= 300; spread += 299) {
        static double wide[6 * 300];
        for (int32_t i = 0; i < 6 * spread; i++)
            wide[i] = i % spread == 0 ? x[i / spread] : -INFINITY;
        struct holder h;
        hold(&h, wide, 6 * spread, 1);
        row_remove(&h.row, 1 * spread);
        assert_true(fabs(row_log_rest(&h.row) + 46) < 1e-12);
        row_remove(&h.row, 3 * spread);
        assert_true(fabs(row_log_rest(&h.row) + 690.7 - log(2)) < 1e-12);
        assert_int_equal(row_pick(&h.row, 0.49), 0);
        assert_int_equal(row_pick(&h.row, 0.51), 5 * spread);
        row_remove(&h.row, 0);
        row_remove(&h.row, 5 * spread);
        assert_true(fabs(row_log_rest(&h.row) + 1400 - log1p(exp(-0.5))) < 1e-12);
        row_remove(&h.row, row_pick(&h.row, 0.5));
        assert_int_equal(row_pick(&h.row, 0.5), 4 * spread);
        row_remove(&h.row, 4 * spread);
        assert_int_equal(row_pick(&h.row, 0.5), -1);
        free(h.scratch);
    }
}

/* Each quantile gives the member that the cumulated probabilities say. */
static void quantiles(void **state)
{
    (void)state;
    static double x[MOST];
    uint64_t generator = 4;
    const int32_t n = 1000;
    fill(x, (size_t)n, 0, &generator);
    struct holder h;
    hold(&h, x, n, 1);
    for (int i = 0; i < 2000; i++) {
        const double u = i < 2 ? (i ? 1 - 0x1p-53 : 0x1p-53) : next_uniform(&generator);
        const int32_t member = row_pick(&h.row, u);
        double before = 0;
        for (int32_t j = 0; j < member; j++)
            before += exp(row_log_p(&h.row, j));
        assert_true(before <= u + 1e-12 && before + exp(row_log_p(&h.row, member)) >= u - 1e-12);
    }
    free(h.scratch);
}

static void what_is_no_distribution_is_refused(void **state)
{
    (void)state;
    double x[300];
    struct holder h;
    h.scratch = malloc(row_scratch_size(300));
    row_init(&h.row, 300, SB_ROW_DOUBLE, h.scratch);
    const double bad[] = {NAN, INFINITY, -NAN};
    for (int i = 0; i < 3; i++)
        for (int32_t place = 0; place < 300; place += 23) {
            for (int j = 0; j < 300; j++)
                x[j] = i == 2 ? (double)-INFINITY : -(double)j;
            x[place] = bad[i];
            assert_false(row_open(&h.row, x, 0.7));
            assert_int_equal(row_find_bad(&h.row), place);
        }
    for (int j = 0; j < 300; j++)
        x[j] = -INFINITY;
    assert_false(row_open(&h.row, x, 1));
    assert_int_equal(row_find_bad(&h.row), -1);
    free(h.scratch);
}

/* --- children against Algorithm 1 --- */

static double draw_uniform(void *generator)
{
    return next_uniform(generator);
}

static void children_agree_with_algorithm_1(void **state)
{
    (void)state;
    enum { VOCAB = 50, RANKS = 6 };
    const size_t draws = share_of(50000);
    float logits[VOCAB];
    uint64_t generator = 5;
    for (int i = 0; i < VOCAB; i++)
        logits[i] = (float)(2 * normal(&generator));
    const algorithm1_entry parent = {.phi = -0.7, .g = 0.4};
    double *value[2][RANKS], count[2][RANKS][VOCAB] = {{{0}}};
    for (int i = 0; i < RANKS; i++) {
        value[0][i] = malloc(draws * sizeof(double));
        value[1][i] = malloc(draws * sizeof(double));
    }
    void *const scratch = malloc(row_scratch_size(VOCAB));
    struct row row;
    row_init(&row, VOCAB, SB_ROW_FLOAT, scratch);
    for (size_t d = 0; d < draws; d++) {
        algorithm1_entry all[VOCAB], best[RANKS];
        const size_t n = algorithm1_step(&parent, 1, logits, VOCAB, 1, RANKS, draw_uniform,
                                         &generator, all, best);
        assert_int_equal(n, RANKS);
        const struct noise_key key = {11, 0, d};
        const struct noise_node node = {12, 13};
        struct children children;
        assert_true(row_open(&row, logits, 1));
        children_open(&children, &key, &row, node, parent.phi, parent.g);
        for (int i = 0; i < RANKS; i++) {
            value[0][i][d] = best[i].g;
            count[0][i][best[i].token]++;
            value[1][i][d] = children.value;
            count[1][i][children_take(&children)]++;
            children_advance(&children, &key);
        }
    }
    for (int i = 0; i < RANKS; i++) {
        const double p_token = fit_two_counts(count[0][i], count[1][i], VOCAB).p_value;
        assert_true(p_token > FALSE_ALARM);
        /* The best child has the parent's value. */
        const double p_value = i == 0 ? 1 : ks_two_p_value(value[0][i], draws, value[1][i], draws);
        assert_true(i > 0 || (value[0][0][0] == parent.g && value[1][0][0] == parent.g));
        print_message("child of rank %d: tokens p = %.3g, values p = %.3g\n", i, p_token, p_value);
        assert_true(p_value > FALSE_ALARM);
        free(value[0][i]);
        free(value[1][i]);
    }
    free(scratch);
}

/* A restricted row is the row in which all other members are excluded. */
static void restricting_excludes_the_others(void **state)
{
    (void)state;
    static double x[MOST];
    static float f[MOST];
    static int32_t ids[MOST];
    uint64_t generator = 6;
    for (int round = 0; round < 200; round++) {
        const int32_t n = 900, extra = round % 2 ? 450 : -1;
        const bool is_float = round % 3 == 0;
        const double share = round % 5 == 0   ? 0.004
                             : round % 7 == 0 ? 0.9999
                                              : next_uniform(&generator);
        const double temperature = round % 4 ? 1 : 0.3;
        fill(x, (size_t)n, round, &generator);
        int32_t n_ids = 0;
        for (int32_t i = 0; i < n; i++) {
            f[i] = (float)x[i];
            if (i != extra && next_uniform(&generator) < share)
                ids[n_ids++] = i;
        }
        struct row row, other;
        void *const scratch = malloc(row_scratch_size(n)),
                    *const other_scratch = malloc(row_scratch_size(n)),
                    *const memory = malloc(row_restricted_size(n_ids + 1));
        row_init(&row, n, is_float ? SB_ROW_FLOAT : SB_ROW_DOUBLE, scratch);
        row_init(&other, n, row.type, other_scratch);
        for (int again = 0; again < 2; again++) { /* a row can be opened again */
            assert_true(row_open(&row, is_float ? (void *)f : (void *)x, temperature));
            assert_true(row_open(&other, is_float ? (void *)f : (void *)x, temperature));
            for (int32_t i = 0, next = 0; i < n; i++) {
                if (next < n_ids && ids[next] == i)
                    next++;
                else if (i != extra)
                    row_exclude(&other, i);
            }
            const bool has_mass = row_renormalise(&other);
            assert_int_equal(row_restrict(&row, ids, n_ids, extra, memory), has_mass);
            for (int step = 0; has_mass && step < 20; step++) {
                const double rest = row_log_rest(&other);
                const double u = next_uniform(&generator);
                assert_true(row_log_rest(&row) == rest ||
                            fabs(row_log_rest(&row) - rest) < 1e-5 * (1 + fabs(rest)));
                const int32_t member = row_pick(&row, u);
                assert_int_equal(member < 0, row_pick(&other, 0.5) < 0);
                if (member < 0)
                    break;
                assert_false(row_is_taken(&other, member));
                assert_false(row_is_taken(&row, member));
                assert_true(fabs(row_log_p(&row, member) - row_log_p(&other, member)) <
                            1e-5 * (1 + fabs(row_log_p(&row, member))));
                assert_true(row_log_p_model(&row, member) == row_log_p_model(&other, member));
                row_remove(&row, member);
                row_remove(&other, member);
                assert_true(row_is_taken(&row, member));
            }
        }
        free(memory);
        free(other_scratch);
        free(scratch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_match_long_double),
        cmocka_unit_test(removal_sums_again),
        cmocka_unit_test(tiny_members_are_drawn),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(what_is_no_distribution_is_refused),
        cmocka_unit_test(restricting_excludes_the_others),
        cmocka_unit_test(children_agree_with_algorithm_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
