/* Sessions call the functions of a model's table. The arguments are checked here, so that a backend
 * may trust them. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "model/backend.h"

struct sb_session {
    const sb_model *model;
    void *state;
    int32_t max_inputs;
    int32_t n_rows; /* rows of the last step, to which a parent may refer; 0 after a failure */
};

sb_status sb_session_open(sb_session **session, const sb_model *model, const sb_session_spec *spec,
                          sb_error *err)
{
    if (session == NULL || model == NULL || spec == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_session_open: session, model or spec is NULL");
    if (spec->max_inputs < 1)
        return status_fail(err, SB_ERR_ARGUMENT, "max_inputs is %d; expected at least 1",
                           (int)spec->max_inputs);
    if (spec->max_rows < 0 || spec->max_len < 0 || spec->threads < 0)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "max_rows is %d, max_len %d and threads %d; expected 0 or more",
                           (int)spec->max_rows, (int)spec->max_len, (int)spec->threads);
    if (model->info.max_rows > 0 && spec->max_rows > model->info.max_rows)
        return status_fail(err, SB_ERR_LIMIT, "%d rows at once, but the model takes at most %d",
                           (int)spec->max_rows, (int)model->info.max_rows);
    sb_session *const s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return status_no_memory(err);
    const sb_status status = model->ops.session_open(model->self, spec, &s->state, err);
    if (status != SB_OK) {
        alloc_free(s);
        return status;
    }
    s->model = model;
    s->max_inputs = spec->max_inputs;
    *session = s;
    return SB_OK;
}

void sb_session_close(sb_session *session)
{
    if (session == NULL)
        return;
    session->model->ops.session_close(session->state);
    alloc_free(session);
}

sb_status sb_session_begin(sb_session *session, int32_t input, const char *text, size_t size,
                           sb_error *err)
{
    if (session == NULL || (text == NULL && size > 0))
        return status_fail(err, SB_ERR_ARGUMENT, "sb_session_begin: session or text is NULL");
    if (input < 0 || input >= session->max_inputs)
        return status_fail(err, SB_ERR_ARGUMENT, "input is %d; expected 0 to %d", (int)input,
                           (int)session->max_inputs - 1);
    const sb_model *const model = session->model;
    if (model->ops.begin != NULL)
        return model->ops.begin(session->state, input, text != NULL ? text : "", size, err);
    if (size > 0)
        return status_fail(err, SB_ERR_INPUT, "a model of kind '%s' takes no input",
                           model->info.kind);
    return SB_OK;
}

static sb_status check_row(const sb_session *session, int32_t i, int32_t parent, int32_t token,
                           int32_t input, sb_error *err)
{
    if (parent < -1 || parent >= session->n_rows)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "row %d: parent is %d, but the previous step had %d rows", (int)i,
                           (int)parent, (int)session->n_rows);
    if (token < -1 || token >= session->model->info.vocab_size)
        return status_fail(err, SB_ERR_ARGUMENT, "row %d: token is %d; expected 0 to %d", (int)i,
                           (int)token, (int)session->model->info.vocab_size - 1);
    if ((parent == -1) != (token == -1))
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "row %d: parent is %d and token is %d; expected both to be -1, or neither", (int)i,
            (int)parent, (int)token);
    if (input < 0 || input >= session->max_inputs)
        return status_fail(err, SB_ERR_ARGUMENT, "row %d: input is %d; expected 0 to %d", (int)i,
                           (int)input, (int)session->max_inputs - 1);
    return SB_OK;
}

sb_status sb_session_step(sb_session *session, int32_t n_rows, const int32_t *parent,
                          const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    if (session == NULL || parent == NULL || token == NULL || input == NULL || rows == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_session_step: session, parent, token, input or rows is NULL");
    if (n_rows < 1)
        return status_fail(err, SB_ERR_ARGUMENT, "n_rows is %d; expected at least 1", (int)n_rows);
    const sb_model *const model = session->model;
    if (model->info.max_rows > 0 && n_rows > model->info.max_rows)
        return status_fail(err, SB_ERR_LIMIT, "%d rows at once, but the model takes at most %d",
                           (int)n_rows, (int)model->info.max_rows);
    for (int32_t i = 0; i < n_rows; i++) {
        const sb_status status = check_row(session, i, parent[i], token[i], input[i], err);
        if (status != SB_OK)
            return status;
    }
    const sb_status status =
        model->ops.step(session->state, n_rows, parent, token, input, rows, err);
    session->n_rows = status == SB_OK ? n_rows : 0;
    return status;
}

bool sb_session_is_leaf(sb_session *session, int32_t row, int32_t token)
{
    const sb_model *const model = session->model;
    if (model->ops.is_leaf == NULL || row < 0 || row >= session->n_rows || token < 0 ||
        token >= model->info.vocab_size)
        return false;
    return model->ops.is_leaf(session->state, row, token);
}

size_t sb_session_state_size(const sb_session *session)
{
    const sb_model_ops *const ops = &session->model->ops;
    return ops->state_size != NULL ? ops->state_size(session->state) : 0;
}

sb_status sb_session_save(const sb_session *session, int32_t row, void *state, sb_error *err)
{
    if (session == NULL || state == NULL || session->model->ops.save == NULL)
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "sb_session_save: session or state is NULL, or the model cannot save states");
    if (row < 0 || row >= session->n_rows)
        return status_fail(err, SB_ERR_ARGUMENT, "row is %d, but the last step had %d rows",
                           (int)row, (int)session->n_rows);
    session->model->ops.save(session->state, row, state);
    return SB_OK;
}

sb_status sb_session_restore(sb_session *session, int32_t n_rows, const void *states, sb_error *err)
{
    if (session == NULL || states == NULL || session->model->ops.restore == NULL)
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "sb_session_restore: session or states is NULL, or the model cannot restore states");
    if (n_rows < 0)
        return status_fail(err, SB_ERR_ARGUMENT, "n_rows is %d; expected 0 or more", (int)n_rows);
    const sb_status status = session->model->ops.restore(session->state, n_rows, states, err);
    session->n_rows = status == SB_OK ? n_rows : 0;
    return status;
}
