/* Reads records. It requires everything that sb_record_write always writes, because estimates from
 * a draw that was cut or edited by hand would be wrong but look right. text/json.h checks the JSON;
 * it refuses NaN and numbers that are too large for a double. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "record/record_settings.h"
#include "sbeam/format.h"
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
    const int64_t number = json_integer(value);
    if (!json_is_integer(value) || number < 0 || (uint64_t)number < min || (uint64_t)number > max)
        return status_fail(err, SB_ERR_INPUT, "\"%s\" is not a whole number from %llu to %llu", key,
                           (unsigned long long)min, (unsigned long long)max);
    *n = (uint64_t)number;
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

static sb_status get_method(const json_value *root, sb_method *method, sb_error *err)
{
    const char *name = "";
    size_t size = 0;
    const sb_status status = get_text(root, "method", &name, &size, err);
    if (status != SB_OK)
        return status;
    if (sb_method_find(name, method))
        return SB_OK;
    return status_fail(err, SB_ERR_INPUT, "\"method\" is \"%.100s\", which is not a method", name);
}

static sb_status get_sequence(const json_value *object, sb_record_sequence *sequence, sb_error *err)
{
    if (!json_is_object(object))
        return status_fail(err, SB_ERR_INPUT, "not an object");
    sb_status status = SB_OK;
    const json_value *const text = json_get(object, "text");
    if (text != NULL && !json_is_null(text))
        status = get_text(object, "text", &sequence->text, &sequence->text_size, err);
    const json_value *const tokens = status == SB_OK ? find(object, "tokens", err) : NULL;
    if (tokens == NULL)
        return SB_ERR_INPUT;
    if (!json_is_array(tokens))
        return status_fail(err, SB_ERR_INPUT, "\"tokens\" is not an array of token ids");
    sequence->n_tokens = json_n_items(tokens);
    status = get_number(object, "log_p", &sequence->log_p, err);
    if (status != SB_OK)
        return status;
    return get_number_or_null(object, "g", &sequence->g, err);
}

/* Returns whether there may be fewer than k sequences: the model has no more, or the method may
 * find fewer. */
static bool may_be_short(const sb_record *record)
{
    const sb_method_info *const method = sb_method_get_info(record->method);
    switch (method->law) {
    case SB_LAW_INDEPENDENT: return false;
    case SB_LAW_WITHOUT_REPLACEMENT:
        return record->exhausted || (method->counts_samples && !record->complete);
    default: return true;
    }
}

static sb_status get_sequences(const json_value *root, sb_record *record, sb_error *err)
{
    const json_value *const array = find(root, "sequences", err);
    if (array == NULL)
        return SB_ERR_INPUT;
    const size_t n = json_n_items(array);
    if (!json_is_array(array))
        return status_fail(err, SB_ERR_INPUT, "\"sequences\" is not an array");
    if (n > (size_t)record->k)
        return status_fail(err, SB_ERR_INPUT, "there are %zu sequences, but \"k\" is %d", n,
                           (int)record->k);
    if (n < (size_t)record->k && !may_be_short(record))
        return status_fail(err, SB_ERR_INPUT,
                           "there are %zu sequences, but \"k\" is %d and \"exhausted\" is not true",
                           n, (int)record->k);
    record->sequences = alloc_zeroed(n, sizeof *record->sequences);
    if (record->sequences == NULL)
        return status_no_memory(err);
    record->n_sequences = n;
    for (size_t i = 0; i < n; i++) {
        sb_error problem;
        const sb_status status = get_sequence(json_item(array, i), &record->sequences[i], &problem);
        if (status != SB_OK)
            return status_fail(err, status, "sequence %zu: %.400s", i + 1, problem.message);
    }
    return SB_OK;
}

/* Checks that `key`, if it is present, holds only strings: if one were skipped by mistake, the
 * exact value would be that of another distribution. */
static sb_status check_strings(const json_value *root, const char *key, sb_error *err)
{
    const json_value *const array = json_get(root, key);
    bool is_fine = array == NULL || json_is_array(array);
    for (size_t i = 0; is_fine && i < json_n_items(array); i++) {
        const json_value *const item = json_item(array, i);
        is_fine = json_is_string(item) &&
                  strlen(json_text(item)) == json_text_size(item); /* no zero byte */
    }
    if (is_fine)
        return SB_OK;
    return status_fail(err, SB_ERR_INPUT, "\"%s\" is not an array of strings", key);
}

/* Reads kappa. If a method with a threshold found every sequence, kappa is -inf, written as null.
 */
static sb_status get_kappa(const json_value *root, sb_record *record, sb_error *err)
{
    const sb_status status = get_number_or_null(root, "kappa", &record->kappa, err);
    if (status != SB_OK || !record->exhausted)
        return status;
    if (!isnan(record->kappa))
        return status_fail(err, SB_ERR_INPUT,
                           "\"kappa\" is a number though \"exhausted\" is true: it must be null");
    if (sb_method_get_info(record->method)->has_g)
        record->kappa = -INFINITY;
    return SB_OK;
}

static sb_status get_record(const json_value *root, sb_record *record, sb_error *err)
{
    uint64_t k = 0;
    sb_status status = get_whole(root, "stream", 0, INT64_MAX, &record->stream, err);
    if (status == SB_OK)
        status = get_whole(root, "draw", 0, INT64_MAX, &record->draw, err);
    if (status == SB_OK)
        status = get_text(root, "input", &record->input, &record->input_size, err);
    if (status == SB_OK)
        status = get_method(root, &record->method, err);
    if (status == SB_OK)
        status = get_whole(root, "k", 1, INT32_MAX, &k, err);
    record->k = (int32_t)k;
    if (status == SB_OK)
        status = get_number(root, "temperature", &record->temperature, err);
    if (status == SB_OK && !(record->temperature > 0))
        status = status_fail(err, SB_ERR_INPUT, "\"temperature\" is not above 0");
    if (status == SB_OK && sb_method_takes(record->method, "strength"))
        status = get_number(root, "strength", &record->strength, err);
    if (status == SB_OK)
        status = get_flag(root, "exhausted", &record->exhausted, err);
    if (status == SB_OK)
        status = get_flag(root, "complete", &record->complete, err);
    if (status == SB_OK)
        status = get_kappa(root, record, err);
    if (status == SB_OK)
        status = check_strings(root, "ban", err);
    if (status == SB_OK)
        status = check_strings(root, "stop", err);
    return status == SB_OK ? get_sequences(root, record, err) : status;
}

sb_status sb_record_read(sb_record *record, const char *line, size_t size, sb_error *err)
{
    if (record == NULL || line == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_record_read: record or line is NULL");
    *record = (sb_record){.strength = NAN, .kappa = NAN, .complete = true};
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
    json_close(record->document);
    *record = (sb_record){0};
}

const char *sb_record_setting(const sb_record *record, const char *name, char *text, size_t size)
{
    char key[SETTING_SIZE];
    record_settings_key(name, key);
    const json_value *const value = json_get(record->document, key);
    char number[SB_NUMBER_SIZE];
    const char *found = "";
    if (json_is_string(value)) {
        found = json_text(value);
    } else if (json_is_number(value)) {
        if (json_is_integer(value))
            snprintf(number, sizeof number, "%lld", (long long)json_integer(value));
        else
            sb_number_format(number, json_number(value));
        found = number;
    } else if (value != NULL) {
        found = json_is_true(value) ? "true" : "false";
    }
    snprintf(text, size, "%s", found);
    return text;
}

const char *sb_record_item(const sb_record *record, const char *key, size_t i)
{
    return json_text(json_item(json_get(record->document, key), i));
}
