/* Compares the numbers of a record with each other. Every draw of sbeam passes, from any build and
 * machine, because the limits leave room for rounding. The error of a weight is below 1e-12,
 * because it is computed from the same two doubles. The error of the total probability is below
 * 1e-7, because a row of floats is normalised to about 1e-7. */
#include "record/record_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "math/logspace.h"
#include "record/record_settings.h"

static const double weight_limit = 1e-9, total_limit = 1e-6;

/* Checks that G descends and stays above kappa. */
static sb_status check_order(const sb_record *record, sb_error *err)
{
    for (size_t i = 0; i < record->n_sequences; i++) {
        const double g = record->sequences[i].g;
        if (isnan(g))
            return status_fail(err, SB_ERR_INPUT, "sequence %zu: \"g\" is missing", i + 1);
        if (i > 0 && g > record->sequences[i - 1].g)
            return status_fail(
                err, SB_ERR_INPUT,
                "sequence %zu: \"g\" is %.17g, above that of the sequence before it; "
                "expected descending order",
                i + 1, g);
        if (g < record->kappa)
            return status_fail(
                err, SB_ERR_INPUT,
                "sequence %zu: \"g\" is %.17g; expected at least \"kappa\", which is "
                "%.17g",
                i + 1, g, record->kappa);
    }
    return SB_OK;
}

/* Checks that each weight follows from log_p and kappa. A record without weights passes. */
static sb_status check_weights(const sb_record *record, sb_error *err)
{
    for (size_t i = 0; i < record->n_sequences; i++) {
        const sb_record_sequence *const sequence = &record->sequences[i];
        if (isnan(sequence->log_weight))
            continue;
        if (isnan(record->kappa))
            return status_fail(
                err, SB_ERR_INPUT,
                "sequence %zu: there is a \"log_weight\", but no \"kappa\" from which "
                "it could follow",
                i + 1);
        const double expected = logspace_weight(sequence->log_p, record->kappa);
        if (!(fabs(sequence->log_weight - expected) <= weight_limit * fmax(1, fabs(expected))))
            return status_fail(
                err, SB_ERR_INPUT,
                "sequence %zu: \"log_weight\" is %.17g; expected %.17g, which follows "
                "from \"log_p\" and \"kappa\"",
                i + 1, sequence->log_weight, expected);
    }
    return SB_OK;
}

/* Checks the sum of the probabilities, for a draw whose sequences are distinct. */
static sb_status check_total(const sb_record *record, sb_error *err)
{
    double total = 0;
    for (size_t i = 0; i < record->n_sequences; i++)
        total += exp(record->sequences[i].log_p);
    if (total > 1 + total_limit)
        return status_fail(err, SB_ERR_INPUT,
                           "the probabilities of the sequences sum to %.10g; expected at most 1",
                           total);
    if (record->exhausted && total < 1 - total_limit)
        return status_fail(err, SB_ERR_INPUT,
                           "\"exhausted\" is true, but the probabilities of the sequences sum to "
                           "%.10g; expected 1",
                           total);
    /* If the last sequence meets both rules, either may be the reason. */
    const double mass = record_settings_until_mass(record);
    const bool is_by_mass = record->stopped_by == SB_STOPPED_BY_MASS;
    const bool is_by_texts = record->stopped_by == SB_STOPPED_BY_TEXTS;
    if (mass > 0 &&
        (is_by_mass ? total < mass - total_limit : !is_by_texts && total > mass + total_limit))
        return status_fail(
            err, SB_ERR_INPUT,
            "\"stopped_by\" is \"%s\", but the probabilities of the sequences sum to %.10g, and "
            "\"until_mass\" is %.10g",
            sb_stopped_by_name(record->stopped_by), total, mass);
    return SB_OK;
}

/* Orders sequences by their tokens, equal ones by their number. */
static int compare_tokens(const void *x, const void *y)
{
    const sb_record_sequence *const a = *(const sb_record_sequence *const *)x;
    const sb_record_sequence *const b = *(const sb_record_sequence *const *)y;
    if (a->n_tokens != b->n_tokens)
        return a->n_tokens < b->n_tokens ? -1 : 1;
    const int order =
        a->n_tokens > 0 ? memcmp(a->tokens, b->tokens, a->n_tokens * sizeof *a->tokens) : 0;
    return order != 0 ? order : (a > b) - (a < b);
}

static sb_status check_distinct(const sb_record *record, sb_error *err)
{
    const size_t n = record->n_sequences;
    const sb_record_sequence **const sorted = alloc_array(n, sizeof *sorted);
    if (sorted == NULL)
        return status_no_memory(err);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &record->sequences[i];
    qsort(sorted, n, sizeof *sorted, compare_tokens);
    sb_status status = SB_OK;
    for (size_t i = 1; status == SB_OK && i < n; i++) {
        const sb_record_sequence *const a = sorted[i - 1], *const b = sorted[i];
        if (a->n_tokens == b->n_tokens &&
            (a->n_tokens == 0 ||
             memcmp(a->tokens, b->tokens, a->n_tokens * sizeof *a->tokens) == 0))
            status = status_fail(err, SB_ERR_INPUT,
                                 "sequence %td: its tokens are those of sequence %td; method %s "
                                 "returns no sequence twice",
                                 b - record->sequences + 1, a - record->sequences + 1,
                                 sb_method_name(record->method));
    }
    alloc_free(sorted);
    return status;
}

static sb_status check_log_p(const sb_record *record, sb_error *err)
{
    for (size_t i = 0; i < record->n_sequences; i++)
        if (record->sequences[i].log_p > total_limit)
            return status_fail(err, SB_ERR_INPUT,
                               "sequence %zu: \"log_p\" is %.17g; expected at most 0", i + 1,
                               record->sequences[i].log_p);
    return SB_OK;
}

sb_status record_check(const sb_record *record, sb_error *err)
{
    const sb_method_info *const method = sb_method_get_info(record->method);
    sb_status status = check_log_p(record, err);
    if (status == SB_OK && method->has_g)
        status = check_order(record, err);
    if (status == SB_OK)
        status = check_weights(record, err);
    if (status == SB_OK && !method->has_repeats)
        status = check_total(record, err);
    if (status == SB_OK && !method->has_repeats)
        status = check_distinct(record, err);
    return status;
}
