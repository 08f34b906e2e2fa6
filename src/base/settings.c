#include "base/settings.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/status.h"
#include "base/utf8.h"

enum { MEGABYTE = 1 << 20 };

const struct setting *settings_find(const struct settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->n; i++)
        if (strcmp(settings->list[i].option.name, name) == 0)
            return &settings->list[i];
    return NULL;
}

const sb_option *settings_option(const struct settings *settings, size_t i)
{
    return i < settings->n ? &settings->list[i].option : NULL;
}

/* --- a field as a number: enums by their value, flags as 0 or 1 --- */

static double get_number(const void *object, const struct setting *setting)
{
    const char *const at = (const char *)object + setting->offset;
    int32_t i;
    uint64_t u;
    double d;
    size_t bytes;
    bool b;
    int e;
    switch (setting->field) {
    case FIELD_INT32: memcpy(&i, at, sizeof i); return i;
    case FIELD_UINT64: memcpy(&u, at, sizeof u); return (double)u;
    case FIELD_DOUBLE: memcpy(&d, at, sizeof d); return d;
    case FIELD_BOOL: memcpy(&b, at, sizeof b); return b;
    case FIELD_ENUM: memcpy(&e, at, sizeof e); return e;
    case FIELD_MEGABYTES: memcpy(&bytes, at, sizeof bytes); return (double)bytes / MEGABYTE;
    }
    return 0;
}

static void put_number(void *object, const struct setting *setting, double value, uint64_t integer)
{
    char *const at = (char *)object + setting->offset;
    const int32_t i = setting->field == FIELD_INT32 ? (int32_t)value : 0;
    const size_t bytes = (size_t)integer * MEGABYTE;
    const bool b = value != 0;
    const int e = setting->field == FIELD_ENUM ? (int)value : 0;
    switch (setting->field) {
    case FIELD_INT32: memcpy(at, &i, sizeof i); break;
    case FIELD_UINT64: memcpy(at, &integer, sizeof integer); break;
    case FIELD_DOUBLE: memcpy(at, &value, sizeof value); break;
    case FIELD_BOOL: memcpy(at, &b, sizeof b); break;
    case FIELD_ENUM: memcpy(at, &e, sizeof e); break;
    case FIELD_MEGABYTES: memcpy(at, &bytes, sizeof bytes); break;
    }
}

bool setting_is_equal(const struct setting *setting, const void *a, const void *b)
{
    return get_number(a, setting) == get_number(b, setting);
}

/* --- checking --- */

/* Returns the index of a word in "a|b|c", or -1. */
static int find_choice(const char *choices, const char *word)
{
    const size_t size = strlen(word);
    for (int place = 0;; place++) {
        const size_t length = strcspn(choices, "|");
        if (length == size && memcmp(choices, word, size) == 0)
            return place;
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

/* Returns whether the option is a number whose default is a word, such as "auto". The word stands
 * for 0, which is not a value of the option otherwise. */
static bool has_word(const sb_option *option)
{
    const bool is_number = option->type == SB_OPTION_INT || option->type == SB_OPTION_REAL;
    return is_number && option->default_text != NULL && option->default_text[0] >= 'a';
}

enum { NUMBER_SIZE = 40 }; /* more than the longest whole number of a setting, or "%.17g", needs */

/* Writes a bound or a value of a setting. Whole numbers have all their digits: 2^64 - 1 is not
 * written as a double, which would be 2^64. */
static void print_number(const sb_option *option, double number, int digits, char *text)
{
    if (option->type == SB_OPTION_INT && number >= 0x1p64)
        snprintf(text, NUMBER_SIZE, "%llu", (unsigned long long)UINT64_MAX);
    else if (option->type == SB_OPTION_INT)
        snprintf(text, NUMBER_SIZE, "%.0f", number);
    else
        snprintf(text, NUMBER_SIZE, "%.*g", digits, number);
}

static sb_status out_of_range(const sb_option *option, const char *found, sb_error *err)
{
    const int n = utf8_excerpt(found, strlen(found));
    if (option->type == SB_OPTION_CHOICE)
        return status_fail(err, SB_ERR_ARGUMENT, "%s is '%.*s'; expected %s", option->name, n,
                           found, option->metavar);
    if (option->type == SB_OPTION_FLAG)
        return status_fail(err, SB_ERR_ARGUMENT, "%s is '%.*s'; expected true or false",
                           option->name, n, found);
    const bool has_max = option->max < 1e300;
    char min[NUMBER_SIZE], max[NUMBER_SIZE] = "";
    print_number(option, option->min, 10, min);
    if (has_max)
        print_number(option, option->max, 10, max);
    return status_fail(err, SB_ERR_ARGUMENT, "%s is '%.*s'; expected %s %s %s%s%s", option->name, n,
                       found, option->type == SB_OPTION_INT ? "a whole number" : "a number",
                       option->open_min ? "above" : "of at least", min,
                       has_max ? " and at most " : "", max);
}

static sb_status check_number(const sb_option *option, double number, sb_error *err)
{
    if (is_in_range(option, number))
        return SB_OK;
    char found[NUMBER_SIZE];
    print_number(option, number, 17, found);
    return out_of_range(option, found, err);
}

sb_status setting_check(const struct setting *setting, const void *object, sb_error *err)
{
    const double number = get_number(object, setting);
    uint64_t integer;
    char found[NUMBER_SIZE];
    if (number == 0 && has_word(&setting->option))
        return SB_OK;
    if (setting->field != FIELD_UINT64 || is_in_range(&setting->option, number))
        return check_number(&setting->option, number, err);
    memcpy(&integer, (const char *)object + setting->offset, sizeof integer);
    snprintf(found, sizeof found, "%llu", (unsigned long long)integer);
    return out_of_range(&setting->option, found, err);
}

sb_status settings_check_number(const struct settings *settings, const char *name, double number,
                                sb_error *err)
{
    return check_number(&settings_find(settings, name)->option, number, err);
}

/* --- from text, and as text --- */

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

sb_status settings_set(const struct settings *settings, void *object, const char *name,
                       const char *value, sb_error *err)
{
    const struct setting *const setting = settings_find(settings, name);
    if (setting == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "there is no option '%.*s'",
                           utf8_excerpt(name, strlen(name)), name);
    double number = 0;
    uint64_t integer = 0;
    const bool is_word =
        has_word(&setting->option) && strcmp(value, setting->option.default_text) == 0;
    if (!is_word && (!read_value(&setting->option, value, &number, &integer) ||
                     !is_in_range(&setting->option, number)))
        return out_of_range(&setting->option, value, err);
    put_number(object, setting, number, integer);
    return SB_OK;
}

void settings_default(const struct settings *settings, void *object)
{
    for (size_t i = 0; i < settings->n; i++) {
        const sb_option *const option = &settings->list[i].option;
        double number = 0;
        uint64_t integer = 0;
        if (option->default_text != NULL &&
            read_value(option, option->default_text, &number, &integer))
            put_number(object, &settings->list[i], number, integer);
    }
}

/* Copies word number `place` of "a|b|c". */
static void copy_choice(const char *choices, int place, char *text, size_t size)
{
    for (; place > 0; place--)
        choices += strcspn(choices, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(choices, "|"), choices);
}

sb_status settings_get(const struct settings *settings, const void *object, const char *name,
                       char *text, size_t size, sb_error *err)
{
    const struct setting *const setting = settings_find(settings, name);
    if (setting == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "there is no option '%.*s'",
                           utf8_excerpt(name, strlen(name)), name);
    const double number = get_number(object, setting);
    uint64_t integer;
    char decimal[SB_NUMBER_SIZE];
    if (number == 0 && has_word(&setting->option)) {
        snprintf(text, size, "%s", setting->option.default_text);
        return SB_OK;
    }
    switch (setting->field) {
    case FIELD_INT32: snprintf(text, size, "%d", (int)number); break;
    case FIELD_UINT64:
        memcpy(&integer, (const char *)object + setting->offset, sizeof integer);
        snprintf(text, size, "%llu", (unsigned long long)integer);
        break;
    case FIELD_DOUBLE:
        decimal_print(decimal, number);
        snprintf(text, size, "%s", decimal);
        break;
    case FIELD_BOOL: snprintf(text, size, "%s", number != 0 ? "true" : "false"); break;
    case FIELD_ENUM: copy_choice(setting->option.metavar, (int)number, text, size); break;
    case FIELD_MEGABYTES: snprintf(text, size, "%.0f", ceil(number)); break;
    }
    return SB_OK;
}
