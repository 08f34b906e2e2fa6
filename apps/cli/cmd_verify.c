/* sbeam verify: checks files of draws, and makes some of the draws again.
 *
 * Records are read only once, so that a pipe can be verified, too. Reservoir sampling chooses the
 * draws to repeat: after n records each of them has been chosen with the same probability. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/record_lines.h"
#include "cli/verify.h"
#include "common/cli.h"
#include "common/line_reader.h"
#include "common/model_path.h"
#include "common/options.h"
#include "common/terminal.h"

enum { VERIFY_SAMPLE, VERIFY_SEED, VERIFY_ALLOW };
enum { FORMAT_TEXT };
enum { DEFAULT_SAMPLE = 100, MOST_SAMPLE = 100000000 };

static const option verify_options[] = {
    [VERIFY_SAMPLE] = {"sample", 0, "N|all",
                       "number of draws to make again, chosen at random, or all (default: 100)"},
    [VERIFY_SEED] = {"seed", 0, "S", "choose the draws that an earlier run with seed S chose"},
    [VERIFY_ALLOW] = {"allow", 0, "FILE",
                      "the permitted outputs of draws that were made with --allow"},
    {0},
};

static const option_spec verify_spec = {
    .command = "verify",
    .synopsis = "[-m FILE] [--sample N|all] [FILE...]",
    .about = "Checks files of draws (JSON lines of sbeam draw). Without FILE, or if it is\n"
             "'-', reads standard input. Every record must be one that a draw can have:\n"
             "distinct sequences in the order of G, weights that follow from log_p and kappa,\n"
             "probabilities that sum to at most 1. No draw may occur twice. With the model,\n"
             "draws chosen at random are made again from their seed, stream and settings, and\n"
             "every field is compared. Without -m, only draws of the default model are made\n"
             "again. At the first wrong record the command names its line and the reason, and\n"
             "exits with status 1.\n",
    .formats = "text|jsonl",
    .own = verify_options,
    .takes_model = true,
};

/* A record that was chosen. */
typedef struct chosen {
    char *line; /* (size), owned */
    size_t size, file;
    uint64_t number; /* of the line in the file */
} chosen;

typedef struct verify_work {
    options parsed;
    char **files; /* (n_files), of the command line */
    size_t n_files;
    sb_model *model;  /* or NULL */
    verify_list list; /* of --allow */
    bool is_default;  /* -m was not given: records may name another model */
    sb_record_set *records;
    line_reader reader;
    size_t n_sample; /* to choose */
    chosen *sample;  /* (n_chosen) */
    size_t n_chosen, capacity;
    uint64_t n_seen; /* records that could be chosen */
    uint64_t random; /* state of the generator */
    bool has_seed;   /* --seed was given */
    verify_report report;
    progress bar;
} verify_work;

/* --- the command line --- */

static int parse_option(verify_work *work, int i, const char *value)
{
    uint64_t n;
    if (i == VERIFY_ALLOW) {
        work->list.path = value;
        return EXIT_FINE;
    }
    if (i == VERIFY_SEED) {
        work->has_seed = true;
        return cli_parse_whole("verify", "--seed", value, 0, UINT64_MAX, &work->report.seed);
    }
    work->report.is_complete = strcmp(value, "all") == 0;
    if (work->report.is_complete)
        return EXIT_FINE;
    const int code = cli_parse_whole("verify", "--sample", value, 0, MOST_SAMPLE, &n);
    if (code == EXIT_FINE)
        work->n_sample = (size_t)n;
    return code;
}

/* Opens the model of -m, or the default one if there is one. */
static int open_model(verify_work *work)
{
    work->is_default = work->parsed.model == NULL;
    char *const path = work->is_default ? model_path_default() : NULL;
    if (work->is_default && path == NULL)
        return EXIT_FINE;
    work->parsed.model = work->is_default ? path : work->parsed.model;
    const int code = options_open_model(&work->parsed, &work->model);
    free(path);
    return code;
}

/* --- repeating --- */

static int fail_record(const char *name, uint64_t number, const sb_error *err)
{
    return cli_failure("verify", "%s:%" PRIu64 ": %s", name, number, err->message);
}

static int repeat(verify_work *work, const char *line, size_t size, const char *name,
                  uint64_t number)
{
    sb_record record;
    sb_error err;
    verify_outcome outcome = {0};
    sb_status status = sb_record_read(&record, line, size, &err);
    if (status == SB_OK)
        status =
            verify_repeat(work->model, &work->parsed.plan, &work->list, &record, &outcome, &err);
    sb_record_close(&record);
    if (status != SB_OK)
        return fail_record(name, number, &err);
    work->report.n_repeated++;
    work->report.n_equal += outcome.is_equal;
    work->report.n_other += outcome.n_other > 0 || outcome.has_other_kappa;
    work->report.rounding = fmax(work->report.rounding, outcome.rounding);
    progress_step(&work->bar);
    return EXIT_FINE;
}

static const char *name_of(const verify_work *work, size_t file)
{
    return strcmp(work->files[file], "-") == 0 ? "standard input" : work->files[file];
}

static int compare_chosen(const void *x, const void *y)
{
    const chosen *const a = x, *const b = y;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int repeat_chosen(verify_work *work)
{
    int code = EXIT_FINE;
    if (work->n_chosen > 1)
        qsort(work->sample, work->n_chosen, sizeof *work->sample, compare_chosen);
    for (size_t i = 0; code == EXIT_FINE && i < work->n_chosen; i++) {
        const chosen *const c = &work->sample[i];
        code = repeat(work, c->line, c->size, name_of(work, c->file), c->number);
    }
    return code;
}

/* --- choosing --- */

/* Returns a random number below n: SplitMix64, whose bias of n / 2^64 does not matter here. */
static uint64_t random_below(verify_work *work, uint64_t n)
{
    uint64_t z = work->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % n;
}

/* Keeps a copy of the current line with the right probability, if need be instead of another
 * line. */
static void choose(verify_work *work, size_t file)
{
    const line_reader *const reader = &work->reader;
    const uint64_t n = work->n_seen++;
    size_t at = work->n_chosen;
    if (n >= work->n_sample) {
        const uint64_t place = random_below(work, n + 1);
        if (place >= work->n_sample)
            return;
        at = (size_t)place;
        free(work->sample[at].line);
    } else {
        cli_reserve(&work->sample, &work->capacity, at + 1, sizeof *work->sample);
        work->n_chosen++;
    }
    char *const copy = cli_realloc(NULL, reader->size, 1);
    memcpy(copy, reader->line, reader->size);
    work->sample[at] = (chosen){copy, reader->size, file, reader->number};
}

/* Finds out whether the draw can be repeated. Fails if -m was given and the record names another
 * model. */
static sb_status can_repeat(const verify_work *work, const sb_record *record, bool *can,
                            sb_error *err)
{
    const char *const id = work->model != NULL ? sb_model_get_info(work->model)->id : NULL;
    const bool is_named = record->model != NULL && id != NULL && strcmp(record->model, id) == 0;
    *can = is_named || (work->model != NULL && !work->is_default);
    if (work->model == NULL || work->is_default)
        return SB_OK;
    return sb_record_set_model(record, work->model, err);
}

/* --- reading --- */

static int check_line(verify_work *work, size_t file)
{
    const line_reader *const reader = &work->reader;
    sb_record record;
    sb_error err;
    bool can = false;
    sb_status status = sb_record_read(&record, reader->line, reader->size, &err);
    if (status == SB_OK)
        status = sb_record_set_add(work->records, &record, reader->number, &err);
    if (status == SB_OK)
        status = can_repeat(work, &record, &can, &err);
    if (status == SB_OK)
        verify_report_add(&work->report, &record);
    sb_record_close(&record);
    if (status != SB_OK)
        return fail_record(reader->name, reader->number, &err);
    if (!can)
        return EXIT_FINE;
    if (work->report.is_complete)
        return repeat(work, reader->line, reader->size, reader->name, reader->number);
    choose(work, file);
    return EXIT_FINE;
}

static int check_file(verify_work *work, size_t file)
{
    sb_error err;
    int code = EXIT_FINE, more = 0;
    if (line_reader_open(&work->reader, work->files[file], &err) != SB_OK ||
        (work->n_files > 1 &&
         sb_record_set_begin_file(work->records, name_of(work, file), &err) != SB_OK))
        return cli_failure("verify", "%s", err.message);
    while (code == EXIT_FINE && (more = record_lines_next(&work->reader, &err)) > 0)
        code = check_line(work, file);
    if (code == EXIT_FINE && more < 0)
        code = cli_failure("verify", "%s", err.message);
    line_reader_close(&work->reader);
    work->report.n_files++;
    return code;
}

static int verify(verify_work *work)
{
    sb_error err;
    if (sb_record_set_open(&work->records, &err) != SB_OK)
        return cli_failure("verify", "%s", err.message);
    progress_open(&work->bar, 0);
    int code = EXIT_FINE;
    for (size_t i = 0; code == EXIT_FINE && i < work->n_files; i++)
        code = check_file(work, i);
    if (code == EXIT_FINE)
        code = repeat_chosen(work);
    progress_close(&work->bar);
    if (code != EXIT_FINE)
        return code;
    output out = {0};
    const terminal term = terminal_look();
    if (work->parsed.format == FORMAT_TEXT)
        verify_report_put_text(&work->report, &term, &out);
    else
        verify_report_put_json(&work->report, &out);
    const bool written = output_flush(&out);
    output_free(&out);
    return written ? EXIT_FINE : EXIT_FAILED;
}

int cmd_verify(int argc, char **argv)
{
    static char dash[] = "-";
    char *standard_input[] = {dash};
    verify_work work = {.n_sample = DEFAULT_SAMPLE};
    int i, code = EXIT_FINE;
    options_open(&work.parsed, &verify_spec, argc, argv);
    while (code == EXIT_FINE && (i = options_next(&work.parsed)) >= 0)
        code = parse_option(&work, i, work.parsed.value);
    const bool is_stopped = code == EXIT_FINE && i == OPTIONS_STOP;
    if (is_stopped)
        code = work.parsed.exit_code;
    else if (code == EXIT_FINE && !work.has_seed)
        code = cli_random_seed("verify", &work.report.seed);
    if (is_stopped || code != EXIT_FINE)
        return code;
    work.random = work.report.seed;
    work.n_files = work.parsed.n_args > 0 ? (size_t)work.parsed.n_args : 1;
    work.files = work.parsed.n_args > 0 ? work.parsed.argv + 1 : standard_input;
    code = open_model(&work);
    if (code == EXIT_FINE)
        code = verify(&work);
    for (size_t c = 0; c < work.n_chosen; c++)
        free(work.sample[c].line);
    free(work.sample);
    verify_report_close(&work.report);
    sb_record_set_close(work.records);
    verify_list_close(&work.list);
    sb_model_close(work.model);
    return code;
}
