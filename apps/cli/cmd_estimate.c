/* sbeam estimate: reads draws and writes estimates of an expectation.
 *
 * Draws are read one by one. Without --summary the estimates of each draw are written at once. With
 * it only their values are kept, and reduced after the last draw. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/estimate.h"
#include "cli/record_lines.h"
#include "common/cli.h"
#include "common/options.h"
#include "common/utf.h"
#include "sbeam/format.h"

enum {
    ESTIMATE_F,
    ESTIMATE_VALUES,
    ESTIMATE_REF,
    ESTIMATE_SACRIFICE,
    ESTIMATE_CURVE,
    ESTIMATE_SUMMARY,
    ESTIMATE_TRUTH
};

static const option estimate_options[] = {
    [ESTIMATE_F] = {"f", 0, FUNCTION_NAMES,
                    "the function f: sentence BLEU (0 to 100), minus log p, or the number of "
                    "tokens"},
    [ESTIMATE_VALUES] = {"values", 0, "FILE",
                         "instead of --f: one number on a line for each sequence, in the order of "
                         "the draws"},
    [ESTIMATE_REF] = {"ref", 0, "FILE",
                      "references for --f bleu: line N + 1 belongs to stream N, with tabs between "
                      "alternatives; may be repeated"},
    [ESTIMATE_SACRIFICE] = {"sacrifice", 0, NULL,
                            "use the k-th sequence as the threshold and estimate from the k - 1 "
                            "before it (sbs)"},
    [ESTIMATE_CURVE] = {"curve", 0, "A..B",
                        "estimate at every k from A to B, from the first k sequences of each draw; "
                        "the time grows with the square of B: 7 s for a draw at 1..12000"},
    [ESTIMATE_SUMMARY] = {"summary", 0, NULL,
                          "reduce the estimates over draws: mean, spread, and bias and RMSE with "
                          "--truth"},
    [ESTIMATE_TRUTH] = {"truth", 0, "X|exact",
                        "the true expectation: a number, or exact: computed by enumerating a small "
                        "model"},
    BLEU_OPTIONS,
    {0},
};

static const option_spec estimate_spec = {
    .command = "estimate",
    .synopsis = "--f F|--values FILE [OPTION...] < DRAWS",
    .about = "Reads draws (sbeam draw -f jsonl) from standard input and estimates the\n"
             "expectation of a function f under the distribution that they were drawn from,\n"
             "with standard error, 95 % interval, and the number of independent (Monte Carlo)\n"
             "samples that would give the same error (mc_equivalent).\n\n"
             "  method   estimators\n"
             "  sbs      sbs: unbiased; sbs-normalised: usually closer to the truth\n"
             "  sample   mc: the mean\n"
             "  beam     beam, beam-normalised: sums over the sequences found, for comparison;\n"
             "           they have no standard error\n\n"
             "A value that does not exist is '-' in a table, null in JSON.\n",
    .formats = "text|jsonl",
    .format_default = "text on a terminal, else jsonl",
    .own = estimate_options,
    .takes_model = true,
    .takes = options_takes_max_len,
};

enum { FORMAT_DEFAULT = -1, FORMAT_TEXT };
enum { MOST_K = 10000000, MOST_WIDTH = 80 };

typedef struct estimate_work {
    /* From the command line. */
    const char *values_path, *truth_text;
    const char **references; /* owned */
    size_t n_references;
    bool has_summary;
    estimate_request request;
    /* State of the run. */
    line_reader reader;
    estimate_values values;
    estimate_truth truth;
    sb_record_set *records; /* the records read so far */
    estimate_summary summary;
    estimate_writer writer;
} estimate_work;

/* --- the command line --- */

static int parse_curve(estimate_work *work, const char *value)
{
    char first[24];
    const char *const dots = strstr(value, "..");
    const size_t n = dots != NULL ? (size_t)(dots - value) : strlen(value);
    if (n >= sizeof first)
        return cli_usage("estimate", "--curve takes A..B, not '%.*s'", utf_excerpt(value), value);
    memcpy(first, value, n);
    first[n] = '\0';
    int code = cli_parse_whole("estimate", "--curve", first, 1, MOST_K, &work->request.first_k);
    work->request.last_k = work->request.first_k;
    if (code == EXIT_FINE && dots != NULL)
        code = cli_parse_whole("estimate", "--curve", dots + 2, 1, MOST_K, &work->request.last_k);
    if (code == EXIT_FINE && work->request.first_k > work->request.last_k)
        return cli_usage("estimate", "--curve A..B needs A <= B, not '%.*s'", utf_excerpt(value),
                         value);
    work->request.has_curve = true;
    return code;
}

static int parse_option(estimate_work *work, int i, const char *value)
{
    switch (i) {
    case ESTIMATE_F:
        work->values.function = (estimate_function)options_find_word(FUNCTION_NAMES, value);
        if (work->values.function == FUNCTION_NONE)
            return cli_usage("estimate", "--f is bleu, entropy or length, not '%.*s'",
                             utf_excerpt(value), value);
        break;
    case ESTIMATE_VALUES: work->values_path = value; break;
    case ESTIMATE_REF: work->references[work->n_references++] = value; break;
    case ESTIMATE_SACRIFICE: work->request.sacrifice = true; break;
    case ESTIMATE_CURVE: return parse_curve(work, value);
    case ESTIMATE_SUMMARY: work->has_summary = true; break;
    case ESTIMATE_TRUTH: work->truth_text = value; break;
    default: break;
    }
    return EXIT_FINE;
}

static int parse_truth(estimate_work *work)
{
    if (!sb_number_parse(work->truth_text, strlen(work->truth_text), &work->truth.value))
        return cli_usage("estimate", "--truth takes a number, or exact, not '%.*s'",
                         utf_excerpt(work->truth_text), work->truth_text);
    return EXIT_FINE;
}

/* Refuses options that do not go together. Returns the exit code. */
static int check_options(estimate_work *work, const options *parsed)
{
    const bool is_exact = work->truth_text != NULL && strcmp(work->truth_text, "exact") == 0;
    const bool is_bleu = work->values.function == FUNCTION_BLEU;
    const bool has_bleu_option = options_has(parsed, "tokenize") || options_has(parsed, "smooth") ||
                                 options_has(parsed, "smooth-value");
    sb_error err;
    if ((work->values.function == FUNCTION_NONE) == (work->values_path == NULL))
        return cli_usage("estimate", "give exactly one of --f and --values");
    if (work->values_path != NULL && strcmp(work->values_path, "-") == 0)
        return cli_usage("estimate", "--values needs a file: standard input holds the draws");
    if (is_bleu && work->n_references == 0)
        return cli_usage("estimate", "--f bleu needs references: --ref FILE");
    if (!is_bleu && (work->n_references > 0 || has_bleu_option))
        return cli_usage("estimate", "--ref, --tokenize and --smooth are only for --f bleu");
    work->values.bleu = parsed->bleu;
    if (is_bleu && sb_bleu_config_check(&work->values.bleu, &err) != SB_OK)
        return cli_error("estimate", &err);
    if (work->truth_text != NULL && !work->has_summary)
        return cli_usage("estimate", "--truth needs --summary, which computes bias and RMSE");
    if (is_exact && work->values_path != NULL)
        return cli_usage("estimate", "--truth exact cannot be used with --values: the file has no "
                                     "values for sequences that were not drawn");
    if (!is_exact && (parsed->model != NULL || parsed->marker != NULL || parsed->pretokenized ||
                      parsed->special || options_has(parsed, "max-len")))
        return cli_usage("estimate",
                         "options of the model and --max-len are only for --truth exact");
    if (parsed->n_args > 1 || (parsed->n_args == 1 && strcmp(parsed->argv[1], "-") != 0))
        return cli_usage("estimate", "the draws are read from standard input, not from '%.*s'",
                         utf_excerpt(parsed->argv[1]), parsed->argv[1]);
    return work->truth_text != NULL && !is_exact ? parse_truth(work) : EXIT_FINE;
}

/* --- the work --- */

static void take_estimate(void *user, const sb_record *record, sb_estimator estimator, int32_t k,
                          const sb_estimate *estimate)
{
    estimate_work *const work = user;
    if (!work->has_summary) {
        estimate_writer_add(&work->writer, record, estimator, k, estimate);
        return;
    }
    const estimate_row row = {.stream = record->stream,
                              .draw = record->draw,
                              .seed = record->seed,
                              .line = work->reader.number,
                              .settings =
                                  estimate_summary_settings(&work->summary, record->settings),
                              .temperature = record->temperature,
                              .value = estimate->value,
                              .estimator = estimator,
                              .k = k};
    estimate_summary_add(&work->summary, &row);
}

static sb_status estimate_draw(estimate_work *work, sb_record *record, sb_error *err)
{
    estimate_writer_start_draw(&work->writer);
    sb_status status = sb_record_set_add(work->records, record, work->reader.number, err);
    if (status == SB_OK && work->has_summary)
        status = sb_record_set_add_input(work->records, record, work->reader.number, err);
    if (status == SB_OK)
        status = estimate_record_check(record, err);
    if (status == SB_OK)
        status = estimate_values_fill(&work->values, record, err);
    if (status == SB_OK)
        status = estimate_truth_learn(&work->truth, record, &work->values, err);
    if (status == SB_OK)
        status = estimate_record(&work->request, record, work->values.f, err);
    return status;
}

/* Reads the next draw and takes its estimates. Returns 1, 0 at the end of the input, or -1 on
 * failure; a draw that fails writes nothing. */
static int estimate_next(estimate_work *work, sb_error *err)
{
    line_reader *const reader = &work->reader;
    const int more = record_lines_next(reader, err);
    if (more <= 0)
        return more;
    const size_t start = work->writer.out.size;
    sb_record record;
    sb_error problem;
    sb_status status = sb_record_read(&record, reader->line, reader->size, &problem);
    if (status == SB_OK)
        status = estimate_draw(work, &record, &problem);
    sb_record_close(&record);
    if (status == SB_OK)
        return 1;
    work->writer.out.size = start;
    sb_error_set(err, status, "%s:%" PRIu64 ": %.400s", reader->name, reader->number,
                 problem.message);
    return -1;
}

static int estimate_all(estimate_work *work)
{
    sb_error err;
    int more;
    while ((more = estimate_next(work, &err)) > 0) {
        output *const out = &work->writer.out;
        if (!(line_reader_wait(&work->reader, 0) ? output_flush_in_time(out) : output_flush(out)))
            return EXIT_FAILED;
    }
    sb_status status = more < 0 ? err.status : estimate_values_finish(&work->values, &err);
    if (status == SB_OK && work->has_summary)
        status = estimate_summary_reduce(&work->summary, &work->truth, &err);
    estimate_writer_add_groups(&work->writer, work->summary.groups, work->summary.n_groups);
    if (!output_flush(&work->writer.out))
        return EXIT_FAILED;
    return status == SB_OK ? EXIT_FINE : cli_failure("estimate", "%s", err.message);
}

/* Chooses the format and prepares the name of f for the headers of tables. */
static void prepare_writer(estimate_work *work, int format)
{
    static const char *const names[] = {"bleu", "entropy", "length"};
    estimate_writer *const writer = &work->writer;
    writer->is_text = format == FORMAT_TEXT || (format == FORMAT_DEFAULT && isatty(STDOUT_FILENO));
    writer->has_curve = work->request.has_curve;
    writer->last_k = work->request.last_k;
    writer->term = terminal_look();
    if (writer->term.width > MOST_WIDTH)
        writer->term.width = MOST_WIDTH;
    if (work->values.function == FUNCTION_FILE) {
        output_text(&writer->f, "values ");
        utf_put_cut(&writer->f, work->values_path, strlen(work->values_path),
                    writer->term.width / 2, writer->term.unicode);
    } else {
        output_format(&writer->f, "f %s", names[work->values.function]);
    }
    output_char(&writer->f, '\0');
}

static int estimate_open(estimate_work *work, const options *parsed, sb_model **model)
{
    sb_error err;
    int code = check_options(work, parsed);
    if (code != EXIT_FINE)
        return code;
    if (work->values_path != NULL)
        work->values.function = FUNCTION_FILE;
    if (work->truth_text != NULL && isnan(work->truth.value)) {
        code = options_open_model(parsed, model);
        work->truth.model = *model;
        work->truth.max_len = parsed->config.max_len;
    }
    if (code != EXIT_FINE)
        return code;
    if (estimate_values_open(&work->values, work->values_path, work->references, work->n_references,
                             &err) != SB_OK ||
        sb_record_set_open(&work->records, &err) != SB_OK ||
        line_reader_open(&work->reader, NULL, &err) != SB_OK)
        return cli_failure("estimate", "%s", err.message);
    prepare_writer(work, parsed->format);
    return EXIT_FINE;
}

int cmd_estimate(int argc, char **argv)
{
    options parsed;
    estimate_work work = {.values.function = FUNCTION_NONE, .truth.value = NAN};
    sb_model *model = NULL;
    int i, code = EXIT_FINE;
    work.request.user = &work;
    work.request.take = take_estimate;
    work.references = cli_realloc(NULL, (size_t)argc, sizeof *work.references);
    options_open(&parsed, &estimate_spec, argc, argv);
    parsed.format = FORMAT_DEFAULT;
    while (code == EXIT_FINE && (i = options_next(&parsed)) >= 0)
        code = parse_option(&work, i, parsed.value);
    if (code == EXIT_FINE)
        code = i == OPTIONS_STOP ? parsed.exit_code : estimate_open(&work, &parsed, &model);
    if (code == EXIT_FINE && i != OPTIONS_STOP)
        code = estimate_all(&work);
    estimate_writer_close(&work.writer);
    estimate_summary_close(&work.summary);
    estimate_truth_close(&work.truth);
    estimate_values_close(&work.values);
    sb_record_set_close(work.records);
    line_reader_close(&work.reader);
    sb_model_close(model);
    free(work.references);
    return code;
}
