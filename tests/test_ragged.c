/* Rows of different widths, and jobs that are continued. A tree by hash, whose rows have 1 to 70
 * scores, is drawn with its own widths, and with rows that are padded to one vocabulary. A job that
 * is continued gives the draws of a job that knew its k. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/slot.h"
#include "draw_check.h"

enum { WIDEST = 70, MOST_STATES = 1 << 16, MOST_ROWS = 64, SLOTS = 3, ALL = 100000 };

struct node {
    uint64_t hash;
    int32_t depth;
};

/* The host keeps the nodes of the states, and those of the last rows. */
struct host {
    struct node states[MOST_STATES], rows[MOST_ROWS];
    int32_t token_of_bad_row; /* a row that a step with this token leads to is all NaN; -1: none */
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

static struct node child_of(struct node parent, int32_t token)
{
    return (struct node){mix(parent.hash * 31 + (uint64_t)token + 1), parent.depth + 1};
}

/* Returns the number of children: 0 for a leaf. The roots have all the widest row. */
static int32_t width_of(struct node node)
{
    if (node.depth == 0)
        return WIDEST;
    if (node.depth >= 4 || (node.depth >= 2 && node.hash % 3 == 0))
        return 0;
    return node.hash % 7 == 0 ? 50 : (int32_t)(node.hash % 5) + 1;
}

static double score_of(struct node node, int32_t token)
{
    return (double)(mix(child_of(node, token).hash) % 1024) / 128;
}

static bool is_leaf(void *user, int32_t row, int32_t token)
{
    const struct host *const host = user;
    return width_of(child_of(host->rows[row], token)) == 0;
}

/* Computes the wanted rows and makes one step. */
static sb_status advance(sb_decoder *decoder, struct host *host, bool is_ragged, sb_error *err)
{
    static double logits[MOST_ROWS * WIDEST];
    const int32_t *token, *input, *from, *to, *released;
    int32_t widths[MOST_ROWS];
    size_t n_scores = 0;
    const int32_t n = sb_decoder_rows(decoder, NULL, &token, &input);
    assert_true(n <= MOST_ROWS);
    assert_true(sb_decoder_states(decoder, &from, &to, &released, NULL) >= 0);
    for (int32_t i = 0; i < n; i++)
        host->rows[i] = from[i] < 0 ? (struct node){mix((uint64_t)input[i] + 1), 0}
                                    : child_of(host->states[from[i]], token[i]);
    for (int32_t i = 0; i < n; i++) {
        const struct node node = host->rows[i];
        assert_true(to[i] < MOST_STATES);
        host->states[to[i]] = node;
        widths[i] = width_of(node);
        for (int32_t t = 0; t < (is_ragged ? widths[i] : WIDEST); t++)
            logits[n_scores++] = t >= widths[i] ? -INFINITY
                                 : token[i] >= 0 && token[i] == host->token_of_bad_row
                                     ? NAN
                                     : score_of(node, t);
    }
    return is_ragged ? sb_decoder_advance_ragged(decoder, logits, widths, err)
                     : sb_decoder_advance(decoder, logits, WIDEST, err);
}

static uint64_t draw_number = 4;

static sb_decoder *open_decoder(struct host *host, bool is_ragged, bool continues, int32_t k,
                                int32_t parallel)
{
    sb_config config = config_of(SB_METHOD_SBS, k);
    config.seed = 11;
    config.parallel = parallel;
    const sb_decoder_spec spec = {.vocab_size = is_ragged ? 0 : WIDEST,
                                  .eos = -1,
                                  .row_type = SB_ROW_DOUBLE,
                                  .max_slots = SLOTS,
                                  .keeps_states = true,
                                  .continues = continues,
                                  .user = host,
                                  .is_leaf = is_ragged ? NULL : is_leaf};
    sb_decoder *decoder;
    sb_error err;
    if (sb_decoder_open(&decoder, &spec, &config, &err) != SB_OK)
        fail_msg("%s", err.message);
    for (uint64_t s = 0; s < SLOTS; s++) {
        const sb_job job = {.stream = s, .draw = draw_number};
        assert_int_equal(sb_decoder_add(decoder, &job, NULL, NULL), SB_OK);
    }
    return decoder;
}

/* Takes steps until all jobs have finished, and takes the results, which the caller closes. */
static void run(sb_decoder *decoder, struct host *host, bool is_ragged, sb_result *results[SLOTS])
{
    sb_error err;
    int32_t slot;
    while (!sb_decoder_done(decoder))
        if (advance(decoder, host, is_ragged, &err) != SB_OK)
            fail_msg("%s", err.message);
    for (int32_t s = 0; s < SLOTS; s++) {
        slot = sb_decoder_finished(decoder);
        assert_int_equal(slot, s);
        assert_int_equal(sb_result_open(&results[s], NULL), SB_OK);
        assert_int_equal(sb_decoder_take(decoder, s, results[s], NULL), SB_OK);
    }
    assert_int_equal(sb_decoder_finished(decoder), -1);
}

static void close_results(sb_result *results[SLOTS])
{
    for (int32_t s = 0; s < SLOTS; s++)
        sb_result_close(results[s]);
}

static struct host *open_host(void)
{
    struct host *const host = calloc(1, sizeof *host);
    assert_non_null(host);
    host->token_of_bad_row = -1;
    return host;
}

/* The mass that a draw leaves out is summed in the order of the search. */
static void assert_close(double a, double b)
{
    assert_true(fabs(a - b) <= 1e-9 * (1 + fabs(b)));
}

static void ragged_rows_draw_as_padded_rows(void **state)
{
    (void)state;
    struct host *const host = open_host();
    const int32_t sizes[] = {1, 2, 3, 40, 300, ALL};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (draw_number = 0; draw_number < (sizes[i] < 40 ? 100 : 2); draw_number++)
            for (int32_t parallel = 1; parallel <= 5; parallel += 2) {
                sb_result *padded[SLOTS], *ragged[SLOTS];
                sb_decoder *const a = open_decoder(host, false, false, sizes[i], parallel);
                sb_decoder *const b = open_decoder(host, true, false, sizes[i], parallel);
                run(a, host, false, padded);
                run(b, host, true, ragged);
                for (int32_t s = 0; s < SLOTS; s++) {
                    assert_same_draws(ragged[s], padded[s]);
                    assert_close(ragged[s]->log_p_draw, padded[s]->log_p_draw);
                    assert_int_equal(ragged[s]->exhausted, sizes[i] == ALL);
                    assert_true(ragged[s]->n_sequences > 0);
                    /* A leaf is not a row of the model. */
                    if (parallel == 1)
                        assert_int_equal(ragged[s]->model_rows, count_prefixes(ragged[s]));
                }
                assert_int_equal(b->states.n_unused, b->states.n);
                close_results(padded);
                close_results(ragged);
                sb_decoder_close(a);
                sb_decoder_close(b);
            }
    free(host);
}

static void continued_jobs_are_one_draw(void **state)
{
    (void)state;
    struct host *const host = open_host(), *const other = open_host();
    const int32_t sizes[] = {1, 1, 3, 2, 90, 400, ALL, 5};
    for (int is_ragged = 0; is_ragged < 2; is_ragged++)
        for (int32_t parallel = 1; parallel <= 4; parallel += 3) {
            sb_decoder *const decoder = open_decoder(host, is_ragged, true, sizes[0], parallel);
            int32_t k = 0;
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                sb_result *whole[SLOTS], *continued[SLOTS];
                k += sizes[i];
                sb_decoder *const fresh = open_decoder(other, is_ragged, false, k, parallel);
                run(fresh, other, is_ragged, whole);
                for (int32_t s = 0; s < SLOTS && i > 0; s++)
                    assert_int_equal(sb_decoder_continue(decoder, s, sizes[i], NULL), SB_OK);
                run(decoder, host, is_ragged, continued);
                for (int32_t s = 0; s < SLOTS; s++) {
                    const sb_result *const a = continued[s], *const b = whole[s];
                    sb_sequence last;
                    assert_same_draws(a, b);
                    assert_int_equal(a->k, k);
                    assert_close(a->log_p_draw, b->log_p_draw);
                    assert_int_equal(sb_decoder_certain(decoder, s, a->n_sequences - 1, &last), 1);
                    assert_true(last.g == a->sequences[a->n_sequences - 1].g);
                    assert_int_equal(sb_decoder_certain(decoder, s, a->n_sequences, &last), 0);
                }
                close_results(whole);
                close_results(continued);
                sb_decoder_close(fresh);
            }
            assert_int_equal(decoder->states.n_unused, decoder->states.n); /* all are exhausted */
            sb_decoder_close(decoder);
        }
    free(host);
    free(other);
}

/* A job that is cancelled, or fails, gives its states back, and its slot takes another job. */
static void no_state_is_lost(void **state)
{
    (void)state;
    struct host *const host = open_host();
    for (int round = 0; round < 6; round++) {
        sb_decoder *const decoder = open_decoder(host, true, true, 20, 3);
        const bool fails = round >= 3;
        sb_error err;
        sb_result *results[SLOTS];
        host->token_of_bad_row = -1;
        run(decoder, host, true, results);
        close_results(results);
        assert_true(decoder->states.n_unused < decoder->states.n);
        for (int32_t s = 0; s < SLOTS; s++)
            assert_int_equal(sb_decoder_continue(decoder, s, 30, NULL), SB_OK);
        host->token_of_bad_row = fails ? round % 2 : -1;
        for (int step = 0; step < 5 + round && !sb_decoder_done(decoder); step++) {
            const sb_status status = advance(decoder, host, true, &err);
            assert_true(status == SB_OK || (fails && status == SB_ERR_MODEL));
        }
        if (round % 3 == 0) /* also cancels jobs whose next rows have their states already */
            for (int i = 0; i < 2; i++) {
                const int32_t *from, *to, *released;
                assert_true(sb_decoder_states(decoder, &from, &to, &released, NULL) >= 0);
            }
        for (int32_t s = 0; s < SLOTS; s++)
            assert_int_equal(sb_decoder_cancel(decoder, s, NULL), SB_OK);
        assert_int_equal(decoder->states.n_unused, decoder->states.n);
        for (uint64_t s = 0; s < SLOTS; s++) {
            const sb_job job = {.stream = s, .draw = draw_number};
            assert_int_equal(sb_decoder_add(decoder, &job, NULL, NULL), SB_OK);
        }
        host->token_of_bad_row = -1;
        sb_result *expected[SLOTS];
        sb_decoder *const fresh = open_decoder(host, true, false, 20, 3);
        run(fresh, host, true, expected);
        run(decoder, host, true, results);
        for (int32_t s = 0; s < SLOTS; s++)
            assert_same_draws(results[s], expected[s]);
        close_results(results);
        close_results(expected);
        sb_decoder_close(fresh);
        sb_decoder_close(decoder);
    }
    free(host);
}

static void a_root_may_be_a_leaf(void **state)
{
    (void)state;
    struct host *const host = open_host();
    for (int continues = 0; continues < 2; continues++) {
        sb_decoder *const decoder = open_decoder(host, true, continues, 3, 1);
        const int32_t *from, *to, *released, widths[SLOTS] = {0};
        assert_true(sb_decoder_states(decoder, &from, &to, &released, NULL) >= 0);
        assert_int_equal(sb_decoder_advance_ragged(decoder, NULL, widths, NULL), SB_OK);
        assert_true(sb_decoder_done(decoder));
        sb_result *results[SLOTS];
        run(decoder, host, true, results);
        for (int32_t s = 0; s < SLOTS; s++) {
            const sb_result *const result = results[s];
            assert_int_equal(result->n_sequences, 1);
            assert_int_equal(result->sequences[0].n_tokens, 0);
            assert_int_equal(result->sequences[0].end, SB_END_LEAF);
            assert_true(result->exhausted && result->kappa == -INFINITY);
            assert_true(result->sequences[0].log_p == 0 && result->model_rows == 0);
        }
        assert_int_equal(decoder->states.n_unused, decoder->states.n);
        close_results(results);
        sb_decoder_close(decoder);
    }
    free(host);
}

/* --- refusals --- */

static void refuse_spec(const sb_decoder_spec *spec, const sb_config *config, const char *words)
{
    sb_decoder *decoder;
    sb_error err;
    assert_int_equal(sb_decoder_open(&decoder, spec, config, &err), SB_ERR_ARGUMENT);
    if (strstr(err.message, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, err.message);
}

static void specs_that_do_not_fit(void **state)
{
    (void)state;
    const sb_decoder_spec ragged = {.eos = -1, .max_slots = 1, .keeps_states = true};
    const sb_decoder_spec lasting = {
        .vocab_size = 4, .eos = -1, .max_slots = 1, .keeps_states = true, .continues = true};
    const int32_t banned = 0;
    sb_decoder_spec spec;
    sb_config config = config_of(SB_METHOD_SBS, 2);
    spec = ragged, spec.keeps_states = false;
    refuse_spec(&spec, &config, "vocab_size is 0, which needs best-first search");
    spec = lasting, spec.keeps_states = false;
    refuse_spec(&spec, &config, "continues is true, which needs best-first search");
    spec = ragged, spec.vocab_size = -1;
    refuse_spec(&spec, &config, "vocab_size is -1");
    spec = ragged, spec.eos = 0;
    refuse_spec(&spec, &config, "there is an end token");
    config.ban = &banned, config.n_ban = 1;
    refuse_spec(&ragged, &config, "a banned token");
    config = config_of(SB_METHOD_SBS, 2), config.min_len = 1;
    refuse_spec(&ragged, &config, "min-len");
    config = config_of(SB_METHOD_SBS, 2), config.until_mass = 0.5;
    refuse_spec(&lasting, &config, "until-mass or until-texts is set");
    config = config_of(SB_METHOD_SBS, 2), config.search = SB_SEARCH_LEVEL;
    refuse_spec(&ragged, &config, "needs best-first search");
    config = config_of(SB_METHOD_BEAM, 2);
    refuse_spec(&lasting, &config, "needs best-first search");
}

static void calls_that_do_not_fit(void **state)
{
    (void)state;
    struct host *const host = open_host();
    sb_decoder *const ragged = open_decoder(host, true, true, 2, 1);
    sb_decoder *const padded = open_decoder(host, false, false, 2, 1);
    const double logits[SLOTS * WIDEST] = {0};
    int32_t widths[SLOTS] = {2, 3, 4};
    const int32_t *from, *to, *released;
    sb_error err;
    assert_int_equal(sb_decoder_advance_ragged(ragged, logits, widths, &err), SB_ERR_STATE);
    assert_non_null(strstr(err.message, "call sb_decoder_states"));
    assert_true(sb_decoder_states(ragged, &from, &to, &released, NULL) >= 0);
    assert_true(sb_decoder_states(padded, &from, &to, &released, NULL) >= 0);
    assert_int_equal(sb_decoder_advance(ragged, logits, WIDEST, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_advance_ragged(padded, logits, widths, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_advance_ragged(NULL, logits, widths, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_advance_ragged(ragged, logits, NULL, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_advance_ragged(ragged, NULL, widths, &err), SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "logits is NULL"));
    widths[1] = -1;
    assert_int_equal(sb_decoder_advance_ragged(ragged, logits, widths, &err), SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "row 1 has the width -1"));
    assert_int_equal(sb_decoder_continue(ragged, 0, 1, &err), SB_ERR_STATE); /* still running */
    assert_int_equal(sb_decoder_continue(padded, 0, 1, &err), SB_ERR_STATE);
    assert_non_null(strstr(err.message, "continues"));
    assert_int_equal(sb_decoder_continue(ragged, SLOTS, 1, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_continue(NULL, 0, 1, &err), SB_ERR_ARGUMENT);
    sb_result *results[SLOTS];
    run(ragged, host, true, results); /* nothing above has changed anything */
    close_results(results);
    assert_int_equal(sb_decoder_continue(ragged, 0, 0, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_continue(ragged, 0, INT32_MAX, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_decoder_continue(ragged, 0, 1, &err), SB_OK);
    sb_decoder_close(ragged);
    sb_decoder_close(padded);
    free(host);
}

/* Takes steps until all jobs have finished or one step fails. */
static void run_until_failure(sb_decoder *decoder, struct host *host, sb_status *status)
{
    const int32_t *from, *to, *released;
    sb_error err;
    while (*status == SB_OK && !sb_decoder_done(decoder))
        *status = sb_decoder_states(decoder, &from, &to, &released, &err) < 0
                      ? err.status
                      : advance(decoder, host, true, &err);
}

/* A continued job reports short memory wherever it comes, and nothing is left allocated. */
static void memory_may_be_short(void **state)
{
    (void)state;
    struct host *const host = open_host();
    long n_failed = 0;
    for (long n = 1;; n++) {
        sb_decoder *const decoder = open_decoder(host, true, true, 10, 2);
        sb_status status = SB_OK;
        alloc_fail_at(n);
        run_until_failure(decoder, host, &status);
        for (int32_t s = 0; s < SLOTS && status == SB_OK; s++)
            status = sb_decoder_continue(decoder, s, 100, NULL);
        run_until_failure(decoder, host, &status);
        const bool has_failed = alloc_has_failed();
        alloc_fail_at(0);
        assert_int_equal(status, has_failed ? SB_ERR_MEMORY : SB_OK);
        sb_decoder_close(decoder);
        if (!has_failed)
            break;
        n_failed++;
    }
    assert_true(n_failed > 50);
    free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ragged_rows_draw_as_padded_rows),
        cmocka_unit_test(continued_jobs_are_one_draw),
        cmocka_unit_test(no_state_is_lost),
        cmocka_unit_test(a_root_may_be_a_leaf),
        cmocka_unit_test(specs_that_do_not_fit),
        cmocka_unit_test(calls_that_do_not_fit),
        cmocka_unit_test(memory_may_be_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
