/* Compares a record with the draw made again.
 *
 * On the machine and build that drew, every bit is the same, unless the rows of the model depend on
 * their batch. Elsewhere the last digits may differ. The record itself shows which case it is: if
 * the numbers of all sequences that are drawn again have the same bits, then it comes from such a
 * build, and nothing else may differ either. If not, numbers must agree within a tolerance.
 *
 * Rows of floats are so coarse that now and then rounding makes the search choose another token for
 * a node, and then all values below that node are others. So for such models only half of the
 * sequences must be drawn again, and what can be checked of the others is checked. Doubles are too
 * fine for that to happen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verify.h"
#include "common/cli.h"
#include "sbeam/version.h"

typedef struct comparison {
    const sb_model *model;
    const sb_config *config;
    const sb_record *given, *again;
    const sb_record_sequence **found; /* (n_sequences) each given one in `again`, or NULL */
    size_t n_found;
    size_t longest; /* tokens of a sequence in either draw */
} comparison;

/* Returns how far a log-probability may be off for each token, if not all bits are the same. Rows
 * of llama.cpp move by up to 1e-3 with their batch, those of our networks by 1e-6. */
static double get_tolerance(const sb_model *model)
{
    const sb_model_info *const info = sb_model_get_info(model);
    if (info->rows_depend_on_batch)
        return 1e-3;
    return info->row_type == SB_ROW_FLOAT ? 1e-5 : 1e-10;
}

/* Orders two sequences by their tokens and ends. */
static int compare_tokens(const sb_record_sequence *a, const sb_record_sequence *b)
{
    if (a->n_tokens != b->n_tokens)
        return a->n_tokens < b->n_tokens ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->n_tokens > 0 ? memcmp(a->tokens, b->tokens, a->n_tokens * sizeof *a->tokens) : 0;
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Orders sequences by their tokens and ends, equal ones by their number. */
static int compare_sequences(const void *x, const void *y)
{
    const sb_record_sequence *const a = *(const sb_record_sequence *const *)x;
    const sb_record_sequence *const b = *(const sb_record_sequence *const *)y;
    const int order = compare_tokens(a, b);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Returns pointers to the sequences in this order, which the caller frees. */
static const sb_record_sequence **sort_sequences(const sb_record *record)
{
    const sb_record_sequence **const sorted =
        cli_realloc(NULL, record->n_sequences, sizeof *sorted);
    for (size_t i = 0; i < record->n_sequences; i++)
        sorted[i] = &record->sequences[i];
    qsort(sorted, record->n_sequences, sizeof *sorted, compare_sequences);
    return sorted;
}

/* Finds each given sequence in the repeated draw, and each of that once: a draw with replacement
 * that holds a sequence twice must have drawn it twice. */
static void find_sequences(comparison *c)
{
    const sb_record_sequence **const given = sort_sequences(c->given);
    const sb_record_sequence **const again = sort_sequences(c->again);
    size_t j = 0;
    for (size_t i = 0; i < c->given->n_sequences; i++) {
        while (j < c->again->n_sequences && compare_tokens(again[j], given[i]) < 0)
            j++;
        const bool is_found = j < c->again->n_sequences && compare_tokens(again[j], given[i]) == 0;
        c->found[given[i] - c->given->sequences] = is_found ? again[j++] : NULL;
        c->n_found += is_found;
        c->longest = given[i]->n_tokens > c->longest ? given[i]->n_tokens : c->longest;
    }
    for (size_t i = 0; i < c->again->n_sequences; i++)
        c->longest = again[i]->n_tokens > c->longest ? again[i]->n_tokens : c->longest;
    free(given);
    free(again);
}

/* --- differences --- */

/* Returns whether x is y, up to a tolerance for each of n tokens; 0 asks for the same bits. */
static bool is_near(double x, double y, double tolerance, size_t n_tokens)
{
    return is_same(x, y) || fabs(x - y) <= tolerance * (double)(n_tokens + 1);
}

/* Returns the tolerance of tempered numbers: a temperature below 1 multiplies the rounding of rows.
 */
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

static sb_status compare_text(const char *where, const sb_record_sequence *a, const char *text,
                              size_t size, sb_error *err)
{
    if (a->text_size == size && (a->text == NULL) == (text == NULL) &&
        (text == NULL || memcmp(a->text, text, size) == 0))
        return SB_OK;
    return sb_error_set(err, SB_ERR_INPUT,
                        "%s\"text\" is \"%.100s\", but the tokens read \"%.100s\"", where,
                        a->text != NULL ? a->text : "null", text != NULL ? text : "null");
}

/* Compares what the model says of a sequence that was found again: its probabilities and text. */
static sb_status compare_sequence(const comparison *c, size_t i, double tolerance, sb_error *err)
{
    const sb_record_sequence *const a = &c->given->sequences[i], *const b = c->found[i];
    char where[40];
    snprintf(where, sizeof where, "sequence %zu: ", i + 1);
    if (!is_near(a->log_p, b->log_p, temper(c, tolerance), a->n_tokens))
        return fail_number(where, "log_p", a->log_p, b->log_p, err);
    if (!is_near(a->log_p_model, b->log_p_model, tolerance, a->n_tokens))
        return fail_number(where, "log_p_model", a->log_p_model, b->log_p_model, err);
    return compare_text(where, a, b->text, b->text_size, err);
}

static sb_status compare_ends(const sb_record *a, const sb_record *b, sb_error *err)
{
    if (a->stopped_by == b->stopped_by)
        return SB_OK;
    return sb_error_set(err, SB_ERR_INPUT,
                        "\"stopped_by\" is \"%s\", but the repeated draw is stopped by \"%s\"",
                        sb_stopped_by_name(a->stopped_by), sb_stopped_by_name(b->stopped_by));
}

/* Compares the numbers of the draw as a whole, with the same bits. */
static sb_status compare_draws(const sb_record *a, const sb_record *b, sb_error *err)
{
    if (a->exhausted != b->exhausted || a->complete != b->complete)
        return sb_error_set(err, SB_ERR_INPUT,
                            "\"exhausted\" or \"complete\" is not that of the repeated draw");
    if (compare_ends(a, b, err) != SB_OK)
        return SB_ERR_INPUT;
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
        return sb_error_set(err, SB_ERR_INPUT, "there are %zu sequences, but the draw has %zu",
                            given->n_sequences, again->n_sequences);
    for (size_t i = 0; i < given->n_sequences; i++) {
        if (c->found[i] != &again->sequences[i])
            return sb_error_set(err, SB_ERR_INPUT, "sequence %zu: the tokens are not those drawn",
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

/* Returns whether the record comes from a build that computes the same bits: see above. If rows
 * depend on their batch, the bits of the sequences say nothing about the rows of other nodes. */
static bool has_same_bits(const comparison *c)
{
    if (sb_model_get_info(c->model)->rows_depend_on_batch)
        return false;
    for (size_t i = 0; i < c->given->n_sequences; i++) {
        const sb_record_sequence *const a = &c->given->sequences[i], *const b = c->found[i];
        if (b != NULL && !(a->log_p == b->log_p && a->log_p_model == b->log_p_model))
            return false;
    }
    const char *const version = c->given->version;
    return c->n_found > 0 || (version != NULL && strcmp(version, sb_version()) == 0);
}

/* --- sequences that were not drawn again --- */

/* Computes log p of the sequence in the model, of n tokens with its EOS. */
static sb_status score_sequence(const comparison *c, const sb_record_sequence *sequence, size_t n,
                                double *total, sb_error *err)
{
    int32_t *const tokens = cli_realloc(NULL, n, sizeof *tokens);
    double *const log_p = cli_realloc(NULL, n, sizeof *log_p);
    if (sequence->n_tokens > 0)
        memcpy(tokens, sequence->tokens, sequence->n_tokens * sizeof *tokens);
    if (sequence->end == SB_END_EOS)
        tokens[n - 1] = sb_model_get_info(c->model)->eos;
    const sb_status status =
        sb_score(c->model, c->given->input, c->given->input_size, tokens, (int32_t)n, log_p, err);
    *total = 0;
    for (size_t t = 0; status == SB_OK && t < n; t++)
        *total += log_p[t];
    free(tokens);
    free(log_p);
    return status;
}

/* Returns whether the sequence can have its log_p: without a temperature, a filter only makes the
 * tokens that it keeps likelier. */
static bool is_log_p_possible(const comparison *c, const sb_record_sequence *sequence, double total,
                              double limit)
{
    const sb_config *const config = c->config;
    if (config->temperature != 1)
        return true;
    const bool has_filter = config->top_k > 0 || config->top_p < 1 || config->min_p > 0 ||
                            config->min_len > 0 || config->n_ban > 0;
    return sequence->log_p >= total - limit && (has_filter || sequence->log_p <= total + limit);
}

/* Checks a sequence that was not drawn again: its tokens must have the probability and the text of
 * the record, and it must not have been cut. */
static sb_status check_other(const comparison *c, size_t i, double tolerance, sb_error *err)
{
    const sb_record_sequence *const sequence = &c->given->sequences[i];
    const size_t n = sequence->n_tokens + (sequence->end == SB_END_EOS);
    double total;
    char where[40], *text;
    snprintf(where, sizeof where, "sequence %zu: ", i + 1);
    if (sequence->end == SB_END_NONE ||
        (sequence->end == SB_END_MAX_LEN && sequence->n_tokens < c->longest))
        return sb_error_set(err, SB_ERR_INPUT,
                            "%sit has not been drawn, and \"end\" does not say how it could end",
                            where);
    sb_status status = score_sequence(c, sequence, n, &total, err);
    if (status != SB_OK)
        return status;
    if (!is_near(sequence->log_p_model, total, tolerance, n))
        return fail_number(where, "log_p_model", sequence->log_p_model, total, err);
    if (!is_log_p_possible(c, sequence, total, tolerance * (double)(n + 1)))
        return fail_number(where, "log_p", sequence->log_p, total, err);
    const sb_sequence decoded = {
        .tokens = sequence->tokens, .n_tokens = (int32_t)sequence->n_tokens, .end = sequence->end};
    status = sb_sequence_text(c->model, c->config, &decoded, &text, err);
    if (status != SB_OK)
        return status;
    status = compare_text(where, sequence, text, strlen(text), err);
    sb_free(text);
    return status;
}

/* --- up to rounding --- */

/* Returns whether sequence i was drawn again: with its G, or in its place if there is no G. A place
 * is worth what its log_p says, because rounding decides between equal ones. */
static bool is_again(const comparison *c, size_t i, double tolerance, bool is_fine)
{
    const sb_record_sequence *const a = &c->given->sequences[i], *const b = c->found[i];
    const sb_method_info *const method = sb_method_get_info(c->given->method);
    if (b == NULL)
        return false;
    if (method->has_g)
        return is_near(a->g, b->g, tolerance, a->n_tokens);
    if (!is_fine && method->law == SB_LAW_WITHOUT_REPLACEMENT)
        return true; /* of method reject: one other sequence moves all after it */
    return i < c->again->n_sequences &&
           is_near(a->log_p, c->again->sequences[i].log_p, tolerance, a->n_tokens);
}

/* Checks what rounding cannot change, whatever the search chooses. */
static sb_status compare_kinds(const sb_record *a, const sb_record *b, sb_error *err)
{
    if (a->exhausted != b->exhausted || a->complete != b->complete)
        return sb_error_set(err, SB_ERR_INPUT,
                            "\"exhausted\" or \"complete\" is not that of the repeated draw");
    if (isnan(a->kappa) != isnan(b->kappa))
        return fail_number("", "kappa", a->kappa, b->kappa, err);
    if (isnan(a->log_p_draw) != isnan(b->log_p_draw))
        return fail_number("", "log_p_draw", a->log_p_draw, b->log_p_draw, err);
    return SB_OK;
}

/* Compares the numbers of the draw as a whole, if they are fine enough to be the same. */
static sb_status compare_fine(const sb_record *a, const sb_record *b, const verify_outcome *outcome,
                              sb_error *err)
{
    sb_record rounded = *a;
    rounded.kappa = b->kappa;
    if (outcome->n_other > 0)
        return sb_error_set(err, SB_ERR_INPUT, "%zu of %zu sequences are not those drawn",
                            outcome->n_other, a->n_sequences);
    if (outcome->has_other_kappa)
        return fail_number("", "kappa", a->kappa, b->kappa, err);
    if (fabs(a->log_p_draw - b->log_p_draw) <= 1e-6 * fmax(1, fabs(b->log_p_draw)))
        rounded.log_p_draw = b->log_p_draw;
    return compare_draws(&rounded, b, err);
}

/* Compares within the tolerance, and says in *outcome what is not the same. */
static sb_status compare_nearly(const comparison *c, verify_outcome *outcome, sb_error *err)
{
    const sb_record *const given = c->given, *const again = c->again;
    const bool is_fine = sb_model_get_info(c->model)->row_type == SB_ROW_DOUBLE;
    const double tolerance = get_tolerance(c->model), tempered = temper(c, tolerance);
    const size_t n =
        given->n_sequences > again->n_sequences ? given->n_sequences : again->n_sequences;
    size_t n_again = 0;
    sb_status status = compare_kinds(given, again, err);
    for (size_t i = 0; status == SB_OK && i < given->n_sequences; i++) {
        status = c->found[i] != NULL ? compare_sequence(c, i, tolerance, err)
                                     : check_other(c, i, tolerance, err);
        n_again += is_again(c, i, tempered, is_fine);
    }
    if (status != SB_OK)
        return status;
    if (2 * n_again < n)
        return sb_error_set(err, SB_ERR_INPUT,
                            "only %zu of %zu sequences are drawn again; expected at least half",
                            n_again, n);
    outcome->n_other = n - n_again;
    outcome->has_other_kappa = !is_near(given->kappa, again->kappa, tempered, c->longest);
    /* Other sequences may meet another rule. */
    if (outcome->n_other == 0 && compare_ends(given, again, err) != SB_OK)
        return SB_ERR_INPUT;
    return is_fine ? compare_fine(given, again, outcome, err) : SB_OK;
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

sb_status verify_compare(const sb_model *model, const sb_config *config, const sb_record *given,
                         const sb_record *again, verify_outcome *outcome, sb_error *err)
{
    comparison c = {.model = model, .config = config, .given = given, .again = again};
    c.found = cli_realloc(NULL, given->n_sequences, sizeof *c.found);
    find_sequences(&c);
    *outcome = (verify_outcome){.is_equal = true};
    sb_status status = compare_exactly(&c, err);
    if (status != SB_OK && !has_same_bits(&c)) {
        outcome->is_equal = false;
        outcome->rounding = get_rounding(&c);
        status = compare_nearly(&c, outcome, err);
    }
    free(c.found);
    return status;
}
