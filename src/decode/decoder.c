/* The decoder as an object: opens and closes it, starts jobs in its slots and gives their results.
 * The loop itself is in loop.c. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "decode/best_first.h"
#include "decode/config.h"
#include "decode/fit.h"
#include "decode/loop.h"
#include "decode/method.h"
#include "decode/result.h"
#include "decode/slot_states.h"
#include "decode/trie.h"
#include "math/kernels.h"

enum { MOST_SLOTS = 4096 };

/* --- slots --- */

sb_status sb_decoder_add(sb_decoder *decoder, const sb_job *job, int32_t *slot_number,
                         sb_error *err)
{
    if (decoder == NULL || job == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_decoder_add: decoder or job is NULL");
    if (decoder->failed)
        return status_fail(err, SB_ERR_STATE, "this decoder has failed before; close it");
    const double temperature =
        job->temperature == 0 ? decoder->config.temperature : job->temperature;
    sb_status status = config_check_temperature(temperature, err);
    if (status != SB_OK)
        return status;
    int32_t s = 0;
    while (s < decoder->spec.max_slots && decoder->slots[s].state != SLOT_FREE)
        s++;
    if (s == decoder->spec.max_slots)
        return status_fail(err, SB_ERR_STATE, "all %d slots are taken; take a result to free one",
                           s);
    struct slot *const slot = &decoder->slots[s];
    slot->key = (struct noise_key){decoder->config.seed, job->stream, job->draw};
    slot->temperature = temperature;
    slot->step = 0;
    slot->goal =
        decoder->spec.continues || !decoder->is_endless ? (size_t)decoder->config.k : SIZE_MAX;
    slot->now.n = slot->next.n = 0;
    slot->n_path = slot->n_wanted = slot->n_expanded = slot->n_chunk = slot->n_numbered = 0;
    slot->model_rows = 0;
    slot->pruned = LOGSPACE_NOTHING;
    result_clear(&slot->result);
    status = decoder->method->start(decoder, slot);
    if (status == SB_OK) {
        slot->state = SLOT_RUNNING;
        status = loop_build_request(decoder, err);
    }
    if (status != SB_OK)
        return loop_fail(decoder, status, err);
    if (slot_number != NULL)
        *slot_number = s;
    return SB_OK;
}

int32_t sb_decoder_finished(const sb_decoder *decoder)
{
    if (decoder == NULL || decoder->failed)
        return -1;
    for (int32_t s = 0; s < decoder->spec.max_slots; s++)
        if (decoder->slots[s].state >= SLOT_FINISHED)
            return s;
    return -1;
}

sb_status sb_decoder_take(sb_decoder *decoder, int32_t slot_number, sb_result *result,
                          sb_error *err)
{
    if (decoder == NULL || result == NULL || slot_number < 0 ||
        slot_number >= decoder->spec.max_slots)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_decoder_take: decoder or result is NULL, or there is no such slot");
    struct slot *const slot = &decoder->slots[slot_number];
    if (decoder->failed || slot->state < SLOT_FINISHED)
        return status_fail(err, SB_ERR_STATE, "slot %d has no result to take", slot_number);
    if (slot->state == SLOT_FAILED) {
        result_clear(result);
        slot->state = SLOT_FREE;
        return status_fail(err, slot->error.status, "%s", slot->error.message);
    }
    /* The two results are swapped, so that the slot gets memory for its next result. */
    const sb_result taken = slot->result;
    slot->result = *result;
    *result = taken;
    result_clear(&slot->result);
    slot->state = decoder->spec.continues ? SLOT_WAITING : SLOT_FREE;
    return SB_OK;
}

sb_status sb_decoder_continue(sb_decoder *decoder, int32_t slot_number, int32_t n, sb_error *err)
{
    if (decoder == NULL || slot_number < 0 || slot_number >= decoder->spec.max_slots)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_decoder_continue: decoder is NULL, or there is no such slot");
    struct slot *const slot = &decoder->slots[slot_number];
    if (!decoder->spec.continues)
        return status_fail(err, SB_ERR_STATE,
                           "this decoder continues no jobs: its spec does not have `continues`");
    if (decoder->failed || (slot->state != SLOT_FINISHED && slot->state != SLOT_WAITING))
        return status_fail(err, SB_ERR_STATE, "slot %d has no finished job to continue",
                           slot_number);
    if (n < 1 || slot->goal > (size_t)(INT32_MAX - n))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_decoder_continue: n is %d after %zu sequences; expected at least 1, "
                           "and at most %d together",
                           n, slot->goal, INT32_MAX);
    slot->goal += (size_t)n;
    result_clear(&slot->result);
    sb_status status = loop_continue(decoder, slot, &slot->error);
    if (status == SB_ERR_LIMIT) { /* only the slot fails, as in sb_decoder_advance */
        slot->state = SLOT_FAILED;
        slot_drop_states(decoder, slot);
        status = SB_OK;
    }
    if (status == SB_OK)
        status = loop_build_request(decoder, err);
    return status == SB_OK ? SB_OK : loop_fail(decoder, status, err);
}

int sb_decoder_certain(sb_decoder *decoder, int32_t slot_number, int32_t i, sb_sequence *sequence)
{
    if (decoder == NULL || sequence == NULL || decoder->failed || slot_number < 0 ||
        slot_number >= decoder->spec.max_slots || decoder->method != &method_best_first)
        return 0;
    struct slot *const slot = &decoder->slots[slot_number];
    if (slot->state == SLOT_FREE || slot->state == SLOT_FAILED || i < 0 || (size_t)i >= slot->now.n)
        return 0;
    /* The draw will be refused, because the place of this sequence may be wrong. */
    if (result_check_range(decoder, slot, (size_t)i, NULL) != SB_OK)
        return 0;
    return result_make_sequence(decoder, slot, &slot->now.entries[i], sequence) == SB_OK ? 1 : -1;
}

sb_status sb_decoder_cancel(sb_decoder *decoder, int32_t slot_number, sb_error *err)
{
    if (decoder == NULL || slot_number < 0 || slot_number >= decoder->spec.max_slots)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_decoder_cancel: decoder is NULL, or there is no such slot");
    struct slot *const slot = &decoder->slots[slot_number];
    if (decoder->failed || slot->state == SLOT_FREE)
        return status_fail(err, SB_ERR_STATE, "slot %d has no job to cancel", slot_number);
    if (slot->state == SLOT_RUNNING || decoder->spec.continues)
        slot_drop_states(decoder, slot);
    slot->state = SLOT_FREE;
    const sb_status status = loop_build_request(decoder, err);
    return status == SB_OK ? SB_OK : loop_fail(decoder, status, err);
}

bool sb_decoder_beam(const sb_decoder *decoder, int32_t slot_number, int32_t i,
                     sb_beam_entry *entry)
{
    if (decoder == NULL || slot_number < 0 || slot_number >= decoder->spec.max_slots ||
        decoder->slots[slot_number].state == SLOT_FREE)
        return false;
    const struct beam *const beam = &decoder->slots[slot_number].now;
    if (i < 0 || (size_t)i >= beam->n)
        return false;
    const struct entry *const e = &beam->entries[i];
    *entry = (sb_beam_entry){.parent = e->parent,
                             .token = e->token,
                             .depth = e->depth,
                             .end = e->end,
                             .is_new = e->is_new,
                             .phi = e->phi,
                             .score = e->score};
    return true;
}

/* --- opening and closing --- */

static sb_status check_row_type(sb_row_type type, sb_error *err)
{
    if (type == SB_ROW_FLOAT || type == SB_ROW_DOUBLE)
        return SB_OK;
    return status_fail(err, SB_ERR_ARGUMENT, "row_type is %d; expected float or double", (int)type);
}

/* Checks that every permitted output can be a sequence. */
static sb_status check_allow(const sb_decoder_spec *spec, const sb_config *config, sb_error *err)
{
    const sb_trie_info *const info = sb_trie_get_info(config->allow);
    if (spec->is_stop != NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "allow and stop are both set; expected one of them, because a stop "
                           "string would end a sequence within a line");
    if (info->largest_token >= spec->vocab_size)
        return status_fail(err, SB_ERR_INPUT,
                           "allow: line %zu has the token id %d; expected 0 to %d",
                           info->largest_line, info->largest_token, spec->vocab_size - 1);
    if (info->longest > config->max_len)
        return status_fail(err, SB_ERR_INPUT,
                           "allow: line %zu has %d tokens; expected at most max-len, which is %d",
                           info->longest_line, info->longest, config->max_len);
    if (spec->eos >= 0 && trie_has_token(config->allow, spec->eos))
        return status_fail(err, SB_ERR_INPUT,
                           "allow: a line holds the end token, %d; expected lines without it, "
                           "because it is appended to each",
                           spec->eos);
    if (spec->eos < 0 && info->prefix_line > 0)
        return status_fail(err, SB_ERR_INPUT,
                           "allow: line %zu is the beginning of line %zu, but the model has no end "
                           "token, so a sequence could not end there; take one of them out",
                           info->prefix_line, info->extended_line);
    if (spec->eos < 0 && info->longest == 0)
        return status_fail(err, SB_ERR_INPUT,
                           "allow: the only line is empty, but the model has no end token, so "
                           "every sequence has a token");
    return SB_OK;
}

static sb_status check_spec(const sb_decoder_spec *spec, const sb_config *config, sb_error *err)
{
    if (spec->vocab_size < 0)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "vocab_size is %d; expected at least 1, or 0 if each row has its own "
                           "width",
                           spec->vocab_size);
    const char *const need = spec->continues ? "continues is true" : "vocab_size is 0";
    if ((spec->vocab_size == 0 || spec->continues) && method_of(config) != &method_best_first)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "%s, which needs best-first search: method sbs, keeps_states, and not "
                           "search level",
                           need);
    if (spec->continues && config_has_rule(config))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "%s, but until-mass or until-texts is set; expected no rule that ends "
                           "a draw",
                           need);
    if (spec->vocab_size == 0 &&
        (spec->eos != -1 || config->n_ban > 0 || config->min_len > 0 || config->allow != NULL))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "vocab_size is 0, but there is an end token, a banned token, a "
                           "min-len or a list of permitted outputs; expected none, because the "
                           "tokens of each row are its own");
    if (spec->eos < -1 || spec->eos >= spec->vocab_size)
        return status_fail(err, SB_ERR_ARGUMENT, "eos is %d; expected -1 or an id below %d",
                           spec->eos, spec->vocab_size);
    if (check_row_type(spec->row_type, err) != SB_OK)
        return SB_ERR_ARGUMENT;
    if (spec->max_slots < 1 || spec->max_slots > MOST_SLOTS)
        return status_fail(err, SB_ERR_ARGUMENT, "max_slots is %d; expected 1 to %d",
                           spec->max_slots, MOST_SLOTS);
    if (spec->max_rows < 0 || spec->stop_window < 0)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "max_rows is %d and stop_window %d; expected 0 or more", spec->max_rows,
                           spec->stop_window);
    if (config->n_stop > 0 && spec->is_stop == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "the config has stop strings, but is_stop is NULL; expected a function, "
                           "because the decoder itself has no text");
    if (config->until_texts > 0 && spec->is_new_text == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "until-texts is %d, but is_new_text is NULL; expected a function, "
                           "because the decoder itself has no text",
                           config->until_texts);
    if (spec->max_rows > 0 && method_get(config->method)->row_use == ROWS_WHOLE_LEVEL)
        return status_fail(err, SB_ERR_LIMIT,
                           "%s evaluates a whole level of the tree at once, but a draw from "
                           "this model has at most %d rows; use method sbs, which gives the same "
                           "sequences",
                           sb_method_name(config->method), spec->max_rows);
    const int64_t rows = method_needed_rows(config);
    if (spec->max_rows > 0 && rows > spec->max_rows && config->search == SB_SEARCH_BEST_FIRST)
        return status_fail(err, SB_ERR_LIMIT,
                           "parallel is %lld; the model allows at most %d rows at once",
                           (long long)rows, spec->max_rows);
    if (spec->max_rows > 0 && rows > spec->max_rows)
        return status_fail(err, SB_ERR_LIMIT, "k = %d needs %lld rows at once; the model allows %d",
                           config->k, (long long)rows, spec->max_rows);
    for (size_t i = 0; i < config->n_ban; i++)
        if (config->ban[i] < 0 || config->ban[i] >= spec->vocab_size)
            return status_fail(err, SB_ERR_ARGUMENT, "ban: the token id is %d; expected 0 to %d",
                               config->ban[i], spec->vocab_size - 1);
    return config->allow != NULL ? check_allow(spec, config, err) : SB_OK;
}

sb_status sb_decoder_open(sb_decoder **decoder, const sb_decoder_spec *spec,
                          const sb_config *config, sb_error *err)
{
    if (decoder == NULL || spec == NULL || config == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_decoder_open: decoder, spec or config is NULL");
    sb_status status = kernels_check(err);
    if (status == SB_OK)
        status = sb_config_check(config, err);
    sb_config chosen = *config;
    if (status == SB_OK)
        status = fit_search(
            &chosen, spec->row_type,
            spec->keeps_states ? NULL : "the host keeps no states: keeps_states is false", err);
    if (status == SB_OK)
        status = check_spec(spec, &chosen, err);
    if (status != SB_OK)
        return status;
    sb_decoder *const d = alloc_zeroed(1, sizeof *d);
    if (d == NULL)
        return status_no_memory(err);
    d->spec = *spec;
    d->config = *config;
    d->config.stop = NULL; /* only is_stop uses them */
    d->config.n_stop = 0;
    d->config.search = chosen.search;
    d->config.parallel = chosen.parallel;
    d->method = method_of(&chosen);
    d->row_width = spec->vocab_size;
    d->is_endless = spec->continues;
    d->most_states = SIZE_MAX; /* a cursor has its own limits */
    d->first_children = FIRST_CHILDREN;
    d->config.ban = NULL;
    d->slots = alloc_zeroed((size_t)spec->max_slots, sizeof *d->slots);
    d->own = alloc_zeroed((size_t)spec->max_slots, d->method->own_size);
    d->counts = alloc_zeroed((size_t)spec->vocab_size, sizeof *d->counts);
    d->scratch_ids = alloc_array((size_t)spec->vocab_size, sizeof *d->scratch_ids);
    int32_t *const ban = alloc_array(config->n_ban, sizeof *ban);
    d->config.ban = ban;
    if (d->slots == NULL || d->own == NULL || d->counts == NULL || d->scratch_ids == NULL ||
        ban == NULL) {
        sb_decoder_close(d);
        return status_no_memory(err);
    }
    for (int32_t s = 0; s < spec->max_slots; s++)
        d->slots[s].own = d->own + (size_t)s * d->method->own_size;
    if (config->n_ban > 0)
        memcpy(ban, config->ban, config->n_ban * sizeof *ban);
    *decoder = d;
    return SB_OK;
}

sb_status sb_decoder_set_row_type(sb_decoder *decoder, sb_row_type type, sb_error *err)
{
    if (decoder == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_decoder_set_row_type: decoder is NULL");
    const sb_status status = check_row_type(type, err);
    if (status != SB_OK)
        return status;
    decoder->spec.row_type = type;
    for (size_t i = 0; i < decoder->n_row_objects; i++)
        row_init(&decoder->rows[i], decoder->row_width, type, decoder->row_scratch[i]);
    return SB_OK;
}

static void release_slot(const struct method *method, struct slot *slot)
{
    if (slot->own != NULL && method->close != NULL)
        method->close(slot->own);
    alloc_free(slot->now.entries);
    alloc_free(slot->next.entries);
    alloc_free(slot->path);
    alloc_free(slot->wanted);
    alloc_free(slot->states);
    result_release(&slot->result);
}

void sb_decoder_close(sb_decoder *decoder)
{
    if (decoder == NULL)
        return;
    for (int32_t s = 0; decoder->slots != NULL && s < decoder->spec.max_slots; s++)
        release_slot(decoder->method, &decoder->slots[s]);
    for (size_t i = 0; i < decoder->n_row_objects; i++)
        alloc_free(decoder->row_scratch[i]);
    alloc_free(decoder->slots);
    alloc_free(decoder->own);
    alloc_free(decoder->parent);
    states_close(&decoder->states);
    alloc_free(decoder->earlier.entries);
    alloc_free(decoder->rows);
    alloc_free(decoder->row_scratch);
    alloc_free(decoder->streams);
    alloc_free(decoder->candidates);
    alloc_free(decoder->leaves);
    alloc_free(decoder->counts);
    alloc_free(decoder->scratch_ids);
    alloc_free(decoder->tokens);
    alloc_free((void *)(uintptr_t)decoder->config.ban);
    alloc_free(decoder);
}
