/* Reads the settings of a record back: as one text, to compare records, and as a config, to repeat
 * the draw. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "record/record_settings.h"
#include "sbeam/format.h"
#include "text/json.h"

/* Settings without an option in the table of sb_config: of the model, and the list of banned tokens
 * and stop strings. */
static const char *const flags[] = {"no_kappa", "pretokenized", "special"};
static const char *const lists[] = {"ban", "stop"};

/* Writes the setting `key` as sb_config_set takes it, or "" if the record does not have it. */
static void get_setting(const json_value *root, const char *key, char text[SETTING_SIZE])
{
    const json_value *const value = json_get(root, key);
    char number[SB_NUMBER_SIZE];
    const char *found = "";
    if (json_is_string(value)) {
        found = json_text(value);
    } else if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer(value));
        found = number;
    } else if (json_is_number(value)) {
        sb_number_format(number, json_number(value));
        found = number;
    } else if (value != NULL) {
        found = json_is_true(value) ? "true" : "false";
    }
    snprintf(text, SETTING_SIZE, "%s", found);
}

/* --- the settings as text --- */

static void put_item(json_buffer *to, const char *key, const char *value)
{
    json_buffer_text(to, to->size > 0 ? ", " : "");
    json_buffer_text(to, key);
    json_buffer_text(to, " ");
    json_buffer_text(to, value);
}

/* Writes the value as records write it, whatever its form, and returns whether they would mention
 * it: two records of one draw have the same text. A value that is out of range stays as it is. */
static bool normalise(const sb_record *record, const sb_option *option, char value[SETTING_SIZE])
{
    sb_config config;
    sb_config_default(&config);
    if (sb_config_set(&config, option->name, value, NULL) != SB_OK)
        return true;
    if (strcmp(option->name, "groups") == 0 && config.groups == record->k)
        config.groups = 0; /* it stands for k groups */
    sb_config_get(&config, option->name, value, SETTING_SIZE, NULL);
    return strcmp(value, option->default_text) != 0;
}

static sb_status put_options(json_buffer *to, const sb_record *record, sb_error *err)
{
    const json_value *const root = record->document;
    const sb_option *option;
    for (size_t i = 0; (option = sb_config_option(i)) != NULL; i++) {
        char key[SETTING_SIZE], value[SETTING_SIZE];
        if (!sb_record_has_setting(option))
            continue;
        record_settings_key(option->name, key);
        const json_value *const found = json_get(root, key);
        if (found == NULL)
            continue;
        if (!json_is_string(found) && !json_is_number(found) && !json_is_boolean(found))
            return status_fail(err, SB_ERR_INPUT, "\"%s\" is not a setting", key);
        const bool changes_draw = strcmp(key, "search") != 0 && strcmp(key, "parallel") != 0;
        get_setting(root, key, value);
        if (normalise(record, option, value) && changes_draw)
            put_item(to, key, value);
    }
    return SB_OK;
}

static sb_status put_flags(json_buffer *to, const json_value *root, sb_error *err)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const json_value *const value = json_get(root, flags[i]);
        if (value != NULL && !json_is_boolean(value))
            return status_fail(err, SB_ERR_INPUT, "\"%s\" is neither true nor false", flags[i]);
        if (json_is_true(value))
            put_item(to, flags[i], "true");
    }
    return SB_OK;
}

/* Returns whether the value is a string without a zero byte. */
static bool is_plain_string(const json_value *value)
{
    return json_is_string(value) && strlen(json_text(value)) == json_text_size(value);
}

/* Checks that the items of the lists have the right types, because a skipped item would change the
 * distribution. A token without text is banned by its id. */
static sb_status put_lists(json_buffer *to, const json_value *root, sb_error *err)
{
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        const json_value *const array = json_get(root, lists[l]);
        if (array != NULL && !json_is_array(array))
            return status_fail(err, SB_ERR_INPUT, "\"%s\" is not an array", lists[l]);
        for (size_t i = 0; i < json_n_items(array); i++) {
            const json_value *const item = json_item(array, i);
            char id[32];
            if (!is_plain_string(item) && !(l == 0 && json_is_integer(item)))
                return status_fail(err, SB_ERR_INPUT, "\"%s\" is not an array of strings",
                                   lists[l]);
            snprintf(id, sizeof id, "%lld", (long long)json_integer(item));
            put_item(to, lists[l], json_is_string(item) ? json_text(item) : id);
        }
    }
    return SB_OK;
}

static sb_status put_marker(json_buffer *to, const json_value *root, sb_error *err)
{
    const json_value *const marker = json_get(root, "bpe_marker");
    if (marker == NULL)
        return SB_OK;
    if (!is_plain_string(marker))
        return status_fail(err, SB_ERR_INPUT, "\"bpe_marker\" is not a string");
    put_item(to, "bpe_marker", json_text(marker));
    return SB_OK;
}

sb_status record_settings_read(sb_record *record, sb_error *err)
{
    json_buffer text = {0};
    sb_status status = put_options(&text, record, err);
    if (status == SB_OK)
        status = put_flags(&text, record->document, err);
    if (status == SB_OK)
        status = put_marker(&text, record->document, err);
    if (status == SB_OK)
        status = put_lists(&text, record->document, err);
    if (status == SB_OK && record->allow != NULL)
        put_item(&text, "allow", record->allow);
    if (status == SB_OK && record->model != NULL)
        put_item(&text, "model", record->model);
    json_buffer_bytes(&text, "", 1);
    if (status == SB_OK && text.has_failed)
        status = status_no_memory(err);
    if (status == SB_OK)
        record->settings = text.data;
    else
        json_buffer_free(&text);
    return status;
}

/* --- the rules that end a draw --- */

/* Reads a rule of a record into *config, which has no other. Returns whether the record has this
 * rule, that is, a value other than "none". */
static bool get_rule(const sb_record *record, const char *name, sb_config *config)
{
    char key[SETTING_SIZE], value[SETTING_SIZE];
    sb_config_default(config);
    record_settings_key(name, key);
    if (json_get(record->document, key) == NULL)
        return false;
    get_setting(record->document, key, value);
    return sb_config_set(config, name, value, NULL) != SB_OK || config->until_mass > 0 ||
           config->until_texts > 0;
}

double record_settings_until_mass(const sb_record *record)
{
    sb_config config;
    get_rule(record, "until-mass", &config);
    return config.until_mass;
}

sb_status record_settings_check_rule(const sb_record *record, sb_error *err)
{
    sb_config config;
    const bool has_mass = get_rule(record, "until-mass", &config),
               has_texts = get_rule(record, "until-texts", &config);
    const sb_stopped_by reason = record->stopped_by;
    if (reason == SB_STOPPED_BY_NOTHING && (has_mass || has_texts))
        return status_fail(err, SB_ERR_INPUT,
                           "\"stopped_by\" is missing; expected it in a draw with \"%s\"",
                           has_mass ? "until_mass" : "until_texts");
    if (reason != SB_STOPPED_BY_NOTHING && !has_mass && !has_texts)
        return status_fail(err, SB_ERR_INPUT,
                           "\"stopped_by\" is \"%s\", but the draw has no rule: neither "
                           "\"until_mass\" nor \"until_texts\"",
                           sb_stopped_by_name(reason));
    if ((reason == SB_STOPPED_BY_MASS && !has_mass) ||
        (reason == SB_STOPPED_BY_TEXTS && !has_texts))
        return status_fail(err, SB_ERR_INPUT,
                           "\"stopped_by\" is \"%s\", but there is no \"until_%s\"",
                           sb_stopped_by_name(reason), sb_stopped_by_name(reason));
    if (reason == SB_STOPPED_BY_EXHAUSTED && !record->exhausted)
        return status_fail(err, SB_ERR_INPUT,
                           "\"stopped_by\" is \"exhausted\", but \"exhausted\" is not true");
    return SB_OK;
}

/* --- the settings as a config --- */

static sb_status get_bans(sb_record *record, const sb_model *model, sb_config *config,
                          sb_error *err)
{
    const json_value *const array = json_get(record->document, "ban");
    const size_t n = json_n_items(array);
    alloc_free(record->ban);
    record->ban = alloc_array(n, sizeof *record->ban);
    if (record->ban == NULL)
        return status_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const json_value *const item = json_item(array, i);
        const char *const text = json_text(item);
        const int64_t id =
            text != NULL ? sb_model_find_token(model, text, strlen(text)) : json_integer(item);
        if (id < 0 || id >= sb_model_get_info(model)->vocab_size)
            return status_fail(err, SB_ERR_INPUT, "\"ban\": the model has no token '%.100s'",
                               text != NULL ? text : "of this id");
        record->ban[i] = (int32_t)id;
    }
    config->ban = record->ban;
    config->n_ban = n;
    return SB_OK;
}

static sb_status get_stops(sb_record *record, sb_config *config, sb_error *err)
{
    const json_value *const array = json_get(record->document, "stop");
    const size_t n = json_n_items(array);
    alloc_free(record->stop);
    record->stop = alloc_array(n, sizeof *record->stop);
    if (record->stop == NULL)
        return status_no_memory(err);
    for (size_t i = 0; i < n; i++)
        record->stop[i] = json_text(json_item(array, i));
    config->stop = record->stop;
    config->n_stop = n;
    return SB_OK;
}

sb_status sb_record_get_config(sb_record *record, const sb_model *model, sb_config *config,
                               sb_error *err)
{
    if (record == NULL || model == NULL || config == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_record_get_config: record, model or config is NULL");
    if (record->allow != NULL && record->list == NULL)
        return status_fail(
            err, SB_ERR_INPUT,
            "the draw was limited to a list of permitted outputs, \"allow\":\"%.100s\"; "
            "it cannot be made again without the list",
            record->allow);
    sb_config made;
    sb_config_default(&made);
    made.allow = record->list;
    made.method = record->method;
    made.k = record->k;
    made.temperature = record->temperature;
    made.seed = record->seed;
    made.kappa = !json_is_true(json_get(record->document, "no_kappa"));
    const sb_option *option;
    for (size_t i = 0; (option = sb_config_option(i)) != NULL; i++) {
        char key[SETTING_SIZE], value[SETTING_SIZE];
        record_settings_key(option->name, key);
        if (!sb_record_has_setting(option) || json_get(record->document, key) == NULL)
            continue;
        get_setting(record->document, key, value);
        sb_error problem;
        if (sb_config_set(&made, option->name, value, &problem) != SB_OK)
            return status_fail(err, SB_ERR_INPUT, "%.400s", problem.message);
    }
    sb_status status = get_bans(record, model, &made, err);
    if (status == SB_OK)
        status = get_stops(record, &made, err);
    sb_error problem;
    if (status == SB_OK && sb_config_check(&made, &problem) != SB_OK)
        status = status_fail(err, SB_ERR_INPUT, "%.400s", problem.message);
    if (status == SB_OK)
        *config = made;
    return status;
}

sb_status sb_record_set_allow(sb_record *record, const sb_trie *allow, sb_error *err)
{
    if (record == NULL || allow == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_record_set_allow: record or allow is NULL");
    const char *const id = sb_trie_get_info(allow)->id;
    if (record->allow != NULL && strcmp(record->allow, id) != 0)
        return status_fail(err, SB_ERR_INPUT,
                           "the draw was limited to another list of permitted outputs: its "
                           "\"allow\" is %.100s, but the checksum of this list is %s",
                           record->allow, id);
    record->list = record->allow != NULL ? allow : NULL;
    return SB_OK;
}

sb_status sb_record_set_model(const sb_record *record, sb_model *model, sb_error *err)
{
    if (record == NULL || model == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_record_set_model: record or model is NULL");
    const char *const id = sb_model_get_info(model)->id;
    if (record->model != NULL && id != NULL && strcmp(record->model, id) != 0)
        return status_fail(err, SB_ERR_INPUT,
                           "the draw is from another model: its \"model\" is %.100s, but the "
                           "checksum of this model is %.100s",
                           record->model, id);
    if (record->version == NULL)
        return SB_OK; /* older versions did not record how the model read text */
    const json_value *const root = record->document;
    const bool pretokenized = json_is_true(json_get(root, "pretokenized"));
    sb_status status = sb_model_set_pretokenized(model, pretokenized, err);
    if (status == SB_OK)
        status = sb_model_set_special(model, json_is_true(json_get(root, "special")), err);
    if (status == SB_OK)
        status = sb_model_set_marker(model, json_text(json_get(root, "bpe_marker")), err);
    return status;
}
