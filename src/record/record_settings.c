/* Decides which settings a record mentions: those that change the distribution, have no key of
 * their own and are not at their default. So a new option of the table needs no change here, and
 * records of older versions stay readable. */
#include "record/record_settings.h"

#include <stdio.h>
#include <string.h>

#include "sbeam/record.h"

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
    snprintf(key, SETTING_SIZE, "%s", name);
    for (char *c = key; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
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

void record_settings_put(json_buffer *to, const sb_model *model, const sb_config *config)
{
    for (size_t i = 0; sb_config_option(i) != NULL; i++)
        if (sb_record_has_setting(sb_config_option(i)))
            put_setting(to, config, sb_config_option(i));
    put_ban(to, model, config);
    put_stop(to, config);
}
