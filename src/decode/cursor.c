/* A cursor is a best-first search of one slot that has no k and never drops an entry. */
#include "decode/cursor.h"

#include "base/alloc.h"
#include "base/status.h"
#include "decode/best_first.h"
#include "decode/config.h"
#include "decode/fit.h"
#include "decode/interrupt.h"
#include "decode/result.h"
#include "decode/stepper.h"

/* A cursor keeps states in this many bytes, so that it computes few prefixes again, but at least
 * this number of states if they are large. */
enum { STATE_BYTES = 1 << 26, LEAST_STATES = 256 };

struct sb_cursor {
    sb_config config;
    struct stepper stepper;
    struct slot *slot; /* the only one of the decoder */
    const sb_interrupt *interrupt;
    size_t n_given; /* sequences given to the caller */
    sb_error error; /* if its status is not SB_OK, the cursor has failed */
};

/* Checks the settings and fits them to the model. */
static sb_status fit(sb_config *config, const sb_model *model, sb_error *err)
{
    const sb_status status = sb_config_check(config, err);
    if (status != SB_OK)
        return status;
    if (config->method != SB_METHOD_SBS)
        return status_fail(err, SB_ERR_ARGUMENT, "method is %s; a cursor needs method sbs",
                           sb_method_name(config->method));
    if (config->search == SB_SEARCH_LEVEL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "search is level; a cursor needs best-first search");
    if (config_has_rule(config))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "until_mass or until_texts is set, but no rule ends a cursor; end the "
                           "loop that calls sb_cursor_next instead");
    config->search = SB_SEARCH_BEST_FIRST;
    return fit_to_model(config, model, err);
}

/* Returns the maximum number of states that are kept. */
static size_t count_states(const sb_session *session)
{
    const size_t per_state = sb_session_state_size(session) + 4 * sizeof(int32_t);
    const size_t n = STATE_BYTES / per_state;
    return n > LEAST_STATES ? n : LEAST_STATES;
}

static sb_status open_search(sb_cursor *cursor, const sb_model *model, const sb_cursor_spec *spec,
                             sb_error *err)
{
    struct stepper *const stepper = &cursor->stepper;
    const sb_session_spec session = {.max_inputs = 1, .max_len = cursor->config.max_len};
    const sb_job job = {.stream = spec->stream, .draw = spec->draw};
    sb_status status = stepper_open(stepper, model, &cursor->config, 1, 0, err);
    if (status == SB_OK)
        status = stepper_open_session(stepper, &session, NULL, err);
    if (status == SB_OK)
        status = stepper_begin(stepper, 0, spec->text, spec->size, err);
    if (status != SB_OK)
        return status;
    sb_decoder *const decoder = stepper->decoder;
    decoder->is_endless = true;
    decoder->most_states = count_states(stepper->session);
    decoder->first_children = FIRST_CHILDREN;
    cursor->slot = &decoder->slots[0];
    return sb_decoder_add(decoder, &job, NULL, err);
}

sb_status sb_cursor_open(sb_cursor **cursor, const sb_model *model, const sb_cursor_spec *spec,
                         const sb_config *config, sb_error *err)
{
    static const sb_cursor_spec nothing = {0};
    if (cursor == NULL || model == NULL || config == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_cursor_open: cursor, model or config is NULL");
    const sb_cursor_spec *const used = spec != NULL ? spec : &nothing;
    if (used->text == NULL && sb_model_get_info(model)->needs_input)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_cursor_open: the text is NULL, but a model of kind '%s' needs an "
                           "input",
                           sb_model_get_info(model)->kind);
    sb_cursor *const c = alloc_zeroed(1, sizeof *c);
    if (c == NULL)
        return status_no_memory(err);
    c->config = *config;
    sb_status status = fit(&c->config, model, err);
    if (status == SB_OK)
        status = open_search(c, model, used, err);
    if (status != SB_OK) {
        sb_cursor_close(c);
        return status;
    }
    *cursor = c;
    return SB_OK;
}

void sb_cursor_close(sb_cursor *cursor)
{
    if (cursor == NULL)
        return;
    stepper_close(&cursor->stepper);
    alloc_free(cursor);
}

void sb_cursor_set_interrupt(sb_cursor *cursor, const sb_interrupt *interrupt)
{
    cursor->interrupt = interrupt;
}

sb_decoder *cursor_get_decoder(sb_cursor *cursor)
{
    return cursor->stepper.decoder;
}

/* Remembers the status of an error, after which the cursor cannot continue. Returns -1. */
static int fail(sb_cursor *cursor, sb_status status, sb_error *err)
{
    cursor->error.status = status;
    status_fail(err, status, "%s", cursor->error.message);
    return -1;
}

/* Evaluates nodes until the next sequence is certain. Returns as sb_cursor_next does. */
static int search(sb_cursor *cursor, sb_error *err)
{
    struct slot *const slot = cursor->slot;
    while (cursor->n_given == slot->now.n && slot->state == SLOT_RUNNING) {
        if (interrupt_is_raised(cursor->interrupt)) {
            status_fail(err, SB_ERR_STOPPED, "interrupted");
            return -1;
        }
        const sb_status status = stepper_step(&cursor->stepper, &cursor->error);
        if (status != SB_OK)
            return fail(cursor, status, err);
    }
    if (slot->state == SLOT_FAILED && cursor->n_given == slot->now.n) {
        cursor->error = slot->error;
        return fail(cursor, slot->error.status, err);
    }
    return cursor->n_given < slot->now.n;
}

int sb_cursor_next(sb_cursor *cursor, sb_sequence *sequence, sb_error *err)
{
    if (cursor == NULL || sequence == NULL) {
        status_fail(err, SB_ERR_ARGUMENT, "sb_cursor_next: cursor or sequence is NULL");
        return -1;
    }
    if (cursor->error.status != SB_OK)
        return fail(cursor, cursor->error.status, err);
    const int found = search(cursor, err);
    if (found != 1)
        return found;
    sb_decoder *const decoder = cursor->stepper.decoder;
    const size_t i = cursor->n_given;
    const sb_status status = result_check_range(decoder, cursor->slot, i, &cursor->error);
    if (status != SB_OK)
        return fail(cursor, status, err);
    if (result_make_sequence(decoder, cursor->slot, &cursor->slot->now.entries[i], sequence) !=
        SB_OK) {
        status_no_memory(err);
        return -1;
    }
    cursor->n_given++;
    return 1;
}

double sb_cursor_threshold(const sb_cursor *cursor)
{
    return best_first_threshold(cursor->slot, cursor->n_given);
}

sb_status sb_cursor_get_result(sb_cursor *cursor, sb_result *result, sb_error *err)
{
    if (cursor == NULL || result == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_cursor_get_result: cursor or result is NULL");
    result_clear(result);
    if (cursor->error.status != SB_OK)
        return status_fail(err, cursor->error.status, "%s", cursor->error.message);
    if (cursor->n_given > INT32_MAX)
        return status_fail(err, SB_ERR_LIMIT, "a result has at most %d sequences", INT32_MAX);
    const sb_status status = best_first_build_result(cursor->stepper.decoder, cursor->slot,
                                                     cursor->n_given, result, err);
    return status == SB_ERR_MEMORY ? status_no_memory(err) : status;
}

sb_cursor_use sb_cursor_get_use(const sb_cursor *cursor)
{
    const struct slot *const slot = cursor->slot;
    const struct best_first *const own = best_first_of(slot);
    return (sb_cursor_use){.sequences = cursor->n_given,
                           .model_rows = slot->model_rows,
                           .entries = frontier_size(&own->frontier) + slot->next.n +
                                      (slot->now.n - cursor->n_given),
                           .bytes = best_first_bytes(slot)};
}
