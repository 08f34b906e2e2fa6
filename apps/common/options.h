/* The command line of one command.
 *
 *     options parsed;
 *     options_open(&parsed, &spec, argc, argv);
 *     while ((i = options_next(&parsed)) >= 0)
 *         ... spec.own[i] was given, with parsed.value ...
 *     if (i != OPTIONS_END)
 *         return parsed.exit_code;                   --help was answered, or an error reported
 *     status = options_check(&parsed);
 *
 * Options may follow arguments and "--" ends them. What the commands share is handled here: --help,
 * -f, the options of commands that open a model, and the library's own settings, which come from
 * the table of sb_config_option and are spelled out nowhere else. */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/model.h"

typedef struct option {
    const char *name;    /* the long form, without dashes */
    char letter;         /* the short form, or 0 */
    const char *metavar; /* what its value is called; NULL: it takes none */
    const char *help;    /* one phrase */
} option;

typedef struct option_spec {
    const char *command;
    const char *synopsis;       /* what follows "sbeam COMMAND" */
    const char *about;          /* a paragraph or more */
    const char *formats;        /* of -f, the first the default: "text|jsonl" */
    const char *format_default; /* what the help says of it; NULL: the first */
    const option *own;          /* ended by an entry without name */
    bool takes_model;           /* -m, --pretokenized, --bpe-marker, --threads */
    /* Which of the library's settings it takes; NULL: none. */
    bool (*takes)(const sb_option *setting);
} option_spec;

enum { OPTIONS_END = -1, OPTIONS_STOP = -2, MAX_SETTINGS = 64, MAX_TEMPERATURES = 1024 };

typedef struct options {
    const option_spec *spec;
    char **argv;
    int argc, next;
    const char *letters; /* what is left of a cluster such as -xk5 */
    bool ended;
    bool given[MAX_SETTINGS]; /* by place in the library's table */
    /* What the command line says. */
    const char *value;  /* of the option that options_next returned */
    int n_args;         /* arguments, gathered in argv[1 .. n_args] */
    int format;         /* place in spec->formats */
    const char *model;  /* -m, or NULL */
    const char *marker; /* --bpe-marker, or NULL */
    bool pretokenized;
    int32_t threads;
    sb_config config;
    bool has_seed;
    double temperatures[MAX_TEMPERATURES];
    size_t n_temperatures;
    int exit_code; /* after OPTIONS_STOP */
} options;

void options_open(options *parsed, const option_spec *spec, int argc, char **argv);

/* The place in spec->own of the next option, OPTIONS_END, or OPTIONS_STOP. */
int options_next(options *parsed);

/* Checks the settings together: their ranges, and that none was given that the method refuses.
 * Picks a random seed where none was given. Returns the exit code. */
int options_check(options *parsed);

/* For option_spec.takes: max-len alone. */
bool options_takes_max_len(const sb_option *setting);

/* Whether the setting of this name was given. */
bool options_has(const options *parsed, const char *name);

/* A setting as the command line spells it, without dashes: a flag that is on by default is
 * "no-NAME". Returns `buffer`. */
const char *options_spell(const sb_option *setting, char *buffer, size_t size);

/* The short form of a setting, or 0. */
char options_letter(const sb_option *setting);

/* Writes "beam, diverse", the methods of a mask. Returns whether they are all there are. */
bool options_list_methods(unsigned mask, char *text, size_t size);

/* Place of `word` among "one|two|three", or -1. */
int options_find_word(const char *words, const char *word);

/* The options that every command with a model takes, ended by an entry without name. */
extern const option options_of_models[];

/* Prints the help page of a command. Returns the exit code. */
int options_help(const option_spec *spec);

/* Opens the model that the options of models describe. Returns EXIT_FINE and *model, the caller's
 * to close, or the exit code after a message. */
int options_open_model(const options *parsed, sb_model **model);

#endif
