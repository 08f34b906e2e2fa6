/* The library's settings on the command line: how they are spelled, and their values.
 *
 * The tables of the library are joined to one list, in which each name occurs once. */
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/options.h"
#include "common/suggest.h"

static const struct {
    char letter;
    const char *name;
} shorthands[] = {{'k', "k"}, {'T', "temperature"}};

/* Reads a list of temperatures, separated by commas. The library checks each one. */
static sb_status set_temperatures(options *parsed, const char *list, sb_error *err)
{
    parsed->n_temperatures = 0;
    for (const char *item = list;; item++) {
        const size_t n = strcspn(item, ",");
        char text[64];
        if (n >= sizeof text || parsed->n_temperatures == MAX_TEMPERATURES) {
            sb_error_set(
                err, SB_ERR_ARGUMENT,
                "the list of temperatures has more than %d, or one of more than 63 characters",
                MAX_TEMPERATURES);
            return SB_ERR_ARGUMENT;
        }
        memcpy(text, item, n);
        text[n] = '\0';
        const sb_status status = sb_config_set(&parsed->config, "temperature", text, err);
        if (status != SB_OK)
            return status;
        parsed->temperatures[parsed->n_temperatures++] = parsed->config.temperature;
        item += n;
        if (*item == '\0')
            return SB_OK;
    }
}

static sb_status set_config(options *parsed, const char *name, const char *value, sb_error *err)
{
    return strcmp(name, "temperature") == 0 ? set_temperatures(parsed, value, err)
                                            : sb_config_set(&parsed->config, name, value, err);
}

static sb_status set_plan(options *parsed, const char *name, const char *value, sb_error *err)
{
    return sb_plan_set(&parsed->plan, name, value, err);
}

static sb_status set_bleu(options *parsed, const char *name, const char *value, sb_error *err)
{
    return sb_bleu_config_set(&parsed->bleu, name, value, err);
}

/* The first is that of sb_config, because `takes` of a command and the checks of methods number its
 * settings from 0. */
static const struct table {
    const sb_option *(*option)(size_t i);
    sb_status (*set)(options *parsed, const char *name, const char *value, sb_error *err);
} tables[] = {
    {sb_config_option, set_config}, {sb_plan_option, set_plan}, {sb_bleu_option, set_bleu}};

enum { N_TABLES = sizeof tables / sizeof tables[0] };

/* Returns setting i of the list and writes its table, or returns NULL if i is past the end. */
static const sb_option *find_setting(size_t i, const struct table **table)
{
    for (*table = tables; *table < tables + N_TABLES; ++*table) {
        size_t n = 0;
        while (n < i && (*table)->option(n) != NULL)
            n++;
        if ((*table)->option(n) != NULL)
            return (*table)->option(n);
        i -= n;
    }
    return NULL;
}

bool options_is_setting(const option *entry)
{
    return entry->metavar != NULL && *entry->metavar == '\0';
}

const sb_option *options_setting(size_t i)
{
    const struct table *table;
    return i < MAX_SETTINGS ? find_setting(i, &table) : NULL;
}

int options_find_setting(const char *name)
{
    const sb_option *setting;
    for (size_t i = 0; (setting = options_setting(i)) != NULL; i++)
        if (strcmp(setting->name, name) == 0)
            return (int)i;
    return -1;
}

bool options_has(const options *parsed, const char *name)
{
    const int place = options_find_setting(name);
    return place >= 0 && parsed->given[place];
}

char options_letter(const sb_option *setting)
{
    for (size_t i = 0; i < sizeof shorthands / sizeof shorthands[0]; i++)
        if (strcmp(shorthands[i].name, setting->name) == 0)
            return shorthands[i].letter;
    return 0;
}

static bool is_on_by_default(const sb_option *setting)
{
    return setting->type == SB_OPTION_FLAG && strcmp(setting->default_text, "true") == 0;
}

const char *options_spell(const sb_option *setting, char *buffer, size_t size)
{
    const size_t n = strlen("until-");
    if (strncmp(setting->name, "until-", n) == 0)
        snprintf(buffer, size, "until %s=%s", setting->name + n, setting->metavar);
    else
        snprintf(buffer, size, "%s%s", is_on_by_default(setting) ? "no-" : "", setting->name);
    return buffer;
}

bool options_apply_setting(options *parsed, int place)
{
    const struct table *table;
    const sb_option *const setting = find_setting((size_t)place, &table);
    const char *value = parsed->value;
    if (setting->type == SB_OPTION_FLAG)
        value = is_on_by_default(setting) ? "false" : "true";
    parsed->given[place] = true;
    sb_error err;
    if (table->set(parsed, setting->name, value, &err) == SB_OK)
        return true;
    char advice[96] = "";
    if (setting->type == SB_OPTION_CHOICE) /* its metavar lists the choices: "stay|leave" */
        suggest_advice(value, setting->metavar, advice, sizeof advice);
    parsed->exit_code = cli_usage(parsed->spec->command, "%s%s", err.message, advice);
    return false;
}
