#include "decode/result.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "decode/method.h"
#include "math/logspace.h"

const char *sb_end_name(sb_end end)
{
    static const char *const names[] = {"none", "eos", "max-len", "leaf", "stop"};
    return (size_t)end < sizeof names / sizeof *names ? names[end] : "none";
}

const char *sb_stopped_by_name(sb_stopped_by reason)
{
    static const char *const names[] = {"nothing", "mass", "texts", "k", "exhausted"};
    return (size_t)reason < sizeof names / sizeof *names ? names[reason] : "nothing";
}

void result_clear(sb_result *result)
{
    result->n_sequences = 0;
    result->kappa = NAN;
    result->log_p_draw = NAN;
    result->exhausted = false;
    result->stopped_by = SB_STOPPED_BY_NOTHING;
    result->complete = true;
    result->model_rows = result->samples = result->sampled_rows = 0;
}

void result_release(sb_result *result)
{
    alloc_free(result->sequences);
    alloc_free(result->token_pool);
}

sb_status result_copy(sb_result *to, const sb_result *from)
{
    size_t n_tokens = 0;
    for (int32_t i = 0; i < from->n_sequences; i++)
        n_tokens += (size_t)from->sequences[i].n_tokens;
    if (alloc_reserve(&to->sequences, &to->sequence_capacity, (size_t)from->n_sequences,
                      sizeof *to->sequences) != SB_OK ||
        alloc_reserve(&to->token_pool, &to->token_capacity, n_tokens, sizeof *to->token_pool) !=
            SB_OK)
        return SB_ERR_MEMORY;
    const sb_result memory = *to;
    *to = *from;
    to->sequences = memory.sequences;
    to->sequence_capacity = memory.sequence_capacity;
    to->token_pool = memory.token_pool;
    to->token_capacity = memory.token_capacity;
    int32_t *next = to->token_pool;
    for (int32_t i = 0; i < from->n_sequences; i++) {
        const size_t n = (size_t)from->sequences[i].n_tokens;
        to->sequences[i] = from->sequences[i];
        to->sequences[i].tokens = next;
        if (n > 0) { /* if no sequence has tokens, the pool may be NULL */
            memcpy(next, from->sequences[i].tokens, n * sizeof *next);
            next += n;
        }
    }
    return SB_OK;
}

sb_status sb_result_open(sb_result **result, sb_error *err)
{
    if (result == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_result_open: result is NULL");
    sb_result *const r = alloc_zeroed(1, sizeof *r);
    if (r == NULL)
        return status_no_memory(err);
    result_clear(r);
    *result = r;
    return SB_OK;
}

void sb_result_close(sb_result *result)
{
    if (result == NULL)
        return;
    result_release(result);
    alloc_free(result);
}

sb_status result_make_sequence(sb_decoder *decoder, const struct slot *slot,
                               const struct entry *entry, sb_sequence *sequence)
{
    const int32_t n = slot_read_path(decoder, slot, entry->path, 0);
    if (n < 0)
        return SB_ERR_MEMORY;
    *sequence = (sb_sequence){.tokens = decoder->tokens,
                              .n_tokens = n,
                              .end = entry->end,
                              .log_p = entry->phi,
                              .log_p_model = entry->log_p_model,
                              .g = decoder->method->info.has_g ? entry->score : NAN,
                              .log_weight = NAN};
    return SB_OK;
}

/* Copies the tokens of the first n sequences into one pool. */
static sb_status copy_tokens(const struct slot *slot, size_t n, sb_result *result)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        for (int32_t p = slot->now.entries[i].path; p >= 0; p = slot->path[p].previous)
            total++;
    const sb_status status = alloc_reserve(&result->token_pool, &result->token_capacity, total + 1,
                                           sizeof *result->token_pool);
    if (status != SB_OK)
        return status;
    int32_t *next = result->token_pool;
    for (size_t i = 0; i < n; i++) {
        const struct entry *const entry = &slot->now.entries[i];
        int32_t n_tokens = 0;
        for (int32_t p = entry->path; p >= 0; p = slot->path[p].previous)
            n_tokens++;
        result->sequences[i].tokens = next;
        result->sequences[i].n_tokens = n_tokens;
        next += n_tokens;
        int32_t *end = next;
        for (int32_t p = entry->path; p >= 0; p = slot->path[p].previous)
            *--end = slot->path[p].token;
    }
    return SB_OK;
}

/* Refuses a sequence if its log-probability is so low that its place in the order may be wrong, or
 * that it is not a double. Only the sequences that are returned count. A prefix that was on the
 * beam only for a while does no harm: at every step the prefixes with a log-probability above the
 * limit rank before all others, and a longer prefix is never likelier. The threshold may be below
 * the limit. It is then far from all sequences, and its relative error is that of any double. */
sb_status result_check_range(const sb_decoder *decoder, const struct slot *slot, size_t i,
                             sb_error *err)
{
    const struct entry *const entry = &slot->now.entries[i];
    if (decoder->method->ranks_by_noise && entry->phi < -LOGSPACE_MOST)
        return status_fail(
            err, SB_ERR_LIMIT,
            "sequence %zu has the log-probability %.10g after %d steps at temperature %g; "
            "expected at least -1e9, because a lower number has no room for the noise that "
            "decides the order; raise the temperature, draw fewer sequences, give impossible "
            "tokens the score -inf, or use method beam, which needs no noise",
            i + 1, entry->phi, entry->depth, slot->temperature);
    if (entry->phi <= -DBL_MAX || entry->log_p_model <= -DBL_MAX)
        return status_fail(
            err, SB_ERR_LIMIT,
            "sequence %zu has a log-probability below %g after %d steps at temperature %g, "
            "which is not a double; expected scores that are closer to each other, or -inf "
            "for impossible tokens",
            i + 1, -DBL_MAX, entry->depth, slot->temperature);
    return SB_OK;
}

sb_status result_build(const sb_decoder *decoder, const struct slot *slot, size_t n,
                       const struct logspace_total *left, sb_result *result, sb_error *err)
{
    const sb_method_info *const method = &decoder->method->info;
    result->stream = slot->key.stream;
    result->draw = slot->key.draw;
    result->seed = slot->key.seed;
    result->temperature = slot->temperature;
    result->method = decoder->config.method;
    result->k = decoder->config.k;
    result->model_rows = slot->model_rows;
    sb_status status = SB_OK;
    for (size_t i = 0; i < n && status == SB_OK; i++)
        status = result_check_range(decoder, slot, i, err);
    if (status == SB_OK)
        status = alloc_reserve(&result->sequences, &result->sequence_capacity, n,
                               sizeof *result->sequences);
    if (status == SB_OK)
        status = copy_tokens(slot, n, result);
    if (status != SB_OK)
        return status;
    result->n_sequences = (int32_t)n;
    for (size_t i = 0; i < n; i++) {
        const struct entry *const entry = &slot->now.entries[i];
        sb_sequence *const sequence = &result->sequences[i];
        sequence->end = entry->end;
        sequence->log_p = entry->phi;
        sequence->log_p_model = entry->log_p_model;
        sequence->g = method->has_g ? entry->score : NAN;
        sequence->log_weight =
            isnan(result->kappa) ? NAN : logspace_weight(entry->phi, result->kappa);
    }
    if (method->law == SB_LAW_WITHOUT_REPLACEMENT && n > 0) {
        const double *const log_p = &result->sequences[0].log_p;
        const size_t stride = sizeof(sb_sequence);
        /* sbs and explicit have summed the mass that they left out. For reject it is 1 minus the
         * mass found, which has a larger rounding error. */
        const double log_left =
            method->has_g ? logspace_total_log(left) : logspace_left(log_p, n, stride);
        result->log_p_draw = logspace_plackett_luce(log_p, n, stride, log_left);
    }
    return SB_OK;
}
