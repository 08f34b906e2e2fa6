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
    int32_t max_states;      /* 0: not known */
    unsigned char *is_alive; /* (n_numbers) by number of a state */
    size_t n_numbers;
};

/* What is_alive holds: whether there is a state of this number. WRITTEN marks a `to` during the
 * checks of a step. */
enum { ALIVE = 1, WRITTEN = 2 };

sb_status sb_session_open(sb_session **session, const sb_model *model, const sb_session_spec *spec,
                          sb_error *err)
{
    if (session == NULL || model == NULL || spec == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_session_open: session, model or spec is NULL");
    if (spec->max_inputs < 1)
        return status_fail(err, SB_ERR_ARGUMENT, "max_inputs is %d; expected at least 1",
                           (int)spec->max_inputs);
    if (spec->max_rows < 0 || spec->max_states < 0 || spec->max_len < 0 || spec->threads < 0)
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "max_rows is %d, max_states %d, max_len %d and threads %d; expected 0 or more",
            (int)spec->max_rows, (int)spec->max_states, (int)spec->max_len, (int)spec->threads);
    if (model->info.max_rows > 0 && spec->max_rows > model->info.max_rows)
        return status_fail(err, SB_ERR_LIMIT, "%d rows at once, but the model takes at most %d",
                           (int)spec->max_rows, (int)model->info.max_rows);
    sb_session_spec whole = *spec;
    if (whole.max_states == 0)
        whole.max_states = whole.max_rows;
    if (model->info.max_rows > 0 && whole.max_states > model->info.max_rows)
        return status_fail(err, SB_ERR_LIMIT, "%d states at once, but the model has at most %d",
                           (int)whole.max_states, (int)model->info.max_rows);
    sb_session *const s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return status_no_memory(err);
    const sb_status status = model->ops.session_open(model->self, &whole, &s->state, err);
    if (status != SB_OK) {
        alloc_free(s);
        return status;
    }
    s->model = model;
    s->max_inputs = whole.max_inputs;
    s->max_states = whole.max_states;
    *session = s;
    return SB_OK;
}

void sb_session_close(sb_session *session)
{
    if (session == NULL)
        return;
    session->model->ops.session_close(session->state);
    alloc_free(session->is_alive);
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

/* Returns whether there is a state of this number. */
static bool is_alive(const sb_session *session, int32_t state)
{
    return state >= 0 && (size_t)state < session->n_numbers && session->is_alive[state] != 0;
}

/* Forgets all states, after the model has failed. */
static void forget_states(sb_session *session)
{
    if (session->n_numbers > 0)
        memset(session->is_alive, 0, session->n_numbers);
}

/* Checks that these numbers are allowed and all different, and makes room for their marks. */
static sb_status check_numbers(sb_session *session, int32_t n, const int32_t *states,
                               const char *what, sb_error *err)
{
    int32_t largest = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t most = session->max_states > 0 ? session->max_states : INT32_MAX;
        if (states[i] < 0 || states[i] >= most)
            return status_fail(err, SB_ERR_ARGUMENT, "row %d: %s is %d; expected 0 to %d", (int)i,
                               what, (int)states[i], (int)most - 1);
        largest = states[i] > largest ? states[i] : largest;
    }
    const size_t n_before = session->n_numbers;
    if ((size_t)largest >= n_before) {
        if (alloc_reserve(&session->is_alive, &session->n_numbers, (size_t)largest + 1, 1) != SB_OK)
            return status_no_memory(err);
        memset(session->is_alive + n_before, 0, session->n_numbers - n_before);
    }
    int32_t n_marked = 0;
    while (n_marked < n && (session->is_alive[states[n_marked]] & WRITTEN) == 0)
        session->is_alive[states[n_marked++]] |= WRITTEN;
    for (int32_t i = 0; i < n_marked; i++)
        session->is_alive[states[i]] &= ALIVE;
    if (n_marked < n)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "row %d: %s is %d, as in a row before; expected another number",
                           (int)n_marked, what, (int)states[n_marked]);
    return SB_OK;
}

static sb_status check_row(const sb_session *session, int32_t i, int32_t from, int32_t token,
                           int32_t input, sb_error *err)
{
    if (from != -1 && !is_alive(session, from))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "row %d: from is %d, but the session has no state of this number",
                           (int)i, (int)from);
    if (token < -1 || token >= session->model->info.vocab_size)
        return status_fail(err, SB_ERR_ARGUMENT, "row %d: token is %d; expected 0 to %d", (int)i,
                           (int)token, (int)session->model->info.vocab_size - 1);
    if ((from == -1) != (token == -1))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "row %d: from is %d and token is %d; expected both to be -1, or neither",
                           (int)i, (int)from, (int)token);
    if (input < 0 || input >= session->max_inputs)
        return status_fail(err, SB_ERR_ARGUMENT, "row %d: input is %d; expected 0 to %d", (int)i,
                           (int)input, (int)session->max_inputs - 1);
    return SB_OK;
}

sb_status sb_session_step(sb_session *session, int32_t n_rows, const int32_t *from,
                          const int32_t *to, const int32_t *token, const int32_t *input, void *rows,
                          sb_error *err)
{
    if (session == NULL || from == NULL || to == NULL || token == NULL || input == NULL ||
        rows == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_session_step: session, from, to, token, input or rows is NULL");
    if (n_rows < 1)
        return status_fail(err, SB_ERR_ARGUMENT, "n_rows is %d; expected at least 1", (int)n_rows);
    const sb_model *const model = session->model;
    if (model->info.max_rows > 0 && n_rows > model->info.max_rows)
        return status_fail(err, SB_ERR_LIMIT, "%d rows at once, but the model takes at most %d",
                           (int)n_rows, (int)model->info.max_rows);
    sb_status status = SB_OK;
    for (int32_t i = 0; i < n_rows && status == SB_OK; i++)
        status = check_row(session, i, from[i], token[i], input[i], err);
    if (status == SB_OK)
        status = check_numbers(session, n_rows, to, "to", err);
    if (status != SB_OK)
        return status;
    status = model->ops.step(session->state, n_rows, from, to, token, input, rows, err);
    if (status != SB_OK)
        forget_states(session);
    for (int32_t i = 0; i < n_rows && status == SB_OK; i++)
        session->is_alive[to[i]] = ALIVE;
    return status;
}

sb_status sb_session_release(sb_session *session, int32_t n, const int32_t *states, sb_error *err)
{
    if (session == NULL || (states == NULL && n > 0) || n < 0)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_session_release: session or states is NULL, or n is negative");
    const sb_model_ops *const ops = &session->model->ops;
    for (int32_t i = 0; i < n; i++)
        if (is_alive(session, states[i])) {
            session->is_alive[states[i]] = 0;
            if (ops->release != NULL)
                ops->release(session->state, 1, &states[i]);
        }
    return SB_OK;
}

bool sb_session_is_leaf(sb_session *session, int32_t state, int32_t token)
{
    const sb_model *const model = session->model;
    if (model->ops.is_leaf == NULL || !is_alive(session, state) || token < 0 ||
        token >= model->info.vocab_size)
        return false;
    return model->ops.is_leaf(session->state, state, token);
}

size_t sb_session_state_size(const sb_session *session)
{
    const sb_model_ops *const ops = &session->model->ops;
    return ops->state_size != NULL ? ops->state_size(session->state) : 0;
}

sb_status sb_session_save(const sb_session *session, int32_t state, void *bytes, sb_error *err)
{
    if (session == NULL || bytes == NULL || session->model->ops.save == NULL)
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "sb_session_save: session or bytes is NULL, or the model cannot save states");
    if (!is_alive(session, state))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "state is %d, but the session has no state of this number", (int)state);
    session->model->ops.save(session->state, state, bytes);
    return SB_OK;
}

sb_status sb_session_restore(sb_session *session, int32_t n, const int32_t *states,
                             const void *bytes, sb_error *err)
{
    if (session == NULL || states == NULL || bytes == NULL || session->model->ops.restore == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_session_restore: session, states or bytes is NULL, or the model "
                           "cannot restore states");
    if (n < 0)
        return status_fail(err, SB_ERR_ARGUMENT, "n is %d; expected 0 or more", (int)n);
    sb_status status = check_numbers(session, n, states, "state", err);
    if (status != SB_OK || n == 0)
        return status;
    status = session->model->ops.restore(session->state, n, states, bytes, err);
    if (status != SB_OK)
        forget_states(session);
    for (int32_t i = 0; i < n && status == SB_OK; i++)
        session->is_alive[states[i]] = ALIVE;
    return status;
}
