/* The option table: it has every scalar setting once, with its type, default, bounds, help and the
 * methods that take it. Defaults, checks, the command line and the bindings come from this table.
 */
#include "decode/config.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "decode/method.h"

#define BIT(method)                  (1u << SB_METHOD_##method)
#define OR_BIT(suffix, c_name, name) | BIT(suffix)
#define ALL_METHODS                  (0u SB_METHOD_LIST(OR_BIT))

/* "sbs|beam|...": a bar before every name, without the first bar */
#define BAR_AND_NAME(suffix, c_name, name) "|" name
#define METHOD_NAMES                       (&SB_METHOD_LIST(BAR_AND_NAME)[1])

/* How a field is stored. */
enum field { FIELD_INT32, FIELD_UINT64, FIELD_DOUBLE, FIELD_BOOL, FIELD_ENUM };

struct setting {
    sb_option option;
    enum field field;
    size_t offset;
};

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
    SETTING("max-samples", SB_OPTION_INT, FIELD_UINT64, max_samples, "N", "1000000", 1,
            9007199254740992.0, false, BIT(REJECT), "maximum number of samples before giving up"),
};

enum { N_SETTINGS = sizeof settings / sizeof *settings };

static const struct setting *find_setting(const char *name)
{
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (strcmp(settings[i].option.name, name) == 0)
            return &settings[i];
    return NULL;
}

const sb_option *sb_config_option(size_t i)
{
    return i < N_SETTINGS ? &settings[i].option : NULL;
}

bool sb_method_takes(sb_method method, const char *option)
{
    const struct setting *const setting = option != NULL ? find_setting(option) : NULL;
    return setting != NULL && method_get(method) != NULL &&
           (setting->option.methods >> method & 1) != 0;
}

/* --- a field as a number: enums by their value, flags as 0 or 1 --- */

static double get_number(const sb_config *config, const struct setting *setting)
{
    const char *const at = (const char *)config + setting->offset;
    int32_t i;
    uint64_t u;
    double d;
    bool b;
    int e;
    switch (setting->field) {
    case FIELD_INT32: memcpy(&i, at, sizeof i); return i;
    case FIELD_UINT64: memcpy(&u, at, sizeof u); return (double)u;
    case FIELD_DOUBLE: memcpy(&d, at, sizeof d); return d;
    case FIELD_BOOL: memcpy(&b, at, sizeof b); return b;
    case FIELD_ENUM: memcpy(&e, at, sizeof e); return e;
    }
    return 0;
}

static void put_number(sb_config *config, const struct setting *setting, double value,
                       uint64_t integer)
{
    char *const at = (char *)config + setting->offset;
    const int32_t i = setting->field == FIELD_INT32 ? (int32_t)value : 0;
    const bool b = value != 0;
    const int e = setting->field == FIELD_ENUM ? (int)value : 0;
    switch (setting->field) {
    case FIELD_INT32: memcpy(at, &i, sizeof i); break;
    case FIELD_UINT64: memcpy(at, &integer, sizeof integer); break;
    case FIELD_DOUBLE: memcpy(at, &value, sizeof value); break;
    case FIELD_BOOL: memcpy(at, &b, sizeof b); break;
    case FIELD_ENUM: memcpy(at, &e, sizeof e); break;
    }
}

/* --- checking --- */

/* Returns the index of a word in "a|b|c", or -1. */
static int find_choice(const char *choices, const char *word)
{
    const size_t size = strlen(word);
    for (int number = 0;; number++) {
        const size_t length = strcspn(choices, "|");
        if (length == size && memcmp(choices, word, size) == 0)
            return number;
        if (choices[length] == '\0')
            return -1;
        choices += length + 1;
    }
}

static int count_choices(const char *choices)
{
    int n = 1;
    for (; *choices != '\0'; choices++)
        n += *choices == '|';
    return n;
}

static bool is_in_range(const sb_option *option, double value)
{
    if (option->type == SB_OPTION_CHOICE)
        return value >= 0 && value < count_choices(option->metavar);
    if (option->type == SB_OPTION_FLAG)
        return true;
    return value <= option->max && (option->open_min ? value > option->min : value >= option->min);
}

static sb_status out_of_range(const sb_option *option, const char *found, sb_error *err)
{
    if (option->type == SB_OPTION_CHOICE)
        return status_fail(err, SB_ERR_ARGUMENT, "%s is '%s'; expected %s", option->name, found,
                           option->metavar);
    if (option->type == SB_OPTION_FLAG)
        return status_fail(err, SB_ERR_ARGUMENT, "%s is '%s'; expected true or false", option->name,
                           found);
    char limit[40] = ""; /* a max of 1e300 means no limit */
    if (option->max < 1e300)
        snprintf(limit, sizeof limit, " and at most %.10g", option->max);
    return status_fail(err, SB_ERR_ARGUMENT, "%s is '%s'; expected %s %s %.10g%s", option->name,
                       found, option->type == SB_OPTION_INT ? "a whole number" : "a number",
                       option->open_min ? "above" : "of at least", option->min, limit);
}

sb_status config_check_temperature(double temperature, sb_error *err)
{
    const sb_option *const option = &find_setting("temperature")->option;
    if (is_in_range(option, temperature))
        return SB_OK;
    char found[40];
    snprintf(found, sizeof found, "%.17g", temperature);
    return out_of_range(option, found, err);
}

const char *sb_config_refusal(const sb_config *config, const char *option)
{
    const struct method *const method = config != NULL ? method_get(config->method) : NULL;
    const struct setting *const setting = option != NULL ? find_setting(option) : NULL;
    if (method == NULL || setting == NULL || sb_method_takes(config->method, option))
        return NULL;
    sb_config defaults;
    sb_config_default(&defaults);
    const bool has_default = get_number(config, setting) == get_number(&defaults, setting);
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
        const double value = get_number(config, setting);
        if (!is_in_range(&setting->option, value)) {
            char found[40];
            snprintf(found, sizeof found, "%.17g", value);
            return out_of_range(&setting->option, found, err);
        }
        if (value != get_number(&defaults, setting) &&
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

/* --- from text --- */

/* Reads a whole number exactly, up to 2^64 - 1. */
static bool read_integer(const char *text, uint64_t *value)
{
    *value = 0;
    if (*text == '\0')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    return *text == '\0';
}

static bool read_value(const sb_option *option, const char *text, double *number, uint64_t *integer)
{
    *integer = 0;
    switch (option->type) {
    case SB_OPTION_INT:
        if (!read_integer(text, integer))
            return false;
        *number = (double)*integer;
        return true;
    case SB_OPTION_REAL: return decimal_parse(text, strlen(text), number);
    case SB_OPTION_FLAG:
        *number = strcmp(text, "true") == 0;
        return *number != 0 || strcmp(text, "false") == 0;
    case SB_OPTION_CHOICE: *number = find_choice(option->metavar, text); return *number >= 0;
    }
    return false;
}

sb_status sb_config_set(sb_config *config, const char *name, const char *value, sb_error *err)
{
    if (config == NULL || name == NULL || value == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_config_set: config, name or value is NULL");
    const struct setting *const setting = find_setting(name);
    if (setting == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "there is no option '%s'", name);
    double number;
    uint64_t integer;
    if (!read_value(&setting->option, value, &number, &integer) ||
        !is_in_range(&setting->option, number))
        return out_of_range(&setting->option, value, err);
    put_number(config, setting, number, integer);
    return SB_OK;
}

/* Writes the fewest digits (15 to 17) that read back as the same double, with a point in every
 * locale. */
static void write_shortest(char *text, size_t size, double x)
{
    double back = NAN;
    for (int digits = 15; digits <= 17 && back != x; digits++) {
        char written[40];
        snprintf(written, sizeof written, "%.*g", digits, x);
        for (char *c = written; *c != '\0'; c++)
            if (strchr("+-.e0123456789", *c) == NULL)
                *c = '.';
        decimal_parse(written, strlen(written), &back);
        snprintf(text, size, "%s", written);
    }
}

/* Copies word number `number` of "a|b|c". */
static void copy_choice(const char *choices, int number, char *text, size_t size)
{
    for (; number > 0; number--)
        choices += strcspn(choices, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

sb_status sb_config_get(const sb_config *config, const char *name, char *text, size_t size,
                        sb_error *err)
{
    if (config == NULL || name == NULL || text == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_config_get: config, name or text is NULL");
    const struct setting *const setting = find_setting(name);
    if (setting == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "there is no option '%s'", name);
    const double number = get_number(config, setting);
    uint64_t integer;
    switch (setting->field) {
    case FIELD_INT32: snprintf(text, size, "%d", (int)number); break;
    case FIELD_UINT64:
        memcpy(&integer, (const char *)config + setting->offset, sizeof integer);
        snprintf(text, size, "%llu", (unsigned long long)integer);
        break;
    case FIELD_DOUBLE: write_shortest(text, size, number); break;
    case FIELD_BOOL: snprintf(text, size, "%s", number != 0 ? "true" : "false"); break;
    case FIELD_ENUM: copy_choice(setting->option.metavar, (int)number, text, size); break;
    }
    return SB_OK;
}

void sb_config_default(sb_config *config)
{
    memset(config, 0, sizeof *config);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const sb_option *const option = &settings[i].option;
        double number = 0;
        uint64_t integer = 0;
        read_value(option, option->default_text, &number, &integer);
        put_number(config, &settings[i], number, integer);
    }
}
