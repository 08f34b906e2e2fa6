/* sbeam estimate: draws in, estimates of an expectation out.
 *
 * A draw of SBS, and one of independent samples, holds the draws of every smaller k as its first j
 * sequences; the threshold of the first j is the g of number j + 1. So one record gives a whole
 * curve. Beams are not nested: each gives its own k alone. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/estimate.h"
#include "common/bleu_options.h"
#include "common/cli.h"
#include "common/options.h"

enum {
    ESTIMATE_F,
    ESTIMATE_VALUES,
    ESTIMATE_REF,
    ESTIMATE_BLEU, /* three of them */
    ESTIMATE_SACRIFICE = ESTIMATE_BLEU + 3,
    ESTIMATE_CURVE,
    ESTIMATE_SUMMARY,
    ESTIMATE_TRUTH
};

static const option estimate_options[] = {
    {"f", 0, FUNCTION_NAMES,
     "what is averaged: sentence BLEU (0 to 100), minus log p, or the number of tokens"},
    {"values", 0, "FILE", "or these numbers, one a line for each sequence, in the order drawn"},
    {"ref", 0, "FILE",
     "references of --f bleu: those of stream N on line N + 1, alternatives between tabs; may be "
     "repeated"},
    BLEU_OPTIONS,
    {"sacrifice", 0, NULL,
     "take the k-th sample for kappa and estimate from the k - 1 before it (sbs)"},
    {"curve", 0, "A..B", "estimates at every k from A to B, from the first k of each draw"},
    {"summary", 0, NULL, "reduce the draws: mean, 95 % range, and bias and RMSE with --truth"},
    {"truth", 0, "X|exact", "the expectation, or exact: by enumeration of the model (small ones)"},
    {0},
};

static const option_spec estimate_spec = {
    .command = "estimate",
    .synopsis = "--f F|--values FILE [OPTION...] < DRAWS",
    .about = "Reads draws (sbeam draw -f jsonl) from standard input and writes, as JSON lines,\n"
             "estimates of the expectation of a function under the distribution drawn from.\n"
             "Of method sbs: 'sbs' (unbiased) and 'sbs-normalised' (mostly closer); of sample:\n"
             "'mc'; of beam: 'beam' and 'beam-normalised', sums over what the beam found, for\n"
             "comparison. A standard error that is not known is null.\n",
    .formats = "jsonl",
    .own = estimate_options,
    .takes_model = true,
};

enum { MOST_K = 10000000 };

typedef struct estimate_work {
    /* What the command line says. */
    const char *values_path, *truth_text;
    const char **references; /* owned */
    size_t n_references;
    bool has_bleu_option, sacrifice, has_curve, has_summary;
    uint64_t first_k, last_k; /* of --curve */
    /* The work under way. */
    line_reader reader;
    estimate_values values;
    estimate_truth truth;
    estimate_summary summary;
    double *log_p; /* of the record; owned */
    output out;
    size_t n_lines; /* that the record has given */
} estimate_work;

/* --- the command line --- */

static int parse_curve(estimate_work *work, const char *value)
{
    char first[24];
    const char *const dots = strstr(value, "..");
    const size_t n = dots != NULL ? (size_t)(dots - value) : strlen(value);
    if (n >= sizeof(first))
        return cli_usage("estimate", "--curve takes A..B, not '%s'", value);
    memcpy(first, value, n);
    first[n] = '\0';
    int code = cli_parse_whole("estimate", "--curve", first, 1, MOST_K, &work->first_k);
    work->last_k = work->first_k;
    if (code == EXIT_FINE && dots != NULL)
        code = cli_parse_whole("estimate", "--curve", dots + 2, 1, MOST_K, &work->last_k);
    if (code == EXIT_FINE && work->first_k > work->last_k)
        return cli_usage("estimate", "--curve A..B goes upwards, not '%s'", value);
    work->has_curve = true;
    return code;
}

static int parse_option(estimate_work *work, int i, const char *value)
{
    switch (i) {
    case ESTIMATE_F:
        work->values.function = (estimate_function)options_find_word(FUNCTION_NAMES, value);
        if (work->values.function == FUNCTION_NONE)
            return cli_usage("estimate", "--f is bleu, entropy or length, not '%s'", value);
        break;
    case ESTIMATE_VALUES: work->values_path = value; break;
    case ESTIMATE_REF: work->references[work->n_references++] = value; break;
    case ESTIMATE_SACRIFICE: work->sacrifice = true; break;
    case ESTIMATE_CURVE: return parse_curve(work, value);
    case ESTIMATE_SUMMARY: work->has_summary = true; break;
    case ESTIMATE_TRUTH: work->truth_text = value; break;
    default:
        work->has_bleu_option = true;
        return bleu_options_take("estimate", i - ESTIMATE_BLEU, value, &work->values.bleu);
    }
    return EXIT_FINE;
}

static int parse_truth(estimate_work *work)
{
    char *rest;
    errno = 0;
    work->truth.value = strtod(work->truth_text, &rest);
    if (rest == work->truth_text || *rest != '\0' || !isfinite(work->truth.value))
        return cli_usage("estimate", "--truth takes a number, or exact, not '%s'",
                         work->truth_text);
    return EXIT_FINE;
}

/* What goes together, and what does not. */
static int check_options(estimate_work *work, const options *parsed)
{
    const bool is_exact = work->truth_text != NULL && strcmp(work->truth_text, "exact") == 0;
    const bool is_bleu = work->values.function == FUNCTION_BLEU;
    sb_error err;
    if ((work->values.function == FUNCTION_NONE) == (work->values_path == NULL))
        return cli_usage("estimate", "exactly one of --f and --values is needed");
    if (work->values_path != NULL && strcmp(work->values_path, "-") == 0)
        return cli_usage("estimate", "--values names a file: standard input holds the draws");
    if (is_bleu && work->n_references == 0)
        return cli_usage("estimate", "--f bleu needs references: --ref FILE");
    if (!is_bleu && (work->n_references > 0 || work->has_bleu_option))
        return cli_usage("estimate", "--ref, --tokenize and --smooth are for --f bleu");
    if (is_bleu && sb_bleu_config_check(&work->values.bleu, &err) != SB_OK)
        return cli_error("estimate", &err);
    if (work->truth_text != NULL && !work->has_summary)
        return cli_usage("estimate", "--truth is for the bias and RMSE of --summary");
    if (is_exact && work->values_path != NULL)
        return cli_usage("estimate", "--truth exact cannot be with --values, which has none for "
                                     "sequences that were not drawn");
    if (!is_exact && (parsed->model != NULL || parsed->marker != NULL || parsed->pretokenized))
        return cli_usage("estimate", "a model is for --truth exact");
    if (parsed->n_args > 1 || (parsed->n_args == 1 && strcmp(parsed->argv[1], "-") != 0))
        return cli_usage("estimate", "the draws are read from standard input, not from '%s'",
                         parsed->argv[1]);
    return work->truth_text != NULL && !is_exact ? parse_truth(work) : EXIT_FINE;
}

/* --- estimates of one record --- */

static void put_number(output *out, const char *key, double x)
{
    output_key(out, key);
    output_json_number(out, x);
}

static void put_line(output *out, const draw_record *record, sb_estimator estimator, int32_t k,
                     const sb_estimate *estimate)
{
    output_format(out, "{\"stream\":%" PRIu64, record->stream);
    put_number(out, "temperature", record->temperature);
    output_format(out, ",\"draw\":%" PRIu64 ",\"estimator\":\"%s\",\"k\":%d", record->draw,
                  sb_estimator_name(estimator), (int)k);
    put_number(out, "estimate", estimate->value);
    put_number(out, "se", estimate->se);
    put_number(out, "ess", estimate->ess);
    put_number(out, "mc_equivalent", estimate->mc_equivalent);
    put_number(out, "weight_sum", estimate->weight_sum);
    output_text(out, "}\n");
}

/* An estimate from the first n sequences, which stands for k. */
static sb_status give_estimate(estimate_work *work, const draw_record *record,
                               sb_estimator estimator, int32_t k, size_t n, double kappa,
                               sb_error *err)
{
    sb_estimate estimate;
    const sb_status status =
        sb_estimate_compute(estimator, work->values.f, work->log_p, n, kappa, &estimate, err);
    if (status != SB_OK)
        return status;
    work->n_lines++;
    if (work->has_summary) {
        const estimate_row row = {record->stream, record->draw, record->temperature,
                                  estimate.value, estimator,    k};
        estimate_summary_add(&work->summary, &row);
    } else {
        put_line(&work->out, record, estimator, k, &estimate);
    }
    return SB_OK;
}

/* Of the first n, which are not all: g of the one that follows. */
static sb_status find_kappa(const draw_record *record, size_t n, double *kappa, sb_error *err)
{
    *kappa = record->sequences[n].g;
    if (isnan(*kappa))
        return sb_error_set(err, SB_ERR_INPUT,
                            "sequence %zu: \"g\" is missing, the threshold of those before it",
                            n + 1);
    if (*kappa > record->sequences[n - 1].g)
        return sb_error_set(err, SB_ERR_INPUT, "sequence %zu: not in the order of \"g\"", n + 1);
    return SB_OK;
}

/* The two estimates of SBS at one k. */
static sb_status estimate_sbs(estimate_work *work, const draw_record *record, int32_t k,
                              sb_error *err)
{
    const size_t n_drawn = record->n_sequences;
    size_t n = (size_t)k < n_drawn ? (size_t)k : n_drawn;
    double kappa = record->kappa;
    sb_status status = SB_OK;
    if (work->sacrifice && (size_t)k <= n_drawn) {
        if (--n == 0)
            return SB_OK; /* nothing is left to estimate from */
        status = find_kappa(record, n, &kappa, err);
    } else if (n < n_drawn) {
        status = find_kappa(record, n, &kappa, err);
    } else if (isnan(kappa)) {
        status = sb_error_set(err, SB_ERR_INPUT,
                              "the draw has no \"kappa\", which %s needs: draw without --no-kappa, "
                              "or give --sacrifice%s",
                              sb_estimator_name(SB_ESTIMATOR_SBS),
                              k > 1 ? ", or a --curve that ends below its k" : "");
    } else if (kappa > record->sequences[n - 1].g) {
        status = sb_error_set(err, SB_ERR_INPUT, "\"kappa\" is above the \"g\" of a sequence");
    }
    for (int i = SB_ESTIMATOR_SBS; status == SB_OK && i <= SB_ESTIMATOR_SBS_NORMALISED; i++)
        status = give_estimate(work, record, (sb_estimator)i, k, n, kappa, err);
    return status;
}

static sb_status estimate_beam(estimate_work *work, const draw_record *record, sb_error *err)
{
    sb_status status = SB_OK;
    if (work->has_curve &&
        ((uint64_t)record->k < work->first_k || (uint64_t)record->k > work->last_k))
        return SB_OK;
    for (int i = SB_ESTIMATOR_BEAM; status == SB_OK && i <= SB_ESTIMATOR_BEAM_NORMALISED; i++)
        status =
            give_estimate(work, record, (sb_estimator)i, record->k, record->n_sequences, NAN, err);
    return status;
}

/* Independent samples never are, whatever a record says. */
static bool is_exhausted(const draw_record *record)
{
    return record->exhausted && record->method != SB_METHOD_SAMPLE;
}

/* Every k that is asked for and that the draw holds. */
static sb_status estimate_nested(estimate_work *work, const draw_record *record, sb_error *err)
{
    const uint64_t first = work->has_curve ? work->first_k : (uint64_t)record->k;
    const uint64_t wanted = work->has_curve ? work->last_k : (uint64_t)record->k;
    const bool has_all = wanted <= record->n_sequences || is_exhausted(record);
    const uint64_t last = has_all ? wanted : record->n_sequences;
    sb_status status = SB_OK;
    for (uint64_t k = first; status == SB_OK && k <= last; k++)
        status = record->method == SB_METHOD_SAMPLE
                     ? give_estimate(work, record, SB_ESTIMATOR_MC, (int32_t)k, (size_t)k, NAN, err)
                     : estimate_sbs(work, record, (int32_t)k, err);
    if (status != SB_OK || work->n_lines > 0)
        return status;
    if (first > last)
        return sb_error_set(err, SB_ERR_INPUT,
                            "the draw has %zu sequences, and --curve begins at %" PRIu64,
                            record->n_sequences, first);
    return sb_error_set(err, SB_ERR_INPUT,
                        "--sacrifice takes the only sequence and leaves nothing to estimate from");
}

static const char *why_not(sb_method method)
{
    switch (method) {
    case SB_METHOD_REJECT:
        return "its draws have no kappa; method sbs draws by the same law and has one";
    case SB_METHOD_RESAMPLE: return "its draws do not follow the model's law";
    case SB_METHOD_DIVERSE: return "its sequences are chosen to be unlike, not by the model's law";
    default: return "nothing is known of its law";
    }
}

static sb_status check_record(const draw_record *record, sb_error *err)
{
    switch (record->method) {
    case SB_METHOD_SBS:
    case SB_METHOD_EXPLICIT:
    case SB_METHOD_SAMPLE:
        if (record->n_sequences < (size_t)record->k && !is_exhausted(record))
            return sb_error_set(err, SB_ERR_INPUT,
                                "there are %zu sequences, but \"k\" is %d and \"exhausted\" is not "
                                "true",
                                record->n_sequences, (int)record->k);
        break;
    case SB_METHOD_BEAM: break;
    default:
        return sb_error_set(err, SB_ERR_INPUT, "there is no estimator for method %s: %s",
                            sb_method_name(record->method), why_not(record->method));
    }
    if (record->n_sequences == 0)
        return sb_error_set(err, SB_ERR_INPUT, "there are no sequences");
    return SB_OK;
}

static sb_status estimate_record(estimate_work *work, const draw_record *record, sb_error *err)
{
    sb_status status = check_record(record, err);
    if (status == SB_OK)
        status = estimate_values_fill(&work->values, record, err);
    if (status == SB_OK)
        status = estimate_truth_learn(&work->truth, record, &work->values, err);
    if (status != SB_OK)
        return status;
    work->log_p = cli_realloc(work->log_p, record->n_sequences, sizeof(*work->log_p));
    for (size_t i = 0; i < record->n_sequences; i++)
        work->log_p[i] = record->sequences[i].log_p;
    work->n_lines = 0;
    return record->method == SB_METHOD_BEAM ? estimate_beam(work, record, err)
                                            : estimate_nested(work, record, err);
}

/* --- all of them --- */

/* The next draw: 1, 0 at the end, -1 on failure. A draw that fails has written nothing. */
static int estimate_next(estimate_work *work, sb_error *err)
{
    line_reader *const reader = &work->reader;
    const int more = line_reader_next(reader, err);
    if (more <= 0)
        return more;
    const size_t start = work->out.size;
    draw_record record;
    sb_error problem;
    sb_status status = draw_record_parse(reader->line, reader->size, &record, &problem);
    if (status == SB_OK)
        status = estimate_record(work, &record, &problem);
    draw_record_free(&record);
    if (status == SB_OK)
        return 1;
    work->out.size = start;
    sb_error_set(err, status, "%s:%" PRIu64 ": %.400s", reader->name, reader->number,
                 problem.message);
    return -1;
}

static int estimate_all(estimate_work *work)
{
    sb_error err;
    int more;
    while ((more = estimate_next(work, &err)) > 0)
        if (!output_flush_some(&work->out))
            return EXIT_FAILED;
    sb_status status = more < 0 ? err.status : estimate_values_finish(&work->values, &err);
    if (status == SB_OK && work->has_summary)
        status = estimate_summary_write(&work->summary, &work->truth, &work->out, &err);
    if (!output_flush(&work->out))
        return EXIT_FAILED;
    return status == SB_OK ? EXIT_FINE : cli_failure("estimate", "%s", err.message);
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
    }
    if (code != EXIT_FINE)
        return code;
    if (estimate_values_open(&work->values, work->values_path, work->references, work->n_references,
                             &err) != SB_OK ||
        line_reader_open(&work->reader, NULL, &err) != SB_OK)
        return cli_failure("estimate", "%s", err.message);
    return EXIT_FINE;
}

int cmd_estimate(int argc, char **argv)
{
    options parsed;
    estimate_work work = {.values.function = FUNCTION_NONE, .truth.value = NAN};
    sb_model *model = NULL;
    int i, code = EXIT_FINE;
    work.references = cli_realloc(NULL, (size_t)argc, sizeof(*work.references));
    sb_bleu_config_default(&work.values.bleu);
    options_open(&parsed, &estimate_spec, argc, argv);
    while (code == EXIT_FINE && (i = options_next(&parsed)) >= 0)
        code = parse_option(&work, i, parsed.value);
    if (code == EXIT_FINE)
        code = i == OPTIONS_STOP ? parsed.exit_code : estimate_open(&work, &parsed, &model);
    if (code == EXIT_FINE && i != OPTIONS_STOP)
        code = estimate_all(&work);
    output_free(&work.out);
    free(work.log_p);
    free(work.summary.rows);
    estimate_truth_close(&work.truth);
    estimate_values_close(&work.values);
    line_reader_close(&work.reader);
    sb_model_close(model);
    free(work.references);
    return code;
}
