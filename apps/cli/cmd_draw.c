/* sbeam draw: its command line. draw_run.c does the work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/draw_inputs.h"
#include "cli/draw_run.h"
#include "cli/draw_writer.h"
#include "common/cli.h"
#include "common/escape.h"
#include "common/options.h"
#include "common/utf.h"

enum {
    DRAW_FILE,
    DRAW_INPUT,
    DRAW_DRAWS,
    DRAW_UNTIL,
    DRAW_EACH,
    DRAW_ALLOW,
    DRAW_BAN,
    DRAW_STOP,
    DRAW_BATCH,
    DRAW_CACHE,
    DRAW_STATS
};

static const option draw_options[] = {
    [DRAW_FILE] = {"file", 0, "FILE",
                   "the whole content of FILE, which may have several lines, is one input; "
                   "'-' is standard input; may be repeated"},
    [DRAW_INPUT] = {"input", 0, "text|jsonl",
                    "how lines of standard input are read: each is an input, or an object "
                    "{\"input\":\"..\",\"stream\":7} that holds one (default: text)"},
    [DRAW_DRAWS] = {"draws", 0, LIBRARY_SETTING, NULL},
    [DRAW_UNTIL] =
        {"until", 0, "mass=X|texts=N",
         "end a draw, before it has k sequences, as soon as those found have a total "
         "probability of X (above 0 and at most 1) or N different texts; such a draw has "
         "no weights; "
         "may be repeated with the other rule (sbs)"},
    [DRAW_EACH] = {"each", 0, NULL,
                   "with -f jsonl: also write each sequence as soon as it is certain, as a line "
                   "with \"partial\":true (sbs)"},
    [DRAW_ALLOW] =
        {"allow", 0, "FILE",
         "permit only the outputs in FILE, plain or gzip, one a line: a token that continues none "
         "of them has probability zero at each step"},
    [DRAW_BAN] = {"ban", 0, "TOKEN", "give this token probability zero; may be repeated"},
    [DRAW_STOP] = {"stop", 0, "STRING",
                   "end a sequence when its text contains STRING; the text is cut before it, the "
                   "tokens are kept; \\n, \\t and \\\\ are newline, tab and backslash; may be "
                   "repeated"},
    [DRAW_BATCH] = {"batch", 0, LIBRARY_SETTING, NULL},
    [DRAW_CACHE] = {"cache", 0, LIBRARY_SETTING,
                    "keep computed rows for further draws and temperatures of an input, in at most "
                    "MB megabytes, and report the time saved (default: 0, keep none)"},
    [DRAW_STATS] =
        {"cache-stats", 0, "FILE",
         "with --cache: also write the numbers of this report to FILE, as one JSON line"},
    {0},
};

/* Takes every setting; --until sets those that end a draw. */
static bool takes_setting(const sb_option *setting)
{
    return strcmp(setting->name, "until-mass") != 0 && strcmp(setting->name, "until-texts") != 0;
}

static const option_spec draw_spec = {
    .command = "draw",
    .synopsis = "[-m FILE] [-k N] [-T X,...] [OPTION...] [INPUT...]",
    .about = "Draws k distinct sequences from a model by Stochastic Beam Search, with their\n"
             "probabilities and importance weights, or decodes by another method.\n\n"
             "Each INPUT is a prefix to continue, or a text to translate; --file reads one\n"
             "from a file. They are numbered as streams 0, 1, ... in the order given. With\n"
             "'-' the inputs are the lines of standard input. Without any input, GGUF and\n"
             "translation models read these lines, too; tree, chain and ARPA models draw\n"
             "once, from the empty prefix. -T takes a list: there is one record per input,\n"
             "temperature and draw. The same seed gives the same draws for any batch, number\n"
             "of threads and order of inputs.\n",
    .formats = "text|jsonl|tsv",
    .own = draw_options,
    .takes_model = true,
    .takes = takes_setting,
};

/* The command's own options. */
typedef struct draw_request {
    draw_inputs inputs;
    const char **bans; /* (n_bans); the array is owned, the strings are the command line's */
    char **stops;      /* (n_stops); both are owned */
    size_t n_bans, n_stops;
    const char *allow_path; /* --allow, or NULL */
    bool each;              /* --each */
    const char *stats_path; /* --cache-stats, or NULL */
    FILE *stats_file;       /* it, open for writing, or NULL */
} draw_request;

/* Takes a rule of --until, "mass=X" or "texts=N", as the setting "until-mass" or "until-texts".
 * Returns the exit code. */
static int parse_until(options *parsed)
{
    const char *const rule = parsed->value, *const equals = strchr(rule, '=');
    const size_t n = equals != NULL ? (size_t)(equals - rule) : 0;
    const char *const name = n == 4 && memcmp(rule, "mass", n) == 0    ? "until-mass"
                             : n == 5 && memcmp(rule, "texts", n) == 0 ? "until-texts"
                                                                       : NULL;
    if (name == NULL)
        return cli_usage("draw", "--until is '%.*s'; expected mass=X or texts=N", utf_excerpt(rule),
                         rule);
    parsed->value = equals + 1;
    return options_apply_setting(parsed, options_find_setting(name)) ? EXIT_FINE
                                                                     : parsed->exit_code;
}

static int parse_own(draw_request *request, options *parsed, int i)
{
    const char *const value = parsed->value;
    sb_error err;
    switch (i) {
    case DRAW_FILE: return draw_inputs_add_file(&request->inputs, parsed);
    case DRAW_INPUT: return draw_inputs_set_form(&request->inputs, value);
    case DRAW_UNTIL: return parse_until(parsed);
    case DRAW_EACH: request->each = true; break;
    case DRAW_ALLOW: request->allow_path = value; break;
    case DRAW_BAN: request->bans[request->n_bans++] = value; break;
    case DRAW_STOP:
        if (escape_undo(value, &request->stops[request->n_stops], &err) != SB_OK)
            return cli_usage("draw", "--stop: %s", err.message);
        request->n_stops++;
        break;
    case DRAW_STATS: request->stats_path = value; break;
    default: break;
    }
    return EXIT_FINE;
}

/* Checks --each and makes the search best-first, which it needs. Returns the exit code. */
static int apply_each(const draw_request *request, options *parsed)
{
    sb_config *const config = &parsed->config;
    if (!request->each)
        return EXIT_FINE;
    if (parsed->format != DRAW_JSONL)
        return cli_usage("draw", "--each needs -f jsonl: it writes a JSON line for each sequence");
    if (!sb_method_takes(config->method, "search"))
        return cli_usage("draw", "method %s does not take --each: it belongs to sbs",
                         sb_method_name(config->method));
    if (config->search == SB_SEARCH_LEVEL)
        return cli_usage("draw", "--each needs search best-first, because level search finds all "
                                 "sequences at its end");
    config->search = SB_SEARCH_BEST_FIRST;
    return EXIT_FINE;
}

static int find_bans(const draw_request *request, const sb_model *model, int32_t *ids)
{
    for (size_t i = 0; i < request->n_bans; i++) {
        ids[i] = sb_model_find_token(model, request->bans[i], strlen(request->bans[i]));
        if (ids[i] < 0)
            return cli_usage("draw", "--ban: the model has no token '%.*s'%s",
                             utf_excerpt(request->bans[i]), request->bans[i],
                             sb_model_has_own_text(model)
                                 ? "; its tokens are pieces, and a word begins with '\u2581'"
                                 : "");
    }
    return EXIT_FINE;
}

/* Reads the file of --allow. Returns the exit code. */
static int read_allowed(const draw_request *request, const sb_model *model, sb_trie **trie)
{
    sb_error err;
    if (request->allow_path == NULL)
        return EXIT_FINE;
    if (request->n_stops > 0)
        return cli_usage("draw", "--allow does not go with --stop: a stop string would end a "
                                 "sequence within a line of the list");
    return sb_trie_read(trie, model, request->allow_path, &err) == SB_OK ? EXIT_FINE
                                                                         : cli_error("draw", &err);
}

/* Opens the file of --cache-stats before the work, so that a wrong path costs no time. Returns the
 * exit code. */
static int open_stats(draw_request *request, const sb_plan *plan)
{
    if (request->stats_path == NULL)
        return EXIT_FINE;
    if (plan->cache_size == 0)
        return cli_usage("draw", "--cache-stats needs --cache: there is no cache to report on");
    request->stats_file = fopen(request->stats_path, "w");
    if (request->stats_file == NULL) {
        const char *const why = strerror(errno);
        return cli_failure("draw", "cannot write '%.*s': %s", utf_excerpt(request->stats_path),
                           request->stats_path, why);
    }
    return EXIT_FINE;
}

int cmd_draw(int argc, char **argv)
{
    options parsed;
    draw_request request = {0};
    sb_model *model = NULL;
    sb_trie *allowed = NULL;
    int32_t *ban_ids = NULL;
    int i, code;
    request.bans = cli_realloc(NULL, (size_t)argc, sizeof *request.bans);
    request.stops = cli_realloc(NULL, (size_t)argc, sizeof *request.stops);
    request.inputs.files = cli_realloc(NULL, (size_t)argc, sizeof *request.inputs.files);
    options_open(&parsed, &draw_spec, argc, argv);
    while ((i = options_next(&parsed)) >= 0) {
        code = parse_own(&request, &parsed, i);
        if (code != EXIT_FINE)
            goto done;
    }
    code = i == OPTIONS_STOP ? parsed.exit_code : apply_each(&request, &parsed);
    if (i != OPTIONS_STOP && code == EXIT_FINE)
        code = options_check(&parsed);
    if (i == OPTIONS_STOP || code != EXIT_FINE)
        goto done;
    code = options_open_model(&parsed, &model);
    if (code != EXIT_FINE)
        goto done;
    ban_ids = cli_realloc(NULL, request.n_bans, sizeof *ban_ids);
    code = find_bans(&request, model, ban_ids);
    if (code == EXIT_FINE)
        code = read_allowed(&request, model, &allowed);
    if (code != EXIT_FINE)
        goto done;
    parsed.config.allow = allowed;
    parsed.config.ban = ban_ids;
    parsed.config.n_ban = request.n_bans;
    parsed.config.stop = (const char *const *)request.stops;
    parsed.config.n_stop = request.n_stops;
    code = open_stats(&request, &parsed.plan);
    if (code == EXIT_FINE)
        code = draw_run(&(draw_task){.inputs = &request.inputs,
                                     .parsed = &parsed,
                                     .model = model,
                                     .each = request.each,
                                     .stats_file = request.stats_file});

done:
    if (request.stats_file != NULL)
        fclose(request.stats_file);
    sb_trie_close(allowed);
    sb_model_close(model);
    free(ban_ids);
    free(request.inputs.files);
    for (size_t s = 0; s < request.n_stops; s++)
        free(request.stops[s]);
    free(request.stops);
    free(request.bans);
    return code;
}
