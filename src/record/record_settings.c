/* Decides which settings a record mentions: those that change the draw, have no key of their own
 * and are not at their default. So a new option of the table needs no change here, and records of
 * older versions stay readable. record_config.c reads them back. */
#include "record/record_settings.h"

#include <string.h>

#include "sbeam/version.h"

bool sb_record_has_setting(const sb_option *option)
{
    static const char *const others[] = {"method", "k", "temperature", "seed", "kappa"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(option->name, others[i]) == 0)
            return false;
    return true;
}

void record_settings_key(const char *name, char key[SETTING_SIZE])
{
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < SETTING_SIZE; i++)
        key[i] = name[i] == '-' ? '_' : name[i];
    key[i] = '\0';
}

/* Returns whether the method shows the setting even at its default. */
static bool is_always_shown(const sb_config *config, const sb_option *option)
{
    return sb_method_takes(config->method, option->name) &&
           (strcmp(option->name, "groups") == 0 || strcmp(option->name, "strength") == 0);
}

static void put_setting(json_buffer *to, const sb_config *config, const sb_option *option)
{
    char key[SETTING_SIZE], value[SETTING_SIZE];
    sb_config_get(config, option->name, value, sizeof value, NULL);
    if (strcmp(value, option->default_text) == 0 && !is_always_shown(config, option))
        return;
    record_settings_key(option->name, key);
    json_buffer_text(to, ",\"");
    json_buffer_text(to, key);
    json_buffer_text(to, "\":");
    if (strcmp(option->name, "groups") == 0 && config->groups == 0)
        json_buffer_whole(to, (uint64_t)config->k); /* 0 stands for k groups */
    else if (option->type == SB_OPTION_CHOICE)
        json_buffer_string(to, value, strlen(value));
    else
        json_buffer_text(to, value);
}

static void put_ban(json_buffer *to, const sb_model *model, const sb_config *config)
{
    for (size_t i = 0; i < config->n_ban; i++) {
        const int32_t token = config->ban[i];
        const char *const text = model != NULL ? sb_model_token_text(model, token) : NULL;
        json_buffer_text(to, i == 0 ? ",\"ban\":[" : ",");
        if (text != NULL)
            json_buffer_string(to, text, strlen(text));
        else
            json_buffer_whole(to, (uint64_t)token);
    }
    if (config->n_ban > 0)
        json_buffer_text(to, "]");
}

static void put_stop(json_buffer *to, const sb_config *config)
{
    for (size_t i = 0; i < config->n_stop; i++) {
        json_buffer_text(to, i == 0 ? ",\"stop\":[" : ",");
        json_buffer_string(to, config->stop[i], strlen(config->stop[i]));
    }
    if (config->n_stop > 0)
        json_buffer_text(to, "]");
}

static void put_allow(json_buffer *to, const sb_config *config)
{
    if (config->allow == NULL)
        return;
    const char *const id = sb_trie_get_info(config->allow)->id;
    json_buffer_text(to, ",\"allow\":");
    json_buffer_string(to, id, strlen(id));
}

/* Appends how the model reads text, and what identifies it. */
static void put_model(json_buffer *to, const sb_model *model)
{
    if (sb_model_is_pretokenized(model))
        json_buffer_text(to, ",\"pretokenized\":true");
    if (sb_model_is_special(model))
        json_buffer_text(to, ",\"special\":true");
    const char *const marker = sb_model_get_marker(model), *const id = sb_model_get_info(model)->id;
    if (marker != NULL) {
        json_buffer_text(to, ",\"bpe_marker\":");
        json_buffer_string(to, marker, strlen(marker));
    }
    if (id != NULL) {
        json_buffer_text(to, ",\"model\":");
        json_buffer_string(to, id, strlen(id));
    }
}

void record_settings_put(json_buffer *to, const sb_model *model, const sb_config *config)
{
    for (size_t i = 0; sb_config_option(i) != NULL; i++)
        if (sb_record_has_setting(sb_config_option(i)))
            put_setting(to, config, sb_config_option(i));
    if (!config->kappa) /* "kappa" is the key of the threshold */
        json_buffer_text(to, ",\"no_kappa\":true");
    put_ban(to, model, config);
    put_stop(to, config);
    put_allow(to, config);
    if (model != NULL)
        put_model(to, model);
    json_buffer_text(to, ",\"version\":\"");
    json_buffer_text(to, sb_version());
    json_buffer_text(to, "\"");
}
