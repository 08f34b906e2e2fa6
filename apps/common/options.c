/* Parses GNU-style options from tables: --name=value, --name value, -k5, -k 5.
 *
 * Tables are searched in this order: the command's own options, those of commands with a model,
 * those of all commands, and the library's settings. Abbreviated long options are refused, because
 * a script that uses one would break when an option with the same beginning is added. */
#include "common/options.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/suggest.h"
#include "common/utf.h"

enum { MODEL_FILE, MODEL_PRETOKENIZED, MODEL_SPECIAL, MODEL_MARKER };

const option options_of_models[] = {
    [MODEL_FILE] =
        {"model", 'm', "FILE",
         "the model (default: $SBEAM_MODEL, then the English-French model that comes with sbeam)"},
    [MODEL_PRETOKENIZED] =
        {"pretokenized", 0, NULL,
         "inputs and outputs are the model's tokens, separated by spaces, as those of "
         "tree, chain and ARPA models always are"},
    [MODEL_SPECIAL] = {"special", 0, NULL,
                       "names of special tokens in a prompt, such as </s>, are these tokens, not "
                       "text (GGUF models)"},
    [MODEL_MARKER] = {"bpe-marker", 0, "S", "join output pieces that end in S: \"mam@@ mal\""},
    {"threads", 0, LIBRARY_SETTING, NULL},
    {0},
};

static const option common_options[] = {
    {"format", 'f', "FORMAT", "format of the output"},
    {"help", 'h', NULL, "print this page"},
    {0},
};

typedef enum found_where {
    FOUND_NONE,
    FOUND_OWN,
    FOUND_MODEL,
    FOUND_COMMON,
    FOUND_SETTING
} found_where;

/* An option as it was written, and its entry in one of the tables. */
typedef struct found_option {
    found_where where;
    int place; /* index in that table */
    bool takes_value;
    const char *metavar;
    char shown[64]; /* with its dashes */
} found_option;

int options_find_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    for (int place = 0; *words != '\0'; place++) {
        const size_t n = strcspn(words, "|");
        if (n == length && memcmp(words, word, n) == 0)
            return place;
        words += n + (words[n] == '|');
    }
    return -1;
}

static bool matches(const char *name, char letter, const char *long_name, char short_name)
{
    return long_name != NULL ? strcmp(name, long_name) == 0 : letter != 0 && letter == short_name;
}

/* Returns the index in a table, or -1. */
static int find_in(const option *table, const char *long_name, char short_name)
{
    for (int i = 0; table[i].name != NULL; i++)
        if (matches(table[i].name, table[i].letter, long_name, short_name))
            return i;
    return -1;
}

/* Returns `found` as setting number `place` of the library. */
static found_option found_setting(const found_option *found, int place)
{
    const sb_option *const setting = options_setting((size_t)place);
    found_option completed = *found;
    completed.where = FOUND_SETTING;
    completed.place = place;
    completed.metavar = setting->metavar;
    completed.takes_value = setting->type != SB_OPTION_FLAG;
    return completed;
}

/* Looks for --long_name, or for -short_name if long_name is NULL. */
static found_option find_option(const option_spec *spec, const char *long_name, char short_name)
{
    const struct {
        const option *table;
        found_where where;
    } tables[] = {{spec->own, FOUND_OWN},
                  {spec->takes_model ? options_of_models : NULL, FOUND_MODEL},
                  {common_options, FOUND_COMMON}};
    found_option found = {.where = FOUND_NONE};
    if (long_name != NULL)
        snprintf(found.shown, sizeof found.shown, "--%s", long_name);
    else
        snprintf(found.shown, sizeof found.shown, "-%c", short_name);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const int place = tables[i].table ? find_in(tables[i].table, long_name, short_name) : -1;
        if (place < 0)
            continue;
        const option *const entry = &tables[i].table[place];
        if (options_is_setting(entry))
            return found_setting(&found, options_find_setting(entry->name));
        found.where = tables[i].where;
        found.place = place;
        found.metavar = entry->metavar;
        found.takes_value = entry->metavar != NULL;
        return found;
    }
    const sb_option *setting;
    for (int i = 0; (setting = sb_config_option((size_t)i)) != NULL && i < MAX_SETTINGS; i++) {
        char spelt[64];
        options_spell(setting, spelt, sizeof spelt);
        if (spec->takes != NULL && spec->takes(setting) &&
            matches(spelt, options_letter(setting), long_name, short_name))
            return found_setting(&found, i);
    }
    return found;
}

void options_open(options *parsed, const option_spec *spec, int argc, char **argv)
{
    *parsed = (options){.spec = spec, .argc = argc, .argv = argv, .next = 1};
    sb_config_default(&parsed->config);
    sb_plan_default(&parsed->plan);
    sb_bleu_config_default(&parsed->bleu);
}

/* Finds the long option that is closest to `word`, which has no dashes. Writes it to `buffer` and
 * returns it, or returns NULL if none is close. */
static const char *suggest_option(const option_spec *spec, const char *word, char *buffer,
                                  size_t size)
{
    const option *const tables[] = {spec->own, spec->takes_model ? options_of_models : NULL,
                                    common_options};
    char spelt[MAX_SETTINGS][64];
    suggestion closest = {.word = word};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (const option *o = tables[i]; o != NULL && o->name != NULL; o++)
            suggest_offer(&closest, o->name);
    const sb_option *setting;
    for (size_t i = 0; (setting = sb_config_option(i)) != NULL && i < MAX_SETTINGS; i++)
        if (spec->takes != NULL && spec->takes(setting))
            suggest_offer(&closest, options_spell(setting, spelt[i], sizeof spelt[i]));
    if (closest.best == NULL)
        return NULL;
    snprintf(buffer, size, "%s", closest.best);
    return buffer;
}

/* Reports an unknown option, written `shown`, with the option that was probably meant. Returns the
 * exit code. */
static int refuse_unknown(const options *parsed, const char *shown)
{
    const option_spec *const spec = parsed->spec;
    const char *name = NULL;
    const char *const advice = suggest_for_habit(shown, &name);
    if (advice != NULL && (name == NULL || find_option(spec, name, 0).where != FOUND_NONE))
        return cli_usage(spec->command, "unknown option '%s': %s", shown, advice);
    const bool is_long = shown[1] == '-';
    const char *const word = parsed->argv[parsed->next - 1]; /* such as "-seed" for -s */
    char meant[64];
    if (is_long && suggest_option(spec, shown + 2, meant, sizeof meant) != NULL)
        return cli_usage(spec->command, "unknown option '%s'; did you mean '--%s'?", shown, meant);
    if (!is_long && find_option(spec, word + 1, 0).where != FOUND_NONE)
        return cli_usage(spec->command, "unknown option '%s'; did you mean '-%s'?", shown, word);
    const char other = (char)(isupper((unsigned char)shown[1]) ? tolower((unsigned char)shown[1])
                                                               : toupper((unsigned char)shown[1]));
    if (!is_long && find_option(spec, NULL, other).where != FOUND_NONE)
        return cli_usage(spec->command, "unknown option '%s'; did you mean '-%c'?", shown, other);
    return cli_usage(spec->command, "unknown option '%s'", shown);
}

static int stop(options *parsed, int exit_code)
{
    parsed->exit_code = exit_code;
    return OPTIONS_STOP;
}

static bool apply_model_option(options *parsed, int place)
{
    switch (place) {
    case MODEL_FILE: parsed->model = parsed->value; break;
    case MODEL_PRETOKENIZED: parsed->pretokenized = true; break;
    case MODEL_SPECIAL: parsed->special = true; break;
    case MODEL_MARKER:
        if (*parsed->value == '\0') {
            parsed->exit_code =
                cli_usage(parsed->spec->command, "--bpe-marker needs a marker such as @@, not ''");
            return false;
        }
        parsed->marker = parsed->value;
        break;
    default: break;
    }
    return true;
}

static bool apply_format(options *parsed)
{
    parsed->format = options_find_word(parsed->spec->formats, parsed->value);
    if (parsed->format >= 0)
        return true;
    char advice[96];
    suggest_advice(parsed->value, parsed->spec->formats, advice, sizeof advice);
    parsed->exit_code =
        cli_usage(parsed->spec->command, "format is '%.*s'; expected %s%s",
                  utf_excerpt(parsed->value), parsed->value, parsed->spec->formats, advice);
    return false;
}

/* Reads the next option and moves arguments that precede it. Sets parsed->value if a value is
 * attached to the option, as in --k=5 or -k5, else to NULL. At the end of the command line `where`
 * is FOUND_NONE and `shown` is empty. */
static found_option read_option(options *parsed)
{
    found_option found = {.where = FOUND_NONE};
    parsed->value = NULL;
    while (parsed->letters == NULL && parsed->next < parsed->argc) {
        char *const word = parsed->argv[parsed->next++];
        if (parsed->ended || word[0] != '-' || word[1] == '\0') {
            parsed->argv[++parsed->n_args] = word;
        } else if (strcmp(word, "--") == 0) {
            parsed->ended = true;
        } else if (word[1] == '-') {
            char name[64];
            const size_t n = strcspn(word + 2, "=");
            snprintf(name, sizeof name, "%.*s", n < 60 ? (int)n : 60, word + 2);
            if (word[2 + n] == '=')
                parsed->value = word + 3 + n;
            return find_option(parsed->spec, name, 0);
        } else {
            parsed->letters = word + 1;
        }
    }
    if (parsed->letters == NULL)
        return found;
    found = find_option(parsed->spec, NULL, *parsed->letters++);
    if (*parsed->letters == '\0')
        parsed->letters = NULL;
    if (found.takes_value) {
        parsed->value = parsed->letters;
        parsed->letters = NULL;
    }
    return found;
}

int options_next(options *parsed)
{
    const char *const command = parsed->spec->command;
    for (;;) {
        const found_option found = read_option(parsed);
        if (found.where == FOUND_NONE && found.shown[0] == '\0')
            return OPTIONS_END;
        if (found.where == FOUND_NONE)
            return stop(parsed, refuse_unknown(parsed, found.shown));
        if (!found.takes_value && parsed->value != NULL)
            return stop(parsed, cli_usage(command, "option '%s' takes no value; found '%.*s'",
                                          found.shown, utf_excerpt(parsed->value), parsed->value));
        if (found.takes_value && parsed->value == NULL) {
            if (parsed->next >= parsed->argc)
                return stop(parsed, cli_usage(command, "option '%s' needs a value: %s", found.shown,
                                              found.metavar));
            parsed->value = parsed->argv[parsed->next++];
        }
        bool applied = true;
        if (found.where == FOUND_OWN)
            return found.place;
        if (found.where == FOUND_SETTING)
            applied = options_apply_setting(parsed, found.place);
        else if (found.where == FOUND_MODEL)
            applied = apply_model_option(parsed, found.place);
        else if (found.takes_value)
            applied = apply_format(parsed);
        else
            return stop(parsed, options_help(parsed->spec));
        if (!applied)
            return OPTIONS_STOP;
    }
}

bool options_list_methods(unsigned mask, char *text, size_t size)
{
    size_t length = 0;
    bool has_all = true;
    const char *name;
    text[0] = '\0';
    for (int m = 0; (name = sb_method_name((sb_method)m)) != NULL && length < size; m++) {
        if (mask & 1u << m)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "",
                                       name);
        else
            has_all = false;
    }
    return has_all;
}

bool options_takes_max_len(const sb_option *setting)
{
    return strcmp(setting->name, "max-len") == 0;
}

int options_check(options *parsed)
{
    const char *const command = parsed->spec->command;
    const char *const method = sb_method_name(parsed->config.method);
    const sb_option *setting;
    for (size_t i = 0; (setting = sb_config_option(i)) != NULL && i < MAX_SETTINGS; i++) {
        if (!parsed->given[i] || sb_method_takes(parsed->config.method, setting->name))
            continue;
        const char *const reason = sb_config_refusal(&parsed->config, setting->name);
        if (reason != NULL)
            return cli_usage(command, "method %s refuses %s: %s", method, setting->name, reason);
        char spelt[64], methods[128];
        options_list_methods(setting->methods, methods, sizeof methods);
        return cli_usage(command, "method %s does not take --%s: it belongs to %s", method,
                         options_spell(setting, spelt, sizeof spelt), methods);
    }
    sb_error err;
    if (sb_config_check(&parsed->config, &err) != SB_OK)
        return cli_usage(command, "%s", err.message);
    if (parsed->n_temperatures == 0)
        parsed->temperatures[parsed->n_temperatures++] = parsed->config.temperature;
    parsed->has_seed = options_has(parsed, "seed");
    return parsed->has_seed ? EXIT_FINE : cli_random_seed(command, &parsed->config.seed);
}

int options_open_model(const options *parsed, sb_model **model)
{
    const char *const command = parsed->spec->command;
    sb_model *opened;
    if (parsed->special && parsed->pretokenized)
        return cli_usage(command, "--special does not go with --pretokenized, which names every "
                                  "token, special ones included");
    const int code = cli_open_model(command, parsed->model, parsed->marker, &opened);
    if (code != EXIT_FINE)
        return code;
    sb_error err;
    if (sb_model_set_pretokenized(opened, parsed->pretokenized, &err) != SB_OK ||
        sb_model_set_special(opened, parsed->special, &err) != SB_OK) {
        sb_model_close(opened);
        return cli_error(command, &err);
    }
    *model = opened;
    return EXIT_FINE;
}
