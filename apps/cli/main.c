/* sbeam: finds the command that the first word names, and runs it. */
#include <stddef.h>
#include <string.h>

#include "cli/commands.h"
#include "common/cli.h"
#include "common/last_resort.h"
#include "common/output.h"
#include "common/suggest.h"
#include "common/utf.h"
#include "sbeam/version.h"

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} command;

static const command commands[] = {
    {"draw", cmd_draw, "draw sequences without replacement, or by another method"},
    {"score", cmd_score, "compute log-probabilities of given outputs"},
    {"estimate", cmd_estimate, "estimate expectations and standard errors from draws"},
    {"verify", cmd_verify, "check files of draws, and make some of the draws again"},
    {"tree", cmd_tree, "show the tree of a small model, as in Figure 1 of the paper"},
    {"shuf", cmd_shuf, "draw lines by weight, without replacement"},
    {"info", cmd_info, "describe a model file"},
    {"eval", cmd_eval, "compute BLEU and diversity of draws, or BLEU of a text file"},
    {"bench", cmd_bench, "measure the speed of search and of decoding"},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int print_help(void)
{
    output out = {0};
    output_text(&out, "usage: sbeam COMMAND [OPTION...] [ARGUMENT...]\n\n"
                      "Sequences without replacement from sequence models, by Stochastic Beam "
                      "Search.\n\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        output_format(&out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    output_text(&out,
                "\n'sbeam COMMAND --help' explains a command.\n"
                "'sbeam --version' lists the parts of this build.\n\n"
                "Try:\n"
                "  sbeam draw -k 5 -T 0.3 'Thank you.' five translations\n"
                "  sbeam draw -m model.json -k 3       three distinct sequences\n"
                "  sbeam draw -m lm.gguf 'Once upon'   continue a prefix (GGUF or ARPA model)\n"
                "  sbeam shuf -n 10 -w 2 words.tsv     ten lines, weights in column 2\n\n"
                "Results go to standard output, messages to standard error.\n"
                "Exit codes: 0 success, 1 the work failed, 2 wrong usage.\n"
                "Without -m the model is the one that SBEAM_MODEL names; if that is not set,\n"
                "the English-French model that comes with sbeam.\n");
    const bool written = output_flush(&out);
    output_free(&out);
    return written ? EXIT_FINE : EXIT_FAILED;
}

/* Prints the version on the first line, which scripts parse, then one line for each part of the
 * build. */
static int print_version(void)
{
    output out = {0};
    output_format(&out, "sbeam %s (%s kernels)\n", sb_version(), sb_cpu());
    const char *name, *value;
    for (size_t i = 0; (name = sb_build_info(i, &value)) != NULL; i++)
        output_format(&out, "%s: %s\n", name, value);
    const bool written = output_flush(&out);
    output_free(&out);
    return written ? EXIT_FINE : EXIT_FAILED;
}

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Reports a first word that is neither a command nor an option. Returns the exit code. */
static int refuse_unknown(const char *word)
{
    const bool is_option = word[0] == '-';
    suggestion closest = {.word = word};
    for (size_t i = 0; i < N_COMMANDS; i++)
        suggest_offer(&closest, commands[i].name);
    suggest_offer(&closest, "--help");
    suggest_offer(&closest, "--version");
    if (closest.best != NULL)
        return cli_usage(NULL, "unknown %s '%.*s'; did you mean '%s'?",
                         is_option ? "option" : "command", utf_excerpt(word), word, closest.best);
    if (is_option)
        return cli_usage(NULL, "unknown option '%.*s'; a command comes first, such as 'sbeam draw'",
                         utf_excerpt(word), word);
    return cli_usage(NULL, "unknown command '%.*s'", utf_excerpt(word), word);
}

static int run(int argc, char **argv)
{
    if (argc < 2)
        return cli_usage(NULL, "no command was given");
    const char *const word = argv[1];
    sb_error err;
    if (sb_cpu_check(&err) != SB_OK)
        return cli_error(NULL, &err);
    if (strcmp(word, "--version") == 0)
        return print_version();
    const int is_help = strcmp(word, "help") == 0;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (is_help && argc == 2))
        return print_help();
    const command *const found = find_command(is_help ? argv[2] : word);
    if (found == NULL)
        return refuse_unknown(is_help ? argv[2] : word);
    if (is_help) {
        char help[] = "--help";
        char *words[] = {argv[2], help, NULL};
        return found->run(2, words);
    }
    return found->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    last_resort_install();
    const int exit_code = run(argc, argv);
    if (!output_finish() && exit_code == EXIT_FINE)
        return EXIT_FAILED;
    return exit_code;
}
