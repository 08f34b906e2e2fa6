/* Compares a record with the draw made again.
 *
 * On the same machine and with the same build every bit is the same, unless the rows of the model
 * depend on their batch. With another build or machine the last digits may differ, and very rarely
 * a sequence is replaced by another whose G is nearly the same. The record itself shows which case
 * it is. If the log-probabilities of all sequences that are drawn again have the same bits, then
 * the record comes from an equal build, and nothing else may differ either. If not, numbers must
 * agree within a tolerance, at least half of the sequences must be drawn again, and the tokens of
 * the others are scored. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verify.h"
#include "common/cli.h"
#include "sbeam/version.h"

typedef struct comparison {
    const sb_model *model;
    const sb_record *given, *again;
    const sb_record_sequence **found; /* (n_sequences) the same one in `again`, or NULL */
    size_t n_found;
} comparison;

/* Returns the tolerance of a log-probability for each token, if not all bits are the same. With the
 * batch, rows of llama.cpp change by up to 1e-3, and rows of our networks by 1e-6. */
static double get_tolerance(const sb_model *model)
{
    const sb_model_info *const info = sb_model_get_info(model);
    if (info->rows_depend_on_batch)
        return 1e-3;
    return info->row_type == SB_ROW_FLOAT ? 1e-5 : 1e-10;
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Orders sequences by their end and tokens. */
static int compare_tokens(const void *x, const void *y)
{
    const sb_record_sequence *const a = *(const sb_record_sequence *const *)x;
    const sb_record_sequence *const b = *(const sb_record_sequence *const *)y;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->n_tokens != b->n_tokens)
        return a->n_tokens < b->n_tokens ? -1 : 1;
    return a->n_tokens > 0 ? memcmp(a->tokens, b->tokens, a->n_tokens * sizeof *a->tokens) : 0;
}

/* Finds each given sequence in the repeated draw, in the same position if possible. */
static void find_sequences(comparison *c)
{
    const size_t n = c->again->n_sequences;
    const sb_record_sequence **const sorted = cli_realloc(NULL, n, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &c->again->sequences[i];
    qsort(sorted, n, sizeof *sorted, compare_tokens);
    for (size_t i = 0; i < c->given->n_sequences; i++) {
        const sb_record_sequence *const wanted = &c->given->sequences[i];
        const sb_record_sequence *const there = i < n ? &c->again->sequences[i] : NULL;
        const sb_record_sequence **const other =
            bsearch(&wanted, sorted, n, sizeof *sorted, compare_tokens);
        if (there != NULL && compare_tokens(&wanted, &there) == 0)
            c->found[i] = there;
        else
            c->found[i] = other != NULL ? *other : NULL;
        c->n_found += c->found[i] != NULL;
    }
    free(sorted);
}

/* --- differences --- */

/* Returns whether x equals y up to the tolerance for each of n_tokens + 1 tokens. A tolerance of 0
 * asks for the same bits. */
static bool is_near(double x, double y, double tolerance, size_t n_tokens)
{
    return is_same(x, y) || fabs(x - y) <= tolerance * (double)(n_tokens + 1);
}

/* Returns the tolerance of numbers with a temperature, because a temperature below 1 multiplies the
 * rounding of rows. */
static double temper(const comparison *c, double tolerance)
{
    return tolerance * fmax(1, 1 / c->given->temperature);
}

static sb_status fail_number(const char *where, const char *key, double given, double again,
                             sb_error *err)
{
    return sb_error_set(err, SB_ERR_INPUT, "%s\"%s\" is %.17g, but the model gives %.17g", where,
                        key, given, again);
}

/* Compares the probabilities and the text of a sequence that was drawn again. */
static sb_status compare_sequence(const comparison *c, size_t i, double tolerance, sb_error *err)
{
    const sb_record_sequence *const a = &c->given->sequences[i], *const b = c->found[i];
    char where[40];
    snprintf(where, sizeof where, "sequence %zu: ", i + 1);
    if (!is_near(a->log_p, b->log_p, temper(c, tolerance), a->n_tokens))
        return fail_number(where, "log_p", a->log_p, b->log_p, err);
    if (!is_near(a->log_p_model, b->log_p_model, tolerance, a->n_tokens))
        return fail_number(where, "log_p_model", a->log_p_model, b->log_p_model, err);
    if (a->text_size != b->text_size || (a->text == NULL) != (b->text == NULL) ||
        (a->text != NULL && memcmp(a->text, b->text, a->text_size) != 0))
        return sb_error_set(err, SB_ERR_INPUT,
                            "%s\"text\" is \"%.100s\", but the tokens read \"%.100s\"", where,
                            a->text != NULL ? a->text : "null", b->text != NULL ? b->text : "null");
    return SB_OK;
}

/* Compares the numbers of the draw as a whole, bit for bit. */
static sb_status compare_draws(const sb_record *a, const sb_record *b, sb_error *err)
{
    if (a->exhausted != b->exhausted || a->complete != b->complete)
        return sb_error_set(err, SB_ERR_INPUT,
                            "\"exhausted\" or \"complete\" differs from the repeated draw");
    if (!is_same(a->kappa, b->kappa))
        return fail_number("", "kappa", a->kappa, b->kappa, err);
    if (!is_same(a->log_p_draw, b->log_p_draw))
        return fail_number("", "log_p_draw", a->log_p_draw, b->log_p_draw, err);
    if (a->model_rows != b->model_rows)
        return fail_number("", "model_rows", (double)a->model_rows, (double)b->model_rows, err);
    if (a->samples != b->samples)
        return fail_number("", "samples", (double)a->samples, (double)b->samples, err);
    if (a->sampled_rows != b->sampled_rows)
        return fail_number("", "sampled_rows", (double)a->sampled_rows, (double)b->sampled_rows,
                           err);
    return SB_OK;
}

/* Compares everything, bit for bit. */
static sb_status compare_exactly(const comparison *c, sb_error *err)
{
    const sb_record *const given = c->given, *const again = c->again;
    if (given->n_sequences != again->n_sequences)
        return sb_error_set(err, SB_ERR_INPUT,
                            "there are %zu sequences, but the repeated draw has %zu",
                            given->n_sequences, again->n_sequences);
    for (size_t i = 0; i < given->n_sequences; i++) {
        if (c->found[i] != &again->sequences[i])
            return sb_error_set(err, SB_ERR_INPUT,
                                "sequence %zu: the tokens are not those of the repeated draw",
                                i + 1);
        const sb_record_sequence *const a = &given->sequences[i], *const b = c->found[i];
        char where[40];
        snprintf(where, sizeof where, "sequence %zu: ", i + 1);
        const sb_status status = compare_sequence(c, i, 0, err);
        if (status != SB_OK)
            return status;
        if (!is_same(a->g, b->g))
            return fail_number(where, "g", a->g, b->g, err);
        if (!is_same(a->log_weight, b->log_weight))
            return fail_number(where, "log_weight", a->log_weight, b->log_weight, err);
    }
    return compare_draws(given, again, err);
}

/* Returns whether the record comes from a build that computes the same bits, as far as its
 * sequences show (see the top of this file). */
static bool has_same_bits(const comparison *c)
{
    for (size_t i = 0; i < c->given->n_sequences; i++) {
        const sb_record_sequence *const a = &c->given->sequences[i], *const b = c->found[i];
        if (b != NULL && !(a->log_p == b->log_p && a->log_p_model == b->log_p_model))
            return false;
    }
    const char *const version = c->given->version;
    return c->n_found > 0 || (version != NULL && strcmp(version, sb_version()) == 0 &&
                              !sb_model_get_info(c->model)->rows_depend_on_batch);
}

/* Scores a sequence that was not drawn again. */
static sb_status score_sequence(const comparison *c, size_t i, double tolerance, sb_error *err)
{
    const sb_record_sequence *const sequence = &c->given->sequences[i];
    const sb_model_info *const info = sb_model_get_info(c->model);
    const size_t n = sequence->n_tokens + (sequence->end == SB_END_EOS);
    int32_t *const tokens = cli_realloc(NULL, n, sizeof *tokens);
    double *const log_p = cli_realloc(NULL, n, sizeof *log_p);
    if (sequence->n_tokens > 0)
        memcpy(tokens, sequence->tokens, sequence->n_tokens * sizeof *tokens);
    if (sequence->end == SB_END_EOS)
        tokens[n - 1] = info->eos;
    sb_status status =
        sb_score(c->model, c->given->input, c->given->input_size, tokens, (int32_t)n, log_p, err);
    double total = 0;
    for (size_t t = 0; status == SB_OK && t < n; t++)
        total += log_p[t];
    char where[40];
    snprintf(where, sizeof where, "sequence %zu: ", i + 1);
    if (status == SB_OK && !isnan(sequence->log_p_model) &&
        !is_near(sequence->log_p_model, total, tolerance, n))
        status = fail_number(where, "log_p_model", sequence->log_p_model, total, err);
    free(tokens);
    free(log_p);
    return status;
}

/* Compares within the tolerance. If rounding made the search choose another token at a node, all
 * values below this node change, so only half of the sequences must have the same G. */
static sb_status compare_nearly(const comparison *c, sb_error *err)
{
    const double tolerance = get_tolerance(c->model);
    size_t n_again = 0;
    sb_status status = SB_OK;
    for (size_t i = 0; status == SB_OK && i < c->given->n_sequences; i++) {
        const sb_record_sequence *const a = &c->given->sequences[i], *const b = c->found[i];
        status = b != NULL ? compare_sequence(c, i, tolerance, err)
                           : score_sequence(c, i, tolerance, err);
        n_again += b != NULL && is_near(a->g, b->g, temper(c, tolerance), a->n_tokens);
    }
    if (status == SB_OK && 2 * n_again < c->given->n_sequences)
        status = sb_error_set(err, SB_ERR_INPUT,
                              "only %zu of %zu sequences are drawn again; expected at least half",
                              n_again, c->given->n_sequences);
    return status;
}

/* Returns the largest difference of a log-probability between sequences that were drawn again. */
static double get_rounding(const comparison *c)
{
    double largest = 0;
    for (size_t i = 0; i < c->given->n_sequences; i++)
        if (c->found[i] != NULL)
            largest = fmax(largest, fabs(c->given->sequences[i].log_p - c->found[i]->log_p));
    return largest;
}

sb_status verify_compare(const sb_model *model, const sb_record *given, const sb_record *again,
                         double *rounding, sb_error *err)
{
    comparison c = {.model = model, .given = given, .again = again};
    c.found = cli_realloc(NULL, given->n_sequences, sizeof *c.found);
    find_sequences(&c);
    sb_status status = compare_exactly(&c, err);
    *rounding = -1;
    if (status != SB_OK && !has_same_bits(&c)) {
        status = compare_nearly(&c, err);
        *rounding = get_rounding(&c);
    }
    free(c.found);
    return status;
}
