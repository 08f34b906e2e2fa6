/* Tests the limit of log-probabilities: the law if the noise has just enough room, and the refusals
 * beyond the limit (doc/noise.md).
 *
 * The model has ten likely leaves. One has nearly all of the probability and is always drawn first.
 * The other nine are below three prefixes; their log-probabilities are near -1 / T and differ by
 * about 1. So their order is decided by noise that is added to a huge number. Three more leaves
 * have about -2 / T. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw_check.h"
#include "reference.h"
#include "statistics.h"

enum { DRAWS = 200000, VOCAB = 4, FAR_LEAVES = 9 };

/* log p of the far leaves is -999,999,995 and less at the first, -1,000,000,095 at the second. */
static const double inside = 1.00000000e-9 * (1 + 1e-8), outside = 1.00000000e-9 * (1 - 1e-7);

static const double scores[1 + VOCAB][VOCAB] = {
    {0, -1, -1 - 0.3e-9, -1 + 0.5e-9},    /* the root */
    {0, -INFINITY, -INFINITY, -INFINITY}, /* after token 0 */
    {0, -0.7e-9, 0.4e-9, -1},
    {1e-9, 0, 0, -1},               /* after tokens 1 and 2 */
    {-0.2e-9, 0.3e-9, -1.1e-9, -1}, /* after token 3 */
};

/* A model of fixed rows: the row of a prefix depends on its last token. */
struct rows {
    sb_row_type type;
    const double (*score)[VOCAB]; /* (1 + VOCAB, VOCAB) the first row is the root's */
};

static void fill_row(const struct rows *rows, int32_t token, void *row)
{
    for (int i = 0; i < VOCAB; i++) {
        const double score = rows->score[token + 1][i];
        if (rows->type == SB_ROW_FLOAT)
            ((float *)row)[i] = (float)score;
        else
            ((double *)row)[i] = score;
    }
}

static sb_decoder *open_decoder(const struct rows *rows, const sb_config *config)
{
    const sb_decoder_spec spec = {
        .vocab_size = VOCAB, .eos = -1, .row_type = rows->type, .max_slots = 1};
    sb_decoder *decoder;
    sb_error err;
    if (sb_decoder_open(&decoder, &spec, config, &err) != SB_OK)
        fail_msg("%s", err.message);
    return decoder;
}

/* Makes one draw. Returns the status of the last step. */
static sb_status run_draw(sb_decoder *decoder, const struct rows *rows, uint64_t number,
                          sb_result *result, sb_error *err)
{
    enum { MOST_ROWS = 1 << 10 };
    static double row[MOST_ROWS][VOCAB];
    const sb_job job = {.draw = number};
    const size_t size = rows->type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
    const int32_t *token;
    assert_int_equal(sb_decoder_add(decoder, &job, NULL, err), SB_OK);
    while (!sb_decoder_done(decoder)) {
        const int32_t n = sb_decoder_rows(decoder, NULL, &token, NULL);
        assert_true(n <= MOST_ROWS);
        for (int32_t i = 0; i < n; i++)
            fill_row(rows, token[i], (char *)row + (size_t)i * VOCAB * size);
        const sb_status status = sb_decoder_advance(decoder, row, VOCAB, err);
        assert_true(status == SB_OK || sb_decoder_done(decoder));
    }
    return sb_decoder_take(decoder, 0, result, err);
}

/* Draws once with a decoder of its own. */
static sb_status draw_once(const struct rows *rows, const sb_config *config, sb_result *result,
                           sb_error *err)
{
    sb_decoder *const decoder = open_decoder(rows, config);
    const sb_status status = run_draw(decoder, rows, 0, result, err);
    sb_decoder_close(decoder);
    return status;
}

static sb_config config_at(sb_method method, int32_t k, double temperature)
{
    sb_config config = config_of(method, k);
    config.seed = 20190515;
    config.max_len = 2;
    config.temperature = temperature;
    if (method == SB_METHOD_REJECT)
        config.max_samples = 100; /* at low temperatures there is only one sequence to find */
    return config;
}

/* --- the exact law, from the scores, in long double --- */

static long double log_p_of(const struct rows *rows, int32_t token, int32_t next,
                            double temperature)
{
    double row[VOCAB];
    fill_row(&(struct rows){SB_ROW_DOUBLE, rows->score}, token, row);
    if (rows->type == SB_ROW_FLOAT)
        for (int i = 0; i < VOCAB; i++)
            row[i] = (double)(float)row[i];
    double top = -INFINITY;
    for (int i = 0; i < VOCAB; i++)
        top = fmax(top, row[i]);
    long double sum = 0;
    for (int i = 0; i < VOCAB; i++)
        sum += expl(((long double)row[i] - top) / temperature);
    return ((long double)row[next] - top) / temperature - logl(sum);
}

static long double log_p_of_leaf(const struct rows *rows, const int32_t *tokens, double temperature)
{
    return log_p_of(rows, -1, tokens[0], temperature) +
           log_p_of(rows, tokens[0], tokens[1], temperature);
}

static int number_of_leaf(const int32_t *tokens)
{
    assert_true(tokens[0] >= 1 && tokens[1] < 3);
    return 3 * (tokens[0] - 1) + tokens[1];
}

/* Lists the nine far leaves by their share of the probability of all nine. Returns the logarithm of
 * that probability. */
static long double list_far_leaves(const struct rows *rows, double temperature,
                                   struct leaves *leaves)
{
    long double log_p[FAR_LEAVES], top = -INFINITY, sum = 0;
    leaves->n = FAR_LEAVES;
    for (int i = 0; i < FAR_LEAVES; i++) {
        const int32_t tokens[2] = {1 + i / 3, i % 3};
        log_p[i] = log_p_of_leaf(rows, tokens, temperature);
        top = log_p[i] > top ? log_p[i] : top;
    }
    for (int i = 0; i < FAR_LEAVES; i++)
        sum += expl(log_p[i] - top);
    for (int i = 0; i < FAR_LEAVES; i++)
        leaves->list[i].phi = (double)(log_p[i] - top - logl(sum));
    return top + logl(sum);
}

/* Returns log_p_draw of the far leaves in this order. */
static long double log_p_of_order(const struct leaves *leaves, const struct picks *picks)
{
    long double left = 0, total = 0;
    for (int i = 0; i < leaves->n; i++)
        left += expl((long double)leaves->list[i].phi);
    for (int i = 0; i < picks->n; i++) {
        const long double phi = leaves->list[picks->leaf[i]].phi;
        total += phi - logl(left);
        left -= expl(phi);
    }
    return total;
}

/* --- the law --- */

/* The results of the draws. Numbers are relative to log_mass, the log-probability of the nine. */
struct seen {
    double *count;            /* of the cells of the ordered law */
    double *first_g, *weight; /* (draws) G of the best far leaf; the sum of the weights */
    double worst_draw;        /* the largest error of log_p_draw */
    double worst;             /* the largest error of log_p */
};

static void look_at(const sb_result *result, const struct leaves *leaves, long double log_mass,
                    const struct ordered_law *law, size_t draw, struct seen *seen)
{
    struct picks picks = {.n = result->n_sequences - 1};
    assert_int_equal(picks.n, law->k);
    assert_int_equal(result->sequences[0].tokens[0], 0);
    for (int i = 0; i < picks.n; i++) {
        const sb_sequence *const s = &result->sequences[i + 1];
        picks.leaf[i] = number_of_leaf(s->tokens);
        const long double exact = log_mass + (long double)leaves->list[picks.leaf[i]].phi;
        seen->worst = fmax(seen->worst, (double)fabsl(s->log_p - exact));
        seen->weight[draw] += (double)expl((long double)s->log_weight - log_mass);
        assert_true(isnan(s->g) || (s->g >= result->kappa && s->g <= result->sequences[i].g));
    }
    seen->count[ordered_law_cell(law, &picks)]++;
    if (isnan(result->kappa))
        return; /* a method without G */
    seen->first_g[draw] = (double)(result->sequences[1].g - log_mass);
    const double exact = (double)log_p_of_order(leaves, &picks);
    seen->worst_draw = fmax(seen->worst_draw, fabs(result->log_p_draw - exact));
}

static void check_numbers(const struct seen *seen, size_t draws, int32_t k)
{
    const double zero = 0, p_g = ks_p_value(seen->first_g, draws, gumbel_cdf, &zero);
    const struct mean_test weights = test_mean(seen->weight, draws, 1);
    print_message("    G: p = %.3g; weights: z = %.2f; log_p: error %.2g; log_p_draw: %.2g\n", p_g,
                  weights.z, seen->worst, seen->worst_draw);
    assert_true(p_g > FALSE_ALARM);
    assert_true(fabs(weights.z) < 5 || k == 2);         /* a single weight has infinite variance */
    assert_true(seen->worst < (2 + 4) * 1e9 * 0x1p-53); /* two steps */
    /* Each of the k - 1 terms is a difference of two numbers of 1e9 with six roundings each. */
    assert_true(seen->worst_draw < (k - 1) * 12 * 1e9 * 0x1p-53);
}

static void check_law(const char *name, sb_row_type type, sb_method method, int32_t k,
                      double temperature)
{
    const bool has_g = sb_method_get_info(method)->has_g;
    const struct rows rows = {type, scores};
    const sb_config config = config_at(method, k, temperature);
    const size_t draws = share_of(DRAWS);
    struct leaves leaves;
    struct ordered_law law;
    const long double log_mass = list_far_leaves(&rows, temperature, &leaves);
    ordered_law_open(&law, &leaves, k - 1);
    struct seen seen = {.count = calloc(law.n_cells, sizeof(double)),
                        .first_g = calloc(draws, sizeof(double)),
                        .weight = calloc(draws, sizeof(double))};
    sb_decoder *const decoder = open_decoder(&rows, &config);
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    for (size_t i = 0; i < draws; i++) {
        if (run_draw(decoder, &rows, i, result, &err) != SB_OK)
            fail_msg("%s", err.message);
        look_at(result, &leaves, log_mass, &law, i, &seen);
    }
    const struct fit fit = fit_counts(law.probability, seen.count, law.n_cells);
    print_message("%s, k = %d: chi-square %.1f on %d, p = %.3g, catches a bias of %.2g %%\n", name,
                  k, fit.statistic, fit.degrees, fit.p_value, 100 * fit.smallest_bias);
    assert_true(fit.p_value > FALSE_ALARM);
    if (has_g)
        check_numbers(&seen, draws, k);
    sb_result_close(result);
    sb_decoder_close(decoder);
    ordered_law_close(&law);
    free(seen.count);
    free(seen.first_g);
    free(seen.weight);
}

static void law_just_inside(void **state)
{
    (void)state;
    check_law("sbs, double rows", SB_ROW_DOUBLE, SB_METHOD_SBS, 2, inside);
    check_law("sbs, double rows", SB_ROW_DOUBLE, SB_METHOD_SBS, 3, inside);
    check_law("sbs, double rows", SB_ROW_DOUBLE, SB_METHOD_SBS, 4, inside);
    check_law("sbs, float rows", SB_ROW_FLOAT, SB_METHOD_SBS, 4, inside);
    check_law("explicit", SB_ROW_DOUBLE, SB_METHOD_EXPLICIT, 3, inside);
    /* With one far leaf commitment does no harm. It never compares noise of different prefixes, so
     * it has no border. */
    check_law("commit", SB_ROW_DOUBLE, SB_METHOD_COMMIT, 2, outside);
}

/* The error of log p grows with the number of steps n, at most to (n + 4) * 2^-53 |log p|. The
 * second sequence has log p of -5e8 after its first token, and then adds small numbers to it. */
static void long_sequences(void **state)
{
    (void)state;
    static const double chain[1 + VOCAB][VOCAB] = {{0, -5e8, -INFINITY, -INFINITY},
                                                   {0, -INFINITY, -INFINITY, -INFINITY},
                                                   {-INFINITY, 0.3, -0.2, 1.1},
                                                   {-INFINITY, -1, 0.7, 0.6},
                                                   {-INFINITY, 0.1, 0, 0.4}};
    const struct rows rows = {SB_ROW_DOUBLE, chain};
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    for (int32_t n = 2; n <= 20000; n *= 10) {
        sb_config config = config_at(SB_METHOD_SBS, 2, 1);
        config.max_len = n;
        assert_int_equal(draw_once(&rows, &config, result, &err), SB_OK);
        const sb_sequence *const s = &result->sequences[1];
        long double exact = 0;
        assert_int_equal(s->n_tokens, n);
        for (int32_t i = 0; i < n; i++)
            exact += log_p_of(&rows, i == 0 ? -1 : s->tokens[i - 1], s->tokens[i], 1);
        const double error = (double)fabsl(s->log_p - exact);
        const double most = (n + 4) * -s->log_p * 0x1p-53;
        print_message("%d steps: log p %.10g, error %.2g of at most %.2g\n", n, s->log_p, error,
                      most);
        assert_true(error <= most);
    }
    sb_result_close(result);
}

/* What the noise would do without a limit: log p near -1e16 rounds G to multiples of 2. */
static void noise_without_room_is_caught(void **state)
{
    (void)state;
    const struct rows rows = {SB_ROW_DOUBLE, scores};
    struct leaves leaves;
    struct ordered_law law;
    struct picks picks;
    uint64_t generator = 7;
    list_far_leaves(&rows, inside, &leaves);
    ordered_law_open(&law, &leaves, 2);
    double *const count = calloc(law.n_cells, sizeof *count);
    struct setup setup = {.leaves = &leaves, .config = {.k = 2}, .state = &generator};
    struct leaves far = leaves;
    setup.leaves = &far;
    for (int i = 0; i < FAR_LEAVES; i++)
        far.list[i].phi -= 1e16;
    for (size_t i = 0; i < share_of(DRAWS); i++) {
        sample_leaves(&setup, i, &picks);
        count[ordered_law_cell(&law, &picks)]++;
    }
    const struct fit fit = fit_counts(law.probability, count, law.n_cells);
    print_message("noise of a log p of -1e16: p = %.3g\n", fit.p_value);
    assert_true(fit.p_value < FALSE_ALARM);
    free(count);
    ordered_law_close(&law);
}

/* --- refusals --- */

static bool ranks_by_noise(sb_method method)
{
    return method == SB_METHOD_SBS || method == SB_METHOD_EXPLICIT ||
           method == SB_METHOD_RESAMPLE || method == SB_METHOD_BEAM_SAMPLE;
}

/* Every method at k = 4, which needs three far leaves, on both sides of the border and far out. */
static void refused_just_outside(void **state)
{
    (void)state;
    static const double temperatures[] = {1, inside, outside, 1e-17, 1e-100};
    const struct rows rows = {SB_ROW_DOUBLE, scores};
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    for (int t = 0; t < 5; t++)
        for (int m = 0; sb_method_name((sb_method)m) != NULL; m++) {
            const sb_config config = config_at((sb_method)m, 4, temperatures[t]);
            const bool refused = t >= 2 && ranks_by_noise((sb_method)m);
            const sb_status status = draw_once(&rows, &config, result, &err);
            assert_int_equal(status, refused ? SB_ERR_LIMIT : SB_OK);
            if (!refused)
                continue;
            assert_int_equal(result->n_sequences, 0);
            assert_non_null(strstr(err.message, "sequence 2 has the log-probability -"));
            assert_non_null(strstr(err.message, "after 2 steps at temperature "));
            assert_non_null(strstr(err.message, "expected at least -1e9"));
            assert_non_null(strstr(err.message, "method beam"));
            assert_true(strlen(err.message) < sizeof err.message - 1);
        }
    sb_result_close(result);
}

/* Only returned sequences count: k = 1 is fine at any temperature, with its threshold, and so are
 * ties, whose log-probability does not depend on the temperature. */
static void refusal_depends_on_k(void **state)
{
    (void)state;
    static const double tied[1 + VOCAB][VOCAB] = {
        {0, 0, -1, -1}, {0, -1, 0, 0}, {0, 0, -1, -2}, {0}, {0}};
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    for (int explicit = 0; explicit < 2; explicit ++) {
        const sb_method method = explicit ? SB_METHOD_EXPLICIT : SB_METHOD_SBS;
        sb_config config = config_at(method, 1, 1e-17);
        const struct rows rows = {SB_ROW_DOUBLE, scores};
        assert_int_equal(draw_once(&rows, &config, result, &err), SB_OK);
        assert_true(fabs(result->kappa / -1e17 - 1) < 1e-9 && !result->exhausted);
        assert_true(result->sequences[0].log_weight == 0 && result->log_p_draw == 0);

        const struct rows ties = {SB_ROW_DOUBLE, tied};
        config = config_at(method, 5, 1e-100);
        assert_int_equal(draw_once(&ties, &config, result, &err), SB_OK);
        for (int32_t i = 0; i < 5; i++) {
            const sb_sequence *const s = &result->sequences[i];
            assert_true(fabs(s->log_p + log(s->tokens[0] == 0 ? 6 : 4)) < 1e-15);
        }
        assert_true(result->kappa < -1e99 && !result->exhausted);
        config.k = 6;
        assert_int_equal(draw_once(&ties, &config, result, &err), SB_ERR_LIMIT);
        assert_non_null(strstr(err.message, "sequence 6 "));
    }
    sb_result_close(result);
}

/* Scores that stand for "impossible" may be on the beam for a while: the first step has only two
 * other tokens for a beam of five. They change nothing, to the bit. */
static void masks_change_nothing(void **state)
{
    (void)state;
    static const double masks[] = {-1e10, -3.4e38, -1e300, -DBL_MAX};
    double masked[2][1 + VOCAB][VOCAB];
    sb_result *result[2];
    sb_error err;
    assert_int_equal(sb_result_open(&result[0], &err), SB_OK);
    assert_int_equal(sb_result_open(&result[1], &err), SB_OK);
    for (int m = 0; m < 4; m++)
        for (int t = 0; t < 2; t++)
            for (int i = 0; i < 2; i++) {
                const double mask = i == 0 ? -INFINITY : masks[m];
                const double rows[1 + VOCAB][VOCAB] = {
                    {0.3, mask, mask, 0.1}, {1, 2, mask, 1.5}, {0}, {0}, {0.4, 0.7, 1, 0.2}};
                memcpy(masked[i], rows, sizeof rows);
                const struct rows model = {SB_ROW_DOUBLE, (const double(*)[VOCAB])masked[i]};
                const sb_config config = config_at(SB_METHOD_SBS, 4, t == 0 ? 1 : 0.5);
                if (draw_once(&model, &config, result[i], &err) != SB_OK)
                    fail_msg("%s", err.message);
                if (i == 1)
                    assert_same_draws(result[0], result[1]);
            }
    sb_result_close(result[0]);
    sb_result_close(result[1]);
}

/* A score whose log-probability is below the smallest double is not a probability of zero. */
static void smallest_double(void **state)
{
    (void)state;
    static const double wide[1 + VOCAB][VOCAB] = {{0, -1e300, -INFINITY, -INFINITY},
                                                  {0, -INFINITY, -INFINITY, -INFINITY},
                                                  {0, -1e300, -INFINITY, -INFINITY},
                                                  {0},
                                                  {0}};
    const struct rows rows = {SB_ROW_DOUBLE, wide};
    sb_result *result;
    sb_error err;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    for (int m = 0; sb_method_name((sb_method)m) != NULL; m++) {
        sb_config config = config_at((sb_method)m, 1, 1e-100);
        assert_int_equal(draw_once(&rows, &config, result, &err), SB_OK);
        assert_true(result->n_sequences == 1 && !result->exhausted);
        assert_true(isnan(result->kappa) || result->kappa == -DBL_MAX);
        config.k = 3;
        const sb_status status = draw_once(&rows, &config, result, &err);
        if (m == SB_METHOD_SAMPLE || m == SB_METHOD_REJECT || m == SB_METHOD_DIVERSE) {
            assert_int_equal(status, SB_OK);
            continue;
        }
        assert_int_equal(status, SB_ERR_LIMIT);
        assert_non_null(strstr(err.message, "sequence 2 has "));
        if (!ranks_by_noise((sb_method)m))
            assert_non_null(strstr(err.message, "not a double"));
    }
    sb_config config = config_at(SB_METHOD_SBS, 1, 1e-100);
    config.kappa = false;
    assert_int_equal(draw_once(&rows, &config, result, &err), SB_OK);
    assert_true(!result->exhausted && isnan(result->kappa));
    /* It was on the beam, and others have taken its place. */
    static const double split[1 + VOCAB][VOCAB] = {
        {0, -1e300, -INFINITY, -INFINITY}, {0, 0, -INFINITY, -INFINITY}, {0}, {0}, {0}};
    config.k = 2;
    assert_int_equal(draw_once(&(struct rows){SB_ROW_DOUBLE, split}, &config, result, &err), SB_OK);
    assert_true(result->n_sequences == 2 && !result->exhausted);
    sb_result_close(result);
}

/* Float scores that differ by 1e-35 are far apart at T = 1e-40: log p of the second is -1e5. */
static void tiny_differences(void **state)
{
    (void)state;
    static const double tiny[1 + VOCAB][VOCAB] = {
        {-1e-35, 0, -INFINITY, -2e-35}, {0}, {0, -3e-35, -1e-35, -INFINITY}, {0}, {0}};
    static const sb_method methods[] = {SB_METHOD_SBS, SB_METHOD_SAMPLE};
    for (int type = 0; type < 2; type++)
        for (int m = 0; m < 2; m++) {
            const struct rows rows = {type == 0 ? SB_ROW_FLOAT : SB_ROW_DOUBLE, tiny};
            const sb_config config = config_at(methods[m], 1, 1e-40);
            sb_decoder *const decoder = open_decoder(&rows, &config);
            sb_result *result;
            sb_error err;
            assert_int_equal(sb_result_open(&result, &err), SB_OK);
            for (uint64_t i = 0; i < 200; i++) {
                assert_int_equal(run_draw(decoder, &rows, i, result, &err), SB_OK);
                const sb_sequence *const s = &result->sequences[0];
                assert_true(s->tokens[0] == 1 && s->tokens[1] == 0 && s->log_p == 0);
            }
            sb_result_close(result);
            sb_decoder_close(decoder);
        }
}

/* Huge scores are fine if they are close to each other; so are huge ones that are not reached. */
static void huge_scores(void **state)
{
    (void)state;
    static const double huge[1 + VOCAB][VOCAB] = {{0x1p52, 0x1p52 - 1, 0x1p52 - 2, -1e300},
                                                  {1e307, 1e307, -1e307, -1e308},
                                                  {1e300, 1e300, 1e300, -1e300},
                                                  {-1e300, -1e300, -DBL_MAX, -INFINITY},
                                                  {0}};
    static const double small[1 + VOCAB][VOCAB] = {{0, -1, -2, -INFINITY},
                                                   {0, 0, -INFINITY, -INFINITY},
                                                   {0, 0, 0, -INFINITY},
                                                   {0, 0, -INFINITY, -INFINITY},
                                                   {0}};
    sb_result *a, *b;
    sb_error err;
    assert_int_equal(sb_result_open(&a, &err), SB_OK);
    assert_int_equal(sb_result_open(&b, &err), SB_OK);
    const sb_config config = config_at(SB_METHOD_SBS, 6, 1);
    assert_int_equal(draw_once(&(struct rows){SB_ROW_DOUBLE, huge}, &config, a, &err), SB_OK);
    assert_int_equal(draw_once(&(struct rows){SB_ROW_DOUBLE, small}, &config, b, &err), SB_OK);
    assert_same_draws(a, b);
    sb_result_close(a);
    sb_result_close(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(law_just_inside),
        cmocka_unit_test(long_sequences),
        cmocka_unit_test(noise_without_room_is_caught),
        cmocka_unit_test(refused_just_outside),
        cmocka_unit_test(refusal_depends_on_k),
        cmocka_unit_test(masks_change_nothing),
        cmocka_unit_test(smallest_double),
        cmocka_unit_test(huge_scores),
        cmocka_unit_test(tiny_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
