/* sbeam draw: reads inputs and writes draws.
 *
 * Inputs are the arguments, the lines of standard input, or one empty input. sb_draw_all takes them
 * one by one and returns the results in order for any number of threads, so memory does not grow
 * with the number of inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/draw_writer.h"
#include "common/cli.h"
#include "common/input_record.h"
#include "common/line_reader.h"
#include "common/options.h"
#include "common/terminal.h"

enum { DRAW_DRAWS, DRAW_BAN, DRAW_STOP, DRAW_BATCH, DRAW_CACHE, DRAW_INPUT };

static const option draw_options[] = {
    [DRAW_DRAWS] = {"draws", 0, "R", "independent draws per input and temperature (default: 1)"},
    [DRAW_BAN] = {"ban", 0, "TOKEN", "give this token probability zero; may be repeated"},
    [DRAW_STOP] = {"stop", 0, "STRING",
                   "end a sequence when its text contains STRING; the text is cut before it, the "
                   "tokens are kept; may be repeated"},
    [DRAW_BATCH] = {"batch", 0, "N", "draws computed in one batch, 1 to 4096 (default: 16)"},
    [DRAW_CACHE] = {"cache", 0, "MB",
                    "keep computed rows for further draws and temperatures of an input, in at most "
                    "MB megabytes, and report the time saved (default: 0, keep none)"},
    [DRAW_INPUT] = {"input", 0, "text|jsonl",
                    "form of the lines of standard input: text, or objects "
                    "{\"input\":\"..\",\"stream\":7} (default: text)"},
    {0},
};

enum { MEGABYTE = 1 << 20, MOST_MEGABYTES = 1 << 22 }; /* 4 TB: more than any machine has */

static bool takes_all(const sb_option *setting)
{
    (void)setting;
    return true;
}

static const option_spec draw_spec = {
    .command = "draw",
    .synopsis = "[-m FILE] [-k N] [-T X,...] [OPTION...] [INPUT...]",
    .about = "Draws k distinct sequences from a model by Stochastic Beam Search, with their\n"
             "probabilities and importance weights, or decodes by another method.\n\n"
             "Each INPUT is a prefix to continue, or a text to translate. Inputs are numbered\n"
             "as streams 0, 1, ... If INPUT is '-', or if it is missing and the model needs\n"
             "one, each line of standard input is an input. Without INPUT, other models draw\n"
             "from the empty prefix. -T takes a list: there is one record per input,\n"
             "temperature and draw. The same seed gives the same draws for every batch, number\n"
             "of threads and order of inputs.\n",
    .formats = "text|jsonl|tsv",
    .own = draw_options,
    .takes_model = true,
    .takes = takes_all,
};

enum { FORMAT_TEXT, FORMAT_JSONL, FORMAT_TSV };

static const draw_write_fn writers[] = {draw_write_text, draw_write_jsonl, draw_write_tsv};

/* The command's own options. */
typedef struct draw_request {
    sb_plan plan;
    const char **bans, **stops; /* owned arrays of the command line's strings */
    size_t n_bans, n_stops;
    bool is_jsonl;
    bool has_batch;
} draw_request;

/* The source of the inputs, and the writer of the results. */
typedef struct draw_work {
    const options *parsed;
    bool is_jsonl;
    enum { FROM_NOTHING, FROM_ARGUMENTS, FROM_LINES } from;
    int next;           /* inputs given so far, unless they are lines */
    line_reader reader; /* of FROM_LINES */
    draw_write_fn write;
    draw_writer writer;
    progress bar;
    bool has_begun;  /* the library has asked for an input */
    bool has_failed; /* a message has been printed, or is in err */
    sb_error err;
} draw_work;

static int parse_own(draw_request *request, const options *parsed, int i)
{
    const char *const value = parsed->value;
    uint64_t n = 0;
    int code = EXIT_FINE;
    switch (i) {
    case DRAW_DRAWS:
        return cli_parse_whole("draw", "--draws", value, 1, UINT64_C(1) << 53,
                               &request->plan.n_draws);
    case DRAW_BAN: request->bans[request->n_bans++] = value; break;
    case DRAW_STOP: request->stops[request->n_stops++] = value; break;
    case DRAW_BATCH:
        request->has_batch = true;
        code = cli_parse_whole("draw", "--batch", value, 1, 4096, &n);
        request->plan.batch = (int32_t)n;
        break;
    case DRAW_CACHE:
        code = cli_parse_whole("draw", "--cache", value, 0, MOST_MEGABYTES, &n);
        request->plan.cache_size = (size_t)n * MEGABYTE;
        break;
    case DRAW_INPUT:
        request->is_jsonl = strcmp(value, "jsonl") == 0;
        if (!request->is_jsonl && strcmp(value, "text") != 0)
            return cli_usage("draw", "--input is text or jsonl, not '%s'", value);
        break;
    default: break;
    }
    return code;
}

/* Reads the next line of standard input. Returns 1, 0 at the end, or -1 on failure. input->user is
 * the memory of the text, for free_input. */
static int read_line(draw_work *work, sb_input *input, sb_error *err)
{
    line_reader *const reader = &work->reader;
    const int more = line_reader_next(reader, err);
    if (more <= 0)
        return more;
    input->stream = reader->number - 1;
    if (!work->is_jsonl) {
        char *const text = cli_realloc(NULL, reader->size, 1);
        memcpy(text, reader->line, reader->size);
        input->text = input->user = text;
        input->size = reader->size;
        return 1;
    }
    input_record record;
    sb_error problem;
    if (input_record_parse(reader->line, reader->size, false, &record, &problem) != SB_OK) {
        sb_error_set(err, problem.status, "%s:%llu: %.400s", reader->name,
                     (unsigned long long)reader->number, problem.message);
        return -1;
    }
    if (record.has_stream)
        input->stream = record.stream;
    input->text = input->user = record.input;
    input->size = record.input_size;
    return 1;
}

static int give_input(void *user, sb_input *input, sb_error *err)
{
    draw_work *const work = user;
    work->has_begun = true;
    *input = (sb_input){.text = "", .stream = (uint64_t)work->next};
    if (work->from == FROM_LINES) {
        const int more = read_line(work, input, &work->err);
        work->has_failed = work->has_failed || more < 0;
        if (more < 0 && err != NULL)
            *err = work->err;
        return more;
    }
    if (work->next == (work->from == FROM_NOTHING ? 1 : work->parsed->n_args))
        return 0;
    work->next++;
    if (work->from == FROM_ARGUMENTS) {
        input->text = work->parsed->argv[work->next];
        input->size = strlen(input->text);
    }
    return 1;
}

static void free_input(void *user, const sb_input *input)
{
    (void)user;
    free(input->user);
}

static int take_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    draw_work *const work = user;
    if (work->write(&work->writer, input, result, &work->err) != SB_OK) {
        work->has_failed = true;
        if (err != NULL)
            *err = work->err;
        return 1;
    }
    if (!output_flush_some(&work->writer.out)) {
        work->has_failed = true;
        sb_error_set(&work->err, SB_ERR_STOPPED, "%s", ""); /* output_flush_some has printed it */
        return 1;
    }
    progress_step(&work->bar);
    return 0;
}

static int find_bans(const draw_request *request, const sb_model *model, int32_t *ids)
{
    for (size_t i = 0; i < request->n_bans; i++) {
        ids[i] = sb_model_find_token(model, request->bans[i], strlen(request->bans[i]));
        if (ids[i] < 0)
            return cli_usage("draw", "--ban: the model has no token '%s'%s", request->bans[i],
                             sb_model_has_own_text(model)
                                 ? "; its tokens are pieces, and a word begins with '\u2581'"
                                 : "");
    }
    return EXIT_FINE;
}

/* Decides where the inputs come from. Returns the exit code. */
static int choose_source(draw_work *work, const options *parsed, const sb_model *model)
{
    const bool has_dash = parsed->n_args == 1 && strcmp(parsed->argv[1], "-") == 0;
    if (work->is_jsonl && parsed->n_args > 0 && !has_dash)
        return cli_usage("draw", "--input jsonl reads standard input and takes no INPUT");
    if (parsed->n_args > 0 && !has_dash)
        work->from = FROM_ARGUMENTS;
    else if (has_dash || work->is_jsonl || sb_model_get_info(model)->needs_input)
        work->from = FROM_LINES;
    else
        work->from = FROM_NOTHING;
    for (int i = 1; i <= parsed->n_args && parsed->n_args > 1; i++)
        if (strcmp(parsed->argv[i], "-") == 0)
            return cli_usage("draw", "'-' (standard input) must be the only INPUT");
    if (work->from == FROM_LINES && line_reader_open(&work->reader, NULL, &work->err) != SB_OK)
        return cli_error("draw", &work->err);
    return EXIT_FINE;
}

/* Prints the message and returns the exit code. The library refuses options before it asks for an
 * input; errors found later are not usage errors. */
static int refuse(const draw_work *work, const sb_error *err)
{
    return work->has_begun ? cli_failure("draw", "%s", err->message) : cli_error("draw", err);
}

/* Prints what the cache saved, if there is one. The estimate of the time assumes that a cached row
 * would have cost as much as a computed one. */
static void report_cache(const sb_plan *plan)
{
    const sb_cache_stats *const stats = plan->cache_stats;
    if (plan->cache_size == 0 || stats->rows == 0)
        return;
    const uint64_t kept = stats->rows - stats->evaluated;
    if (kept == 0) {
        fprintf(stderr, "cache: none of %llu rows was needed again\n",
                (unsigned long long)stats->rows);
        return;
    }
    fprintf(stderr,
            "cache: %llu of %llu rows (%.1f %%) came from the cache; the model took %.2f s for the "
            "others, so about %.2f s were saved; %.0f of %.0f MB are in use\n",
            (unsigned long long)kept, (unsigned long long)stats->rows,
            100 * (double)kept / (double)stats->rows, stats->seconds,
            stats->seconds * (double)kept / (double)stats->evaluated,
            (double)stats->used / MEGABYTE, (double)plan->cache_size / MEGABYTE);
}

static int draw_all(const draw_request *request, options *parsed, const sb_model *model)
{
    draw_work work = {.parsed = parsed, .is_jsonl = request->is_jsonl};
    int code = choose_source(&work, parsed, model);
    if (code != EXIT_FINE)
        return code;
    work.write = writers[parsed->format];
    work.writer = (draw_writer){.model = model,
                                .config = &parsed->config,
                                .many_draws = request->plan.n_draws > 1,
                                .term = terminal_look()};
    draw_gather_settings(&work.writer);
    const uint64_t per_input = parsed->n_temperatures * request->plan.n_draws;
    progress_open(&work.bar, work.from == FROM_LINES       ? 0
                             : work.from == FROM_ARGUMENTS ? per_input * (uint64_t)parsed->n_args
                                                           : per_input);
    sb_cache_stats cached = {0};
    sb_plan plan = request->plan;
    plan.cache_stats = &cached;
    if (work.from == FROM_LINES && !request->has_batch && isatty(STDIN_FILENO))
        plan.batch = plan.threads = 1; /* a person types, and waits for each answer */
    const sb_pipe pipe = {&work, give_input, take_result, free_input};
    sb_error err;
    const sb_status status = sb_draw_all(model, &parsed->config, &plan, &pipe, &err);
    progress_close(&work.bar);
    if (status == SB_OK)
        report_cache(&plan);
    if (status == SB_OK && parsed->format == FORMAT_TSV && work.writer.n_records == 0)
        draw_write_names(&work.writer);
    const bool was_reported = work.has_failed && work.err.status == SB_ERR_STOPPED;
    if (!was_reported && !output_flush(&work.writer.out))
        code = EXIT_FAILED;
    else if (status != SB_OK && !was_reported)
        code = refuse(&work, work.has_failed ? &work.err : &err);
    else if (status != SB_OK)
        code = EXIT_FAILED;
    output_free(&work.writer.settings);
    output_free(&work.writer.out);
    line_reader_close(&work.reader);
    return code;
}

int cmd_draw(int argc, char **argv)
{
    options parsed;
    draw_request request = {0};
    sb_model *model = NULL;
    int32_t *ban_ids = NULL;
    int i, code;
    sb_plan_default(&request.plan);
    request.bans = cli_realloc(NULL, (size_t)argc, sizeof(*request.bans));
    request.stops = cli_realloc(NULL, (size_t)argc, sizeof(*request.stops));
    options_open(&parsed, &draw_spec, argc, argv);
    while ((i = options_next(&parsed)) >= 0) {
        code = parse_own(&request, &parsed, i);
        if (code != EXIT_FINE)
            goto done;
    }
    code = i == OPTIONS_STOP ? parsed.exit_code : options_check(&parsed);
    if (i == OPTIONS_STOP || code != EXIT_FINE)
        goto done;
    code = options_open_model(&parsed, &model);
    if (code != EXIT_FINE)
        goto done;
    ban_ids = cli_realloc(NULL, request.n_bans, sizeof(*ban_ids));
    code = find_bans(&request, model, ban_ids);
    if (code != EXIT_FINE)
        goto done;
    parsed.config.ban = ban_ids;
    parsed.config.n_ban = request.n_bans;
    parsed.config.stop = request.stops;
    parsed.config.n_stop = request.n_stops;
    request.plan.temperatures = parsed.temperatures;
    request.plan.n_temperatures = parsed.n_temperatures;
    request.plan.threads = parsed.threads;
    code = draw_all(&request, &parsed, model);

done:
    sb_model_close(model);
    free(ban_ids);
    free(request.stops);
    free(request.bans);
    return code;
}
