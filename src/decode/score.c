/* Computes the log-probability of each token of a given sequence: one row per step, without
 * temperature or filters. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "decode/rows.h"
#include "math/row.h"
#include "sbeam/draw.h"

static sb_status score_tokens(sb_session *session, const sb_model_info *info, struct row *row,
                              void *scores, const int32_t *tokens, int32_t n_tokens,
                              double *token_log_p, sb_error *err)
{
    int32_t from = -1, token = -1;
    const int32_t state = 0, input = 0; /* each step overwrites the state that it continues */
    for (int32_t i = 0; i < n_tokens; i++) {
        if (i > 0 && (token == info->eos || sb_session_is_leaf(session, state, token)))
            return status_fail(err, SB_ERR_INPUT, "token %d of the output follows its end", i + 1);
        if (tokens[i] < 0 || tokens[i] >= info->vocab_size)
            return status_fail(err, SB_ERR_INPUT,
                               "token %d of the output is %d; expected an id below %d", i + 1,
                               tokens[i], info->vocab_size);
        if (i > 0 && token_log_p[i - 1] == -INFINITY) {
            token_log_p[i] = -INFINITY; /* the model may have no row after an impossible token */
            continue;
        }
        const sb_status status =
            sb_session_step(session, 1, &from, &state, &token, &input, scores, err);
        if (status != SB_OK)
            return status;
        if (!row_open(row, scores, 1))
            return rows_refuse(row, i + 1, 0, err);
        token = tokens[i];
        from = state;
        token_log_p[i] = row_log_p(row, token);
    }
    return SB_OK;
}

sb_status sb_score(const sb_model *model, const char *input, size_t size, const int32_t *tokens,
                   int32_t n_tokens, double *token_log_p, sb_error *err)
{
    if (model == NULL || n_tokens < 0 || (n_tokens > 0 && (tokens == NULL || token_log_p == NULL)))
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "sb_score: model, tokens or token_log_p is NULL, or n_tokens is negative");
    const sb_model_info *const info = sb_model_get_info(model);
    if (info->max_len > 0 && n_tokens > info->max_len)
        return status_fail(err, SB_ERR_INPUT,
                           "the output has %d tokens; the model gives at most %d", n_tokens,
                           info->max_len);
    sb_session *session;
    const sb_session_spec spec = {.max_inputs = 1, .max_rows = 1, .max_len = n_tokens};
    sb_status status = sb_session_open(&session, model, &spec, err);
    if (status != SB_OK)
        return status;
    const size_t element = info->row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
    void *const scores = alloc_array((size_t)info->vocab_size, element);
    void *const scratch = alloc_array(1, row_scratch_size(info->vocab_size));
    double *const log_p = alloc_array((size_t)n_tokens, sizeof *log_p);
    if (scores == NULL || scratch == NULL || log_p == NULL) {
        status = status_no_memory(err);
    } else {
        struct row row;
        row_init(&row, info->vocab_size, info->row_type, scratch);
        status = sb_session_begin(session, 0, input, size, err);
        if (status == SB_OK)
            status = score_tokens(session, info, &row, scores, tokens, n_tokens, log_p, err);
        if (status == SB_OK && n_tokens > 0)
            memcpy(token_log_p, log_p, (size_t)n_tokens * sizeof *log_p);
    }
    alloc_free(log_p);
    alloc_free(scratch);
    alloc_free(scores);
    sb_session_close(session);
    return status;
}
