#include "decode/stepper.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "decode/loop.h"
#include "sbeam/record.h"

/* Maximum number of bytes of scores that a stepper asks for at once, unless a single row has more.
 * It is enough for fast matrix products: 512 rows of 32,000 floats. */
enum { MOST_SCORE_BYTES = 1 << 26 };

static atomic_int rows_in_tests;

void stepper_limit_rows(int32_t n)
{
    atomic_store(&rows_in_tests, n);
}

static bool is_leaf(void *user, int32_t row, int32_t token)
{
    const struct stepper *const stepper = user;
    return sb_session_is_leaf(stepper->session, stepper->to[row], token);
}

static int is_stop(void *user, const int32_t *tokens, int32_t n_tokens)
{
    const struct stepper *const stepper = user;
    const sb_config *const config = stepper->config;
    char *text;
    if (sb_model_decode(stepper->model, tokens, n_tokens, &text, NULL) != SB_OK)
        return -1;
    int found = 0;
    for (size_t i = 0; i < config->n_stop && !found; i++)
        found = strstr(text, config->stop[i]) != NULL;
    sb_free(text);
    return found;
}

/* Returns how many of the last tokens is_stop must look at, or 0 for all. A token has at least one
 * byte of text, and earlier steps have checked the text before the last token, so as many tokens
 * as the longest stop string has bytes, and one more, are enough. But if the model has its own
 * text, a token may have no bytes or may change the text before it; then all tokens are needed. */
static int32_t stop_window(const sb_model *model, const sb_config *config)
{
    if (sb_model_has_own_text(model))
        return 0;
    size_t longest = 0;
    for (size_t i = 0; i < config->n_stop; i++)
        if (strlen(config->stop[i]) > longest)
            longest = strlen(config->stop[i]);
    return longest < INT32_MAX / 2 ? (int32_t)longest + 1 : 0;
}

static size_t score_size(const sb_model_info *info)
{
    return info->row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
}

/* Returns the maximum number of rows that are asked for at once. The number is a function of the
 * model, so that a draw does not depend on the batch, the threads or the other draws. */
static size_t count_rows(const sb_model_info *info)
{
    const size_t in_tests = (size_t)atomic_load(&rows_in_tests);
    const size_t n = MOST_SCORE_BYTES / ((size_t)info->vocab_size * score_size(info));
    return in_tests > 0 ? in_tests : n > 0 ? n : 1;
}

/* Remembers the text of a sequence of a slot. Returns whether it is new, as sb_decoder_spec says.
 */
static int is_new_text(void *user, int32_t slot, int32_t rank, const sb_sequence *sequence)
{
    struct stepper *const stepper = user;
    vocab *const texts = &stepper->texts[slot];
    char *text;
    if (rank == 0) {
        vocab_free(texts);
        vocab_init(texts);
    }
    if (sb_sequence_text(stepper->model, stepper->config, sequence, &text, NULL) != SB_OK)
        return -1;
    int32_t id;
    bool is_new;
    const sb_status status = vocab_add(texts, text, strlen(text), &id, &is_new);
    sb_free(text);
    return status == SB_OK ? is_new : -1;
}

static sb_status open_texts(struct stepper *stepper, int32_t n_slots)
{
    stepper->texts = alloc_array((size_t)n_slots, sizeof *stepper->texts);
    if (stepper->texts == NULL)
        return SB_ERR_MEMORY;
    for (int32_t i = 0; i < n_slots; i++)
        vocab_init(&stepper->texts[i]);
    stepper->n_slots = n_slots;
    return SB_OK;
}

sb_status stepper_open(struct stepper *stepper, const sb_model *model, const sb_config *config,
                       int32_t n_slots, int32_t max_rows, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(model);
    const sb_decoder_spec spec = {
        .vocab_size = info->vocab_size,
        .eos = info->eos,
        .row_type = info->row_type,
        .max_slots = n_slots,
        .max_rows = max_rows,
        .keeps_states = true,
        .stop_window = stop_window(model, config),
        .user = stepper,
        .is_leaf = sb_model_has_leaves(model) ? is_leaf : NULL,
        .is_stop = config->n_stop > 0 ? is_stop : NULL,
        .is_new_text = config->until_texts > 0 ? is_new_text : NULL,
    };
    stepper->model = model;
    stepper->config = config;
    stepper->most_rows = count_rows(info);
    if (config->until_texts > 0 && open_texts(stepper, n_slots) != SB_OK)
        return status_no_memory(err);
    sb_config shorter = *config;
    if (info->max_len > 0 && info->max_len < shorter.max_len)
        shorter.max_len = info->max_len;
    const sb_status status = sb_decoder_open(&stepper->decoder, &spec, &shorter, err);
    if (status == SB_OK)
        loop_limit_rows(stepper->decoder, stepper->most_rows);
    return status;
}

sb_status stepper_open_session(struct stepper *stepper, const sb_session_spec *spec,
                               struct row_cache *cache, sb_error *err)
{
    sb_session_spec smaller = *spec;
    if ((size_t)smaller.max_rows > stepper->most_rows)
        smaller.max_rows = (int32_t)stepper->most_rows;
    const sb_status status = sb_session_open(&stepper->session, stepper->model, &smaller, err);
    stepper->has_cache = status == SB_OK && cache != NULL;
    if (!stepper->has_cache)
        return status;
    return cached_steps_open(&stepper->cached, cache, stepper->model, stepper->session,
                             spec->max_inputs, stepper->most_rows, err);
}

void stepper_close(struct stepper *stepper)
{
    sb_decoder_close(stepper->decoder);
    cached_steps_close(&stepper->cached);
    sb_session_close(stepper->session);
    for (int32_t i = 0; i < stepper->n_slots; i++)
        vocab_free(&stepper->texts[i]);
    alloc_free(stepper->texts);
    alloc_free(stepper->rows);
}

sb_status stepper_begin(struct stepper *stepper, int32_t slot, const char *text, size_t size,
                        sb_error *err)
{
    const sb_status status = sb_session_begin(stepper->session, slot, text, size, err);
    if (status == SB_OK && stepper->has_cache)
        cached_steps_begin(&stepper->cached, slot, text, size);
    return status;
}

/* Makes room for n rows, of which there are at most most_rows. Returns false if memory is short. */
static bool reserve_rows(struct stepper *stepper, size_t n)
{
    if (n <= stepper->n_room)
        return true;
    const sb_model_info *const info = sb_model_get_info(stepper->model);
    const size_t doubled = 2 * stepper->n_room < stepper->most_rows ? 2 * stepper->n_room : n;
    const size_t n_room = doubled > n ? doubled : n;
    alloc_free(stepper->rows);
    stepper->n_room = 0;
    stepper->rows = alloc_array(n_room, (size_t)info->vocab_size * score_size(info));
    if (stepper->rows == NULL)
        return false;
    stepper->n_room = n_room;
    return true;
}

/* Computes the rows that the search asks for. */
static sb_status compute_rows(struct stepper *stepper, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(stepper->model);
    const int32_t *from, *token, *input, *released;
    const int32_t n = sb_decoder_rows(stepper->decoder, NULL, &token, &input);
    if (!reserve_rows(stepper, (size_t)n))
        return status_fail(err, SB_ERR_MEMORY, "not enough memory for %d rows of %d scores", n,
                           info->vocab_size);
    const int32_t n_released =
        sb_decoder_states(stepper->decoder, &from, &stepper->to, &released, err);
    if (n_released < 0)
        return SB_ERR_MEMORY;
    if (stepper->has_cache) /* it keeps the states itself */
        return cached_steps_take(&stepper->cached, n, from, stepper->to, token, input,
                                 stepper->rows, err);
    const sb_status status = sb_session_release(stepper->session, n_released, released, err);
    return status == SB_OK ? sb_session_step(stepper->session, n, from, stepper->to, token, input,
                                             stepper->rows, err)
                           : status;
}

sb_status stepper_step(struct stepper *stepper, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(stepper->model);
    sb_status status = compute_rows(stepper, err);
    if (status != SB_OK)
        return status;
    status = sb_decoder_advance(stepper->decoder, stepper->rows, (size_t)info->vocab_size, err);
    /* These concern single slots, whose errors sb_decoder_take returns. */
    return status == SB_ERR_MODEL || status == SB_ERR_LIMIT ? SB_OK : status;
}
