/* Reads records. It requires the keys that estimates need, because estimates from a draw that was
 * cut or edited by hand would be wrong but look right. record_check.c then compares the numbers
 * with each other. text/json.h checks the JSON; it refuses NaN and numbers that are too large for a
 * double. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "record/record_check.h"
#include "record/record_settings.h"
#include "sbeam/record.h"
#include "text/json.h"

static const json_value *find(const json_value *object, const char *key, sb_error *err)
{
    const json_value *const value = json_get(object, key);
    if (value == NULL)
        status_fail(err, SB_ERR_INPUT, "\"%s\" is missing", key);
    return value;
}

static sb_status get_whole(const json_value *object, const char *key, uint64_t min, uint64_t max,
                           uint64_t *n, sb_error *err)
{
    const json_value *const value = find(object, key, err);
    if (value == NULL)
        return SB_ERR_INPUT;
    uint64_t number;
    if (!json_get_whole(value, &number) || number < min || number > max)
        return status_fail(err, SB_ERR_INPUT, "\"%s\" is not a whole number from %llu to %llu", key,
                           (unsigned long long)min, (unsigned long long)max);
    *n = number;
    return SB_OK;
}

static sb_status get_number(const json_value *object, const char *key, double *x, sb_error *err)
{
    const json_value *const value = find(object, key, err);
    if (value == NULL)
        return SB_ERR_INPUT;
    if (!json_is_number(value))
        return status_fail(err, SB_ERR_INPUT, "\"%s\" is not a number", key);
    *x = json_number(value);
    return SB_OK;
}

/* Reads a number; *x is NaN if the key is absent or null. */
static sb_status get_number_or_null(const json_value *object, const char *key, double *x,
                                    sb_error *err)
{
    const json_value *const value = json_get(object, key);
    *x = NAN;
    return value == NULL || json_is_null(value) ? SB_OK : get_number(object, key, x, err);
}

/* Reads a flag; *flag is unchanged if the key is absent. */
static sb_status get_flag(const json_value *object, const char *key, bool *flag, sb_error *err)
{
    const json_value *const value = json_get(object, key);
    if (value == NULL)
        return SB_OK;
    if (!json_is_boolean(value))
        return status_fail(err, SB_ERR_INPUT, "\"%s\" is neither true nor false", key);
    *flag = json_is_true(value);
    return SB_OK;
}

static sb_status get_text(const json_value *object, const char *key, const char **text,
                          size_t *size, sb_error *err)
{
    const json_value *const value = find(object, key, err);
    if (value == NULL)
        return SB_ERR_INPUT;
    if (!json_is_string(value))
        return status_fail(err, SB_ERR_INPUT, "\"%s\" is not a string", key);
    *text = json_text(value);
    *size = json_text_size(value);
    return SB_OK;
}

/* Reads a text; *text is NULL if the key is absent or null. */
static sb_status get_text_or_null(const json_value *object, const char *key, const char **text,
                                  size_t *size, sb_error *err)
{
    const json_value *const value = json_get(object, key);
    *text = NULL;
    *size = 0;
    return value == NULL || json_is_null(value) ? SB_OK : get_text(object, key, text, size, err);
}

/* Reads a name that programs compare, so it has no zero byte; *name is NULL if the key is absent or
 * null. */
static sb_status get_name_or_null(const json_value *object, const char *key, const char **name,
                                  sb_error *err)
{
    size_t size;
    const sb_status status = get_text_or_null(object, key, name, &size, err);
    if (status == SB_OK && *name != NULL && strlen(*name) != size)
        return status_fail(err, SB_ERR_INPUT, "\"%s\" has a zero byte", key);
    return status;
}

/* Reads a count; *n is 0 if the key is absent. */
static sb_status get_count(const json_value *object, const char *key, uint64_t *n, sb_error *err)
{
    return json_get(object, key) == NULL ? SB_OK : get_whole(object, key, 0, UINT64_MAX, n, err);
}

static sb_status get_method(const json_value *root, sb_method *method, sb_error *err)
{
    const char *name = "";
    size_t size = 0;
    sb_status status = get_text(root, "method", &name, &size, err);
    if (status == SB_OK)
        status = status_refuse_zero("\"method\"", name, size, err);
    if (status != SB_OK)
        return status;
    if (sb_method_find(name, method))
        return SB_OK;
    return status_fail(err, SB_ERR_INPUT, "\"method\" is \"%.100s\", which is not a method", name);
}

static sb_status get_end(const json_value *object, sb_end *end, sb_error *err)
{
    const char *name;
    const sb_status status = get_name_or_null(object, "end", &name, err);
    if (status != SB_OK || name == NULL)
        return status;
    for (int i = SB_END_EOS; i <= SB_END_STOP; i++)
        if (strcmp(name, sb_end_name((sb_end)i)) == 0) {
            *end = (sb_end)i;
            return SB_OK;
        }
    return status_fail(err, SB_ERR_INPUT,
                       "\"end\" is \"%.100s\"; expected eos, max-len, leaf or stop", name);
}

/* Reads why a draw with a rule has ended. Whether there is a rule is checked with the settings. */
static sb_status get_stopped_by(const json_value *root, sb_stopped_by *reason, sb_error *err)
{
    const char *name;
    const sb_status status = get_name_or_null(root, "stopped_by", &name, err);
    if (status != SB_OK || name == NULL)
        return status;
    for (int i = SB_STOPPED_BY_MASS; i <= SB_STOPPED_BY_EXHAUSTED; i++)
        if (strcmp(name, sb_stopped_by_name((sb_stopped_by)i)) == 0) {
            *reason = (sb_stopped_by)i;
            return SB_OK;
        }
    return status_fail(err, SB_ERR_INPUT,
                       "\"stopped_by\" is \"%.100s\"; expected mass, texts, k or exhausted", name);
}

/* Reads the token ids to `tokens`, which has room for them. */
static sb_status get_tokens(const json_value *array, int32_t *tokens, sb_error *err)
{
    for (size_t i = 0; i < json_n_items(array); i++) {
        const json_value *const item = json_item(array, i);
        const int64_t id = json_integer(item);
        if (!json_is_integer(item) || id < 0 || id > INT32_MAX)
            return status_fail(err, SB_ERR_INPUT,
                               "\"tokens\": number %zu is not a token id; expected a whole number "
                               "of at least 0",
                               i + 1);
        tokens[i] = (int32_t)id;
    }
    return SB_OK;
}

/* Reads all of a sequence but its tokens, which must be an array. */
static sb_status get_sequence(const json_value *object, sb_record_sequence *sequence, sb_error *err)
{
    if (!json_is_object(object))
        return status_fail(err, SB_ERR_INPUT, "not an object");
    sb_status status = get_text_or_null(object, "text", &sequence->text, &sequence->text_size, err);
    const json_value *const tokens = status == SB_OK ? find(object, "tokens", err) : NULL;
    if (tokens == NULL)
        return SB_ERR_INPUT;
    if (!json_is_array(tokens))
        return status_fail(err, SB_ERR_INPUT, "\"tokens\" is not an array of token ids");
    sequence->n_tokens = json_n_items(tokens);
    status = get_number(object, "log_p", &sequence->log_p, err);
    if (status == SB_OK)
        status = get_number_or_null(object, "log_p_model", &sequence->log_p_model, err);
    if (status == SB_OK)
        status = get_number_or_null(object, "g", &sequence->g, err);
    if (status == SB_OK)
        status = get_number_or_null(object, "log_weight", &sequence->log_weight, err);
    return status == SB_OK ? get_end(object, &sequence->end, err) : status;
}

/* Returns whether there may be fewer than k sequences: the model has no more, a rule ended the
 * draw, or the method may find fewer. */
static bool may_be_short(const sb_record *record)
{
    const sb_method_info *const method = sb_method_get_info(record->method);
    switch (method->law) {
    case SB_LAW_INDEPENDENT: return false;
    case SB_LAW_WITHOUT_REPLACEMENT:
        return record->exhausted || record->stopped_by == SB_STOPPED_BY_MASS ||
               record->stopped_by == SB_STOPPED_BY_TEXTS ||
               (method->counts_samples && !record->complete);
    default: return true;
    }
}

/* Puts "sequence N: " before an error. */
static sb_status fail_sequence(size_t i, const sb_error *problem, sb_error *err)
{
    return status_fail(err, problem->status, "sequence %zu: %.400s", i + 1, problem->message);
}

static sb_status check_count(const sb_record *record, size_t n, sb_error *err)
{
    if (n > (size_t)record->k)
        return status_fail(err, SB_ERR_INPUT, "there are %zu sequences, but \"k\" is %d", n,
                           (int)record->k);
    if (n < (size_t)record->k && !may_be_short(record))
        return status_fail(err, SB_ERR_INPUT,
                           "there are %zu sequences, but \"k\" is %d and \"exhausted\" is not true",
                           n, (int)record->k);
    return SB_OK;
}

static sb_status get_sequences(const json_value *root, sb_record *record, sb_error *err)
{
    const json_value *const array = find(root, "sequences", err);
    if (array == NULL)
        return SB_ERR_INPUT;
    const size_t n = json_n_items(array);
    if (!json_is_array(array))
        return status_fail(err, SB_ERR_INPUT, "\"sequences\" is not an array");
    sb_status status = check_count(record, n, err);
    if (status != SB_OK)
        return status;
    record->sequences = alloc_zeroed(n, sizeof *record->sequences);
    if (record->sequences == NULL)
        return status_no_memory(err);
    record->n_sequences = n;
    sb_error problem;
    size_t n_tokens = 0;
    for (size_t i = 0; i < n; i++) {
        if (get_sequence(json_item(array, i), &record->sequences[i], &problem) != SB_OK)
            return fail_sequence(i, &problem, err);
        n_tokens += record->sequences[i].n_tokens;
    }
    record->pool = alloc_array(n_tokens, sizeof *record->pool);
    if (record->pool == NULL)
        return status_no_memory(err);
    int32_t *next = record->pool;
    for (size_t i = 0; i < n; i++) {
        const json_value *const tokens = json_get(json_item(array, i), "tokens");
        if (get_tokens(tokens, next, &problem) != SB_OK)
            return fail_sequence(i, &problem, err);
        record->sequences[i].tokens = next;
        next += record->sequences[i].n_tokens;
    }
    return SB_OK;
}

/* Reads kappa. If a method with a threshold found every sequence, kappa is -inf, written as null. A
 * draw with a rule has no threshold. */
static sb_status get_kappa(const json_value *root, sb_record *record, sb_error *err)
{
    const sb_status status = get_number_or_null(root, "kappa", &record->kappa, err);
    const bool has_rule = record->stopped_by != SB_STOPPED_BY_NOTHING;
    if (status == SB_OK && has_rule && !isnan(record->kappa))
        return status_fail(err, SB_ERR_INPUT,
                           "\"kappa\" is a number though the draw has \"stopped_by\": it must be "
                           "null, because a draw that ends by a rule has no threshold");
    if (status != SB_OK || has_rule || !record->exhausted)
        return status;
    if (!isnan(record->kappa))
        return status_fail(err, SB_ERR_INPUT,
                           "\"kappa\" is a number though \"exhausted\" is true: it must be null");
    if (sb_method_get_info(record->method)->has_g)
        record->kappa = -INFINITY;
    return SB_OK;
}

/* Reads what names the draw: its numbers, input and method. */
static sb_status get_key(const json_value *root, sb_record *record, sb_error *err)
{
    uint64_t k = 0;
    sb_status status = get_whole(root, "stream", 0, UINT64_MAX, &record->stream, err);
    if (status == SB_OK)
        status = get_whole(root, "draw", 0, UINT64_MAX, &record->draw, err);
    if (status == SB_OK)
        status = get_count(root, "seed", &record->seed, err);
    if (status == SB_OK)
        status = get_text_or_null(root, "input", &record->input, &record->input_size, err);
    if (status == SB_OK)
        status = get_name_or_null(root, "model", &record->model, err);
    if (status == SB_OK)
        status = get_name_or_null(root, "allow", &record->allow, err);
    if (status == SB_OK)
        status = get_name_or_null(root, "version", &record->version, err);
    if (status == SB_OK)
        status = get_method(root, &record->method, err);
    if (status == SB_OK)
        status = get_whole(root, "k", 1, INT32_MAX, &k, err);
    record->k = (int32_t)k;
    return status;
}

/* Reads the numbers of the draw as a whole. */
static sb_status get_numbers(const json_value *root, sb_record *record, sb_error *err)
{
    sb_status status = get_number(root, "temperature", &record->temperature, err);
    if (status == SB_OK && !(record->temperature > 0))
        status = status_fail(err, SB_ERR_INPUT, "\"temperature\" is not above 0");
    if (status == SB_OK && sb_method_takes(record->method, "strength"))
        status = get_number(root, "strength", &record->strength, err);
    if (status == SB_OK)
        status = get_flag(root, "exhausted", &record->exhausted, err);
    if (status == SB_OK)
        status = get_flag(root, "complete", &record->complete, err);
    if (status == SB_OK)
        status = get_stopped_by(root, &record->stopped_by, err);
    if (status == SB_OK)
        status = get_kappa(root, record, err);
    if (status == SB_OK)
        status = get_number_or_null(root, "log_p_draw", &record->log_p_draw, err);
    if (status == SB_OK)
        status = get_count(root, "model_rows", &record->model_rows, err);
    if (status == SB_OK)
        status = get_count(root, "samples", &record->samples, err);
    return status == SB_OK ? get_count(root, "sampled_rows", &record->sampled_rows, err) : status;
}

static sb_status get_record(const json_value *root, sb_record *record, sb_error *err)
{
    if (json_is_true(json_get(root, "partial")))
        return status_fail(err, SB_ERR_INPUT,
                           "the line has \"partial\":true: it holds one sequence; expected the "
                           "record of a draw");
    sb_status status = get_key(root, record, err);
    if (status == SB_OK)
        status = get_numbers(root, record, err);
    if (status == SB_OK)
        status = record_settings_read(record, err);
    if (status == SB_OK)
        status = record_settings_check_rule(record, err);
    if (status == SB_OK)
        status = get_sequences(root, record, err);
    return status == SB_OK ? record_check(record, err) : status;
}

sb_status sb_record_read(sb_record *record, const char *line, size_t size, sb_error *err)
{
    if (record == NULL || line == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_record_read: record or line is NULL");
    *record = (sb_record){.strength = NAN, .kappa = NAN, .log_p_draw = NAN, .complete = true};
    json_value *root = NULL;
    sb_status status =
        json_line_parse(&root, line, size, "; expected records of sbeam draw -f jsonl", err);
    record->document = root;
    if (status == SB_OK && !json_is_object(root))
        status = status_fail(err, SB_ERR_INPUT, "not a record of sbeam draw -f jsonl");
    if (status == SB_OK)
        status = get_record(root, record, err);
    if (status != SB_OK)
        sb_record_close(record);
    return status;
}

void sb_record_close(sb_record *record)
{
    if (record == NULL)
        return;
    alloc_free(record->sequences);
    alloc_free(record->pool);
    alloc_free((char *)record->settings);
    alloc_free(record->ban);
    alloc_free(record->stop);
    json_close(record->document);
    *record = (sb_record){0};
}
