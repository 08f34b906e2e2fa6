/* sbeam draw: reads inputs and writes draws.
 *
 * sb_draw_all takes the inputs (draw_inputs.h) one by one and returns the results in order for any
 * number of threads, so memory does not grow with the number of inputs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cache_report.h"
#include "cli/commands.h"
#include "cli/draw_inputs.h"
#include "cli/draw_writer.h"
#include "common/cli.h"
#include "common/escape.h"
#include "common/input_file.h"
#include "common/options.h"
#include "common/terminal.h"
#include "common/utf.h"

enum { DRAW_FILE, DRAW_INPUT, DRAW_DRAWS, DRAW_BAN, DRAW_STOP, DRAW_BATCH, DRAW_CACHE, DRAW_STATS };

static const option draw_options[] = {
    [DRAW_FILE] = {"file", 0, "FILE",
                   "the whole content of FILE, which may have several lines, is one input; "
                   "'-' is standard input; may be repeated"},
    [DRAW_INPUT] = {"input", 0, "text|jsonl",
                    "how lines of standard input are read: each is an input, or an object "
                    "{\"input\":\"..\",\"stream\":7} that holds one (default: text)"},
    [DRAW_DRAWS] = {"draws", 0, LIBRARY_SETTING, NULL},
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
    .takes = takes_all,
};

enum { FORMAT_TEXT, FORMAT_JSONL, FORMAT_TSV };

/* In the order of the formats above. */
static const draw_write_fn writers[] = {draw_write_text, draw_write_jsonl, draw_write_tsv};

/* The command's own options. */
typedef struct draw_request {
    draw_inputs inputs;
    const char **bans; /* (n_bans); the array is owned, the strings are the command line's */
    char **stops;      /* (n_stops); both are owned */
    size_t n_bans, n_stops;
    const char *stats_path; /* --cache-stats, or NULL */
    FILE *stats_file;       /* it, open for writing, or NULL */
} draw_request;

/* The source of the inputs, and the writer of the results. */
typedef struct draw_work {
    draw_inputs *inputs;
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
    sb_error err;
    switch (i) {
    case DRAW_FILE: return draw_inputs_add_file(&request->inputs, parsed);
    case DRAW_INPUT: return draw_inputs_set_form(&request->inputs, value);
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

static int give_input(void *user, sb_input *input, sb_error *err)
{
    draw_work *const work = user;
    work->has_begun = true;
    const int more = draw_inputs_next(work->inputs, input, &work->err);
    work->has_failed = work->has_failed || more < 0;
    if (more < 0 && err != NULL)
        *err = work->err;
    return more;
}

static bool wait_for_input(void *user, int milliseconds)
{
    draw_work *const work = user;
    return draw_inputs_wait(work->inputs, milliseconds);
}

static void free_input(void *user, const sb_input *input)
{
    (void)user;
    free(input->user);
}

/* Stops the work after a failed write, whose message has been printed. */
static int stop_writing(draw_work *work)
{
    work->has_failed = true;
    sb_error_set(&work->err, SB_ERR_STOPPED, "%s", "");
    return 1;
}

static int flush_results(void *user, sb_error *err)
{
    draw_work *const work = user;
    (void)err;
    return output_flush(&work->writer.out) ? 0 : stop_writing(work);
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
    if (!output_flush_in_time(&work->writer.out))
        return stop_writing(work);
    progress_step(&work->bar);
    return 0;
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

/* Prints the message, with the line of the input that it names, and returns the exit code. The
 * library refuses options before it asks for an input; errors found later are not usage errors. */
static int refuse(const draw_work *work, const sb_error *err)
{
    uint64_t line;
    if (!work->has_begun)
        return cli_error("draw", err);
    if (!draw_inputs_find_line(work->inputs, err, &line))
        return cli_failure("draw", "%s", err->message);
    return cli_failure("draw", "standard input:%" PRIu64 ": %s", line, err->message);
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

/* Says so if data on standard input was not read: `echo PREFIX | sbeam draw -m lm.arpa` looks like
 * a draw from the prefix. */
static void hint_at_stdin(const draw_inputs *inputs)
{
    if (inputs->source == FROM_NOTHING && input_is_waiting())
        fprintf(stderr,
                "sbeam draw: hint: the data on standard input was not read; add '-' to draw "
                "from each of its lines instead of the empty prefix\n");
}

/* If the last bits of a row depend on the rows that are computed with it, and if inputs arrive over
 * time, makes the plan compute one input at a time, so that the time of arrival cannot change a
 * draw. With several threads it computes one draw at a time, because the threads share the draws of
 * an input differently each time. */
static void choose_together(sb_plan *plan, const draw_inputs *inputs, const options *parsed,
                            const sb_model *model)
{
    const sb_model_info *const info = sb_model_get_info(model);
    if (!info->rows_depend_on_batch || !draw_inputs_arrive(inputs) || options_has(parsed, "batch"))
        return;
    plan->one_input = true;
    if (plan->threads > 1 && !info->has_threads)
        plan->batch = 1;
}

static int draw_all(draw_request *request, options *parsed, const sb_model *model)
{
    draw_inputs *const inputs = &request->inputs;
    sb_plan plan = parsed->plan;
    draw_work work = {.inputs = inputs};
    int code = draw_inputs_open(inputs, parsed, model);
    if (code != EXIT_FINE)
        return code;
    work.write = writers[parsed->format];
    work.writer = (draw_writer){.model = model,
                                .config = &parsed->config,
                                .many_draws = plan.n_draws > 1,
                                .term = terminal_look()};
    sb_error err;
    if (parsed->format == FORMAT_JSONL &&
        sb_record_writer_open(&work.writer.records, model, &parsed->config, &err) != SB_OK) {
        draw_inputs_close(inputs);
        return cli_error("draw", &err);
    }
    const uint64_t per_input = parsed->n_temperatures * plan.n_draws;
    progress_open(&work.bar, per_input * draw_inputs_count(inputs));
    sb_cache_stats cached = {0};
    plan.temperatures = parsed->temperatures;
    plan.n_temperatures = parsed->n_temperatures;
    plan.cache_stats = &cached;
    choose_together(&plan, inputs, parsed, model);
    const sb_pipe pipe = {.user = &work,
                          .source = give_input,
                          .sink = take_result,
                          .done = free_input,
                          .ready = wait_for_input,
                          .flush = flush_results};
    const sb_status status = sb_draw_all(model, &parsed->config, &plan, &pipe, &err);
    progress_close(&work.bar);
    if (status == SB_OK)
        cache_report_print(&plan);
    if (status == SB_OK && parsed->format == FORMAT_TSV && work.writer.n_records == 0)
        draw_write_names(&work.writer);
    const bool was_reported = work.has_failed && work.err.status == SB_ERR_STOPPED;
    if (!was_reported && !output_flush(&work.writer.out))
        code = EXIT_FAILED;
    else if (status != SB_OK && !was_reported)
        code = refuse(&work, work.has_failed ? &work.err : &err);
    else if (status != SB_OK)
        code = EXIT_FAILED;
    else
        hint_at_stdin(inputs);
    if (code == EXIT_FINE && request->stats_file != NULL)
        code = cache_report_write(&plan, request->stats_file);
    sb_record_writer_close(work.writer.records);
    output_free(&work.writer.out);
    draw_inputs_close(inputs);
    return code;
}

int cmd_draw(int argc, char **argv)
{
    options parsed;
    draw_request request = {0};
    sb_model *model = NULL;
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
    code = i == OPTIONS_STOP ? parsed.exit_code : options_check(&parsed);
    if (i == OPTIONS_STOP || code != EXIT_FINE)
        goto done;
    code = options_open_model(&parsed, &model);
    if (code != EXIT_FINE)
        goto done;
    ban_ids = cli_realloc(NULL, request.n_bans, sizeof *ban_ids);
    code = find_bans(&request, model, ban_ids);
    if (code != EXIT_FINE)
        goto done;
    parsed.config.ban = ban_ids;
    parsed.config.n_ban = request.n_bans;
    parsed.config.stop = (const char *const *)request.stops;
    parsed.config.n_stop = request.n_stops;
    code = open_stats(&request, &parsed.plan);
    if (code == EXIT_FINE)
        code = draw_all(&request, &parsed, model);

done:
    if (request.stats_file != NULL)
        fclose(request.stats_file);
    sb_model_close(model);
    free(ban_ids);
    free(request.inputs.files);
    for (size_t s = 0; s < request.n_stops; s++)
        free(request.stops[s]);
    free(request.stops);
    free(request.bans);
    return code;
}
