/* Parses the command line of one command.
 *
 *     options parsed;
 *     options_open(&parsed, &spec, argc, argv);
 *     while ((i = options_next(&parsed)) >= 0)
 *         ... spec.own[i] was given, with parsed.value ...
 *     if (i != OPTIONS_END)
 *         return parsed.exit_code;                   --help was printed, or an error
 *     status = options_check(&parsed);
 *
 * Options may follow arguments; "--" ends them. This file handles the options that commands share:
 * --help, -f, the options of commands that open a model, and the library's settings. The settings
 * come from the tables of sb_config_option, sb_plan_option and sb_bleu_option. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/draw.h"
#include "sbeam/metric.h"
#include "sbeam/model.h"

/* The metavar of an option that is a setting of the library. The library's table has its real
 * metavar, its bounds and default. The parser sets it and does not return it to the command. */
#define LIBRARY_SETTING ""

typedef struct option {
    const char *name;    /* the long form, without dashes */
    char letter;         /* the short form, or 0 */
    const char *metavar; /* name of its value in the help; NULL: it takes no value */
    const char *help;    /* one phrase; NULL for a LIBRARY_SETTING: as the library's table says */
} option;

typedef struct option_spec {
    const char *command;
    const char *synopsis;       /* follows "sbeam COMMAND" in the help */
    const char *about;          /* one paragraph or more */
    const char *formats;        /* values of -f, the default first: "text|jsonl" */
    const char *format_default; /* the default as the help states it; NULL: the first of formats */
    const option *own;          /* the command's own options; ends with an entry without a name */
    bool takes_model;           /* it takes the options of models below and --threads */
    /* Returns whether the command takes this setting of the library. NULL: it takes none. */
    bool (*takes)(const sb_option *setting); /* of those of sb_config_option */
} option_spec;

enum { OPTIONS_END = -1, OPTIONS_STOP = -2, MAX_SETTINGS = 64, MAX_TEMPERATURES = 1024 };

typedef struct options {
    const option_spec *spec;
    char **argv;
    int argc, next;
    const char *letters;      /* the unread rest of a cluster such as -xk5, or NULL */
    bool ended;               /* "--" was read */
    bool given[MAX_SETTINGS]; /* whether setting i of options_setting was given */
    /* The result. */
    const char *value;  /* value of the option that options_next returned */
    int n_args;         /* number of arguments so far; they are moved to argv[1 .. n_args] */
    int format;         /* index in spec->formats */
    const char *model;  /* -m, or NULL */
    const char *marker; /* --bpe-marker, or NULL */
    bool pretokenized, special;
    sb_config config;
    sb_plan plan;
    sb_bleu_config bleu;
    bool has_seed;
    double temperatures[MAX_TEMPERATURES];
    size_t n_temperatures;
    int exit_code; /* after OPTIONS_STOP */
} options;

/* Starts with the words argv[1 .. argc - 1], which must outlive *parsed. */
void options_open(options *parsed, const option_spec *spec, int argc, char **argv);

/* Reads up to the next of the command's own options. Returns its index in spec->own, OPTIONS_END at
 * the end of the command line, or OPTIONS_STOP if the command must return parsed->exit_code. */
int options_next(options *parsed);

/* Checks the settings together: their ranges, and that the method takes each one that was given.
 * Chooses a random seed if none was given. Returns the exit code, after a message if it is not
 * EXIT_FINE. */
int options_check(options *parsed);

/* For option_spec.takes: returns true only for max-len. */
bool options_takes_max_len(const sb_option *setting);

/* Three entries for the own options of a command that computes BLEU. */
#define BLEU_OPTIONS                                                                               \
    {"tokenize", 0, LIBRARY_SETTING, NULL}, {"smooth", 0, LIBRARY_SETTING, NULL},                  \
    {                                                                                              \
        "smooth-value", 0, LIBRARY_SETTING, NULL                                                   \
    }

/* Returns whether the setting of this name was given. */
bool options_has(const options *parsed, const char *name);

/* Returns whether an option of a command is a LIBRARY_SETTING. */
bool options_is_setting(const option *entry);

/* Returns setting i of the library: those of sb_config_option, sb_plan_option and
 * sb_bleu_option. Returns NULL if i is past the end. */
const sb_option *options_setting(size_t i);

/* Returns the number of the setting of this name, or -1. */
int options_find_setting(const char *name);

/* Sets setting number `place` to parsed->value, or switches a flag. Returns false after a message,
 * with parsed->exit_code. */
bool options_apply_setting(options *parsed, int place);

/* Writes the name of a setting as the command line spells it, without dashes: a flag that is on by
 * default is "no-NAME", and a rule such as until-mass is "until mass=X". Returns `buffer`. */
const char *options_spell(const sb_option *setting, char *buffer, size_t size);

/* Returns the letter of the short form of a setting, or 0 if it has none. */
char options_letter(const sb_option *setting);

/* Writes the methods of a mask, such as "beam, diverse". Returns whether these are all methods. */
bool options_list_methods(unsigned mask, char *text, size_t size);

/* Returns the index of `word` in "one|two|three", or -1. */
int options_find_word(const char *words, const char *word);

/* The options of every command with a model; ends with an entry without a name. */
extern const option options_of_models[];

/* Prints the help page of a command. Returns the exit code. */
int options_help(const option_spec *spec);

/* Opens the model as -m, --bpe-marker, --pretokenized and --special say. Returns EXIT_FINE and
 * writes *model, the caller's to close; or prints a message and returns another exit code. */
int options_open_model(const options *parsed, sb_model **model);

#endif
