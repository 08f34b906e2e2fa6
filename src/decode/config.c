/* The option table of a draw: it has every scalar setting once, with its type, default, bounds,
 * help and the methods that take it. Defaults, checks, the command line and the bindings come from
 * this table (base/settings.h). */
#include "decode/config.h"

#include <stddef.h>
#include <string.h>

#include "base/settings.h"
#include "base/status.h"
#include "decode/method.h"

#define BIT(method)                  (1u << SB_METHOD_##method)
#define OR_BIT(suffix, c_name, name) | BIT(suffix)
#define ALL_METHODS                  (0u SB_METHOD_LIST(OR_BIT))

/* "sbs|beam|...": a bar before every name, without the first bar */
#define BAR_AND_NAME(suffix, c_name, name) "|" name
#define METHOD_NAMES                       (&SB_METHOD_LIST(BAR_AND_NAME)[1])

#define SETTING(name, kind, field, member, metavar, text, min, max, open, methods, help)           \
    {                                                                                              \
        {name, kind, metavar, text, min, max, open, methods, help}, field,                         \
            offsetof(sb_config, member)                                                            \
    }

static const struct setting settings[] = {
    SETTING("method", SB_OPTION_CHOICE, FIELD_ENUM, method, METHOD_NAMES, "sbs", 0, 0, false,
            ALL_METHODS, "how to draw"),
    SETTING("k", SB_OPTION_INT, FIELD_INT32, k, "N", "5", 1, 1e7, false, ALL_METHODS,
            "number of sequences"),
    SETTING("temperature", SB_OPTION_REAL, FIELD_DOUBLE, temperature, "X", "1", 1e-100, 1e100,
            false, ALL_METHODS, "divide the model's logits by X"),
    SETTING("seed", SB_OPTION_INT, FIELD_UINT64, seed, "S", "0", 0, 18446744073709551615.0, false,
            ALL_METHODS, "seed of the random noise"),
    SETTING("kappa", SB_OPTION_FLAG, FIELD_BOOL, kappa, NULL, "true", 0, 0, false, BIT(SBS),
            "find sequence k + 1, which gives the threshold kappa and the weights"),
    SETTING("max-len", SB_OPTION_INT, FIELD_INT32, max_len, "N", "200", 1, 1e6, false, ALL_METHODS,
            "maximum number of steps; a prefix of that length is complete"),
    SETTING("min-len", SB_OPTION_INT, FIELD_INT32, min_len, "N", "0", 0, 1e6, false, ALL_METHODS,
            "minimum number of tokens"),
    SETTING("top-k", SB_OPTION_INT, FIELD_INT32, top_k, "N", "0", 0, 2147483647, false, ALL_METHODS,
            "keep the N likeliest tokens at each step (0: all)"),
    SETTING("top-p", SB_OPTION_REAL, FIELD_DOUBLE, top_p, "X", "1", 0, 1, true, ALL_METHODS,
            "keep the fewest likeliest tokens with a total probability of at least X"),
    SETTING("min-p", SB_OPTION_REAL, FIELD_DOUBLE, min_p, "X", "0", 0, 1, false, ALL_METHODS,
            "keep tokens with at least X times the largest probability"),
    SETTING("finished", SB_OPTION_CHOICE, FIELD_ENUM, finished, "stay|leave", "stay", 0, 0, false,
            BIT(BEAM), "whether a finished hypothesis stays on the beam or leaves it"),
    SETTING("length-penalty", SB_OPTION_REAL, FIELD_DOUBLE, length_penalty, "A", "0", -10, 10,
            false, BIT(BEAM), "rank by log_p / length^A"),
    SETTING("early-stop", SB_OPTION_FLAG, FIELD_BOOL, early_stop, NULL, "false", 0, 0, false,
            BIT(BEAM), "end when k hypotheses have finished (leave) or the best one has (stay)"),
    SETTING("groups", SB_OPTION_INT, FIELD_INT32, groups, "G", "0", 0, 1e7, false, BIT(DIVERSE),
            "number of groups, a divisor of k (0: k groups of one)"),
    SETTING("strength", SB_OPTION_REAL, FIELD_DOUBLE, strength, "X", "0.5", 0, 1e300, false,
            BIT(DIVERSE), "penalty for each time that an earlier group chose the token"),
    SETTING("penalty", SB_OPTION_CHOICE, FIELD_ENUM, penalty, "path|step", "path", 0, 0, false,
            BIT(DIVERSE), "whether penalties add up over a sequence or count only at their step"),
    SETTING("search", SB_OPTION_CHOICE, FIELD_ENUM, search, "auto|level|best-first", "auto", 0, 0,
            false, BIT(SBS), "in which order to evaluate prefixes; the sequences are the same"),
    SETTING("parallel", SB_OPTION_INT, FIELD_INT32, parallel, "M", "auto", 1, 4096, false, BIT(SBS),
            "best-first search: number of prefixes of a draw that are evaluated together"),
    SETTING("until-mass", SB_OPTION_REAL, FIELD_DOUBLE, until_mass, "X", "none", 0, 1, true,
            BIT(SBS), "end when the sequences have a total probability of X"),
    SETTING("until-texts", SB_OPTION_INT, FIELD_INT32, until_texts, "N", "none", 1, 1e7, false,
            BIT(SBS), "end when the sequences have N different texts"),
    SETTING("max-samples", SB_OPTION_INT, FIELD_UINT64, max_samples, "N", "1000000", 1,
            9007199254740992.0, false, BIT(REJECT), "maximum number of samples before giving up"),
};

enum { N_SETTINGS = sizeof settings / sizeof *settings };

static const struct settings table = {settings, N_SETTINGS};

const sb_option *sb_config_option(size_t i)
{
    return settings_option(&table, i);
}

bool sb_method_takes(sb_method method, const char *option)
{
    const struct setting *const setting = option != NULL ? settings_find(&table, option) : NULL;
    return setting != NULL && method_get(method) != NULL &&
           (setting->option.methods >> method & 1) != 0;
}

sb_status config_check_temperature(double temperature, sb_error *err)
{
    return settings_check_number(&table, "temperature", temperature, err);
}

const char *sb_config_refusal(const sb_config *config, const char *option)
{
    const struct method *const method = config != NULL ? method_get(config->method) : NULL;
    const struct setting *const setting = option != NULL ? settings_find(&table, option) : NULL;
    if (method == NULL || setting == NULL || sb_method_takes(config->method, option))
        return NULL;
    sb_config defaults;
    sb_config_default(&defaults);
    const bool has_default = setting_is_equal(setting, config, &defaults);
    const bool changes_order =
        strcmp(option, "length-penalty") == 0 || strcmp(option, "early-stop") == 0;
    if (has_default || !changes_order || method->info.law == SB_LAW_DETERMINISTIC)
        return NULL;
    return "the sequences would no longer be a sample of the model's distribution";
}

static sb_status refuse(const sb_config *config, const sb_option *option, sb_error *err)
{
    const char *const method = sb_method_name(config->method);
    const char *const reason = sb_config_refusal(config, option->name);
    if (reason != NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "method %s refuses %s: %s", method, option->name,
                           reason);
    return status_fail(err, SB_ERR_ARGUMENT, "method %s has no option %s", method, option->name);
}

sb_status sb_config_check(const sb_config *config, sb_error *err)
{
    if (config == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_config_check: config is NULL");
    sb_config defaults;
    sb_config_default(&defaults);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const struct setting *const setting = &settings[i];
        const sb_status status = setting_check(setting, config, err);
        if (status != SB_OK)
            return status;
        if (!setting_is_equal(setting, config, &defaults) &&
            !(setting->option.methods >> config->method & 1))
            return refuse(config, &setting->option, err);
    }
    if (config->min_len > config->max_len)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "min-len is %d; expected at most max-len, which is %d", config->min_len,
                           config->max_len);
    if (config->groups > 0 && config->k % config->groups != 0)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "groups is %d; expected a divisor of k, which is %d", config->groups,
                           config->k);
    if (config->search == SB_SEARCH_LEVEL && config->parallel > 0)
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "parallel is %d, but search is level; expected best-first, because level "
            "search always evaluates a whole level together",
            config->parallel);
    if (config->search == SB_SEARCH_LEVEL && config_has_rule(config))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "%s needs search best-first, because level search finds all sequences "
                           "at its end",
                           config->until_mass > 0 ? "until-mass" : "until-texts");
    if ((config->n_ban > 0 && config->ban == NULL) || (config->n_stop > 0 && config->stop == NULL))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "ban or stop has a count but no list: the pointer is NULL");
    for (size_t i = 0; i < config->n_stop; i++)
        if (config->stop[i] == NULL || config->stop[i][0] == '\0')
            return status_fail(err, SB_ERR_ARGUMENT,
                               "a stop string is empty; expected text, because an empty string "
                               "would end every sequence");
    return SB_OK;
}

sb_status sb_config_set(sb_config *config, const char *name, const char *value, sb_error *err)
{
    if (config == NULL || name == NULL || value == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_config_set: config, name or value is NULL");
    return settings_set(&table, config, name, value, err);
}

sb_status sb_config_get(const sb_config *config, const char *name, char *text, size_t size,
                        sb_error *err)
{
    if (config == NULL || name == NULL || text == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_config_get: config, name or text is NULL");
    return settings_get(&table, config, name, text, size, err);
}

void sb_config_default(sb_config *config)
{
    memset(config, 0, sizeof *config);
    settings_default(&table, config);
}
