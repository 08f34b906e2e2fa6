/* sbeam shuf: shuf(1) with weights.
 *
 * Each line goes to a Gumbel-Top-k sampler as it is read, and only the lines of the sample are
 * kept. So memory grows with the sample, not with the input. Lines are written in the order drawn.
 * Without -n the sample is a weighted permutation of all lines. Then all lines are kept, because
 * the sampler needs their number before the first.
 *
 * The lines are the user's data: -f text copies their bytes and line ends, as shuf(1) does. Only on
 * a terminal are they escaped, because a terminal obeys control codes. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "common/cli.h"
#include "common/line_reader.h"
#include "common/options.h"
#include "common/output.h"
#include "common/utf.h"
#include "sbeam/topk.h"

enum { SHUF_COUNT, SHUF_WEIGHT, SHUF_DELIMITER, SHUF_LOG, SHUF_VERBOSE };
enum { FORMAT_TEXT, FORMAT_JSONL, FORMAT_TSV };
enum { MOST_LINES = INT32_MAX - 1 }; /* the limit of sb_topk_open */

static const option shuf_options[] = {
    [SHUF_COUNT] = {"lines", 'n', "N", "lines to draw (default: all of them)"},
    [SHUF_WEIGHT] = {"weight", 'w', "COLUMN",
                     "column of the weight, counted from 1 (default: all weights are 1)"},
    [SHUF_DELIMITER] = {"delimiter", 0, "C", "character between columns (default: tab)"},
    [SHUF_LOG] = {"log-weights", 0, NULL, "the column holds natural logarithms of weights"},
    [SHUF_VERBOSE] = {"verbose", 0, NULL, "print the seed on standard error"},
    {0},
};

static bool takes_seed(const sb_option *setting)
{
    return strcmp(setting->name, "seed") == 0;
}

static const option_spec shuf_spec = {
    .command = "shuf",
    .synopsis = "[-n N] [-w COLUMN] [OPTION...] [FILE]",
    .about = "Draws lines of FILE, or of standard input, by weight and without replacement:\n"
             "the first is line i with probability proportional to its weight, the second\n"
             "likewise among the rest, and so on. Reads the lines once and keeps N of them. A\n"
             "line of weight zero is never drawn. With -f jsonl each line has its\n"
             "log-probability, its perturbed log-probability and its importance weight.\n"
             "-f text copies the bytes of a line; on a terminal it escapes control codes.\n",
    .formats = "text|jsonl|tsv",
    .own = shuf_options,
    .takes = takes_seed,
};

/* The bytes of a kept line. The next line in its slot reuses the buffer. */
typedef struct kept_line {
    char *text;
    size_t size, capacity;
    bool has_return; /* the line ended in \r\n */
} kept_line;

typedef struct shuf_work {
    uint64_t n;      /* lines to draw, UINT64_MAX: all */
    uint64_t column; /* of the weight, 0: none */
    char delimiter;
    bool is_log, is_verbose;
    line_reader reader;
    kept_line *kept; /* by slot of the sampler; by line if all are drawn */
    size_t n_kept;
    double *log_weights; /* by line if all are drawn, else NULL */
} shuf_work;

static int parse_own(shuf_work *work, int i, const char *value)
{
    switch (i) {
    case SHUF_COUNT: return cli_parse_whole("shuf", "-n", value, 0, MOST_LINES, &work->n);
    case SHUF_WEIGHT: return cli_parse_whole("shuf", "-w", value, 1, UINT32_MAX, &work->column);
    case SHUF_DELIMITER:
        work->delimiter = value[0];
        if (value[0] == '\0' || value[1] != '\0')
            return cli_usage("shuf", "--delimiter is one character, not '%.*s'", utf_excerpt(value),
                             value);
        break;
    case SHUF_LOG: work->is_log = true; break;
    case SHUF_VERBOSE: work->is_verbose = true; break;
    default: break;
    }
    return EXIT_FINE;
}

/* Prints why the weight of the current line is refused. Returns the exit code. */
static int refuse_weight(const shuf_work *work, const char *why, const char *field)
{
    if (field[0] == '\0')
        return cli_failure("shuf", "%s:%" PRIu64 ": %s", work->reader.name, work->reader.number,
                           why);
    return cli_failure("shuf", "%s:%" PRIu64 ": %s: '%.*s'", work->reader.name, work->reader.number,
                       why, utf_excerpt(field), field);
}

/* Reads the log-weight of the current line. Returns the exit code. */
static int read_weight(const shuf_work *work, double *log_weight)
{
    *log_weight = 0;
    if (work->column == 0)
        return EXIT_FINE;
    const char *field = work->reader.line;
    const char *const end = field + work->reader.size;
    for (uint64_t column = 1; column < work->column && field != NULL; column++) {
        field = memchr(field, work->delimiter, (size_t)(end - field));
        field = field != NULL ? field + 1 : NULL;
    }
    if (field == NULL)
        return refuse_weight(work, "the line has no column for the weight (-w)", "");
    const char *stop = memchr(field, work->delimiter, (size_t)(end - field));
    stop = stop != NULL ? stop : end;
    char text[400] = "";
    const size_t size = (size_t)(stop - field);
    if (size >= sizeof text)
        return refuse_weight(work, "the weight is too long", "");
    memcpy(text, field, size);
    if (strlen(text) < size)
        return refuse_weight(work, "the weight has a zero byte (NUL); expected a number", "");
    char *rest;
    errno = 0;
    const double value = strtod(text, &rest);
    rest += strspn(rest, " \r");
    if (rest == text || rest != text + size)
        return refuse_weight(
            work, text[0] != '\0' ? "the weight is not a number" : "the weight is empty", text);
    if (isnan(value) || value == INFINITY || (!work->is_log && value < 0))
        return refuse_weight(work, "a weight must be finite and not negative", text);
    if (!work->is_log && value == 0 && errno == ERANGE)
        return refuse_weight(work, "the weight is too small; use --log-weights", text);
    if (work->is_log && fabs(value) > 1e12 && value != -INFINITY)
        return refuse_weight(work, "a log-weight beyond 1e12 leaves no room for the noise", text);
    *log_weight = work->is_log ? value : log(value);
    return EXIT_FINE;
}

static void keep_line(shuf_work *work, size_t at)
{
    if (at >= work->n_kept) {
        size_t bigger = work->n_kept < 16 ? 16 : work->n_kept;
        while (bigger <= at)
            bigger *= 2;
        work->kept = cli_realloc(work->kept, bigger, sizeof *work->kept);
        memset(work->kept + work->n_kept, 0, (bigger - work->n_kept) * sizeof *work->kept);
        work->n_kept = bigger;
    }
    kept_line *const kept = &work->kept[at];
    if (kept->text == NULL || kept->capacity < work->reader.size) {
        kept->text = cli_realloc(kept->text, work->reader.size, 1);
        kept->capacity = work->reader.size;
    }
    memcpy(kept->text, work->reader.line, work->reader.size);
    kept->size = work->reader.size;
    kept->has_return = work->reader.has_return;
}

/* Reads every line and passes it to the sampler, or keeps it if `topk` is NULL: all lines are
 * drawn. Returns the exit code. */
static int read_lines(shuf_work *work, sb_topk *topk)
{
    sb_error err;
    int more;
    size_t capacity = 0;
    while ((more = line_reader_next(&work->reader, &err)) > 0) {
        double log_weight;
        const int code = read_weight(work, &log_weight);
        if (code != EXIT_FINE)
            return code;
        if (topk == NULL) {
            const size_t at = (size_t)(work->reader.number - 1);
            cli_reserve(&work->log_weights, &capacity, at + 1, sizeof *work->log_weights);
            work->log_weights[at] = log_weight;
            keep_line(work, at);
            continue;
        }
        int32_t slot;
        if (sb_topk_push(topk, log_weight, &slot, &err) != SB_OK)
            return cli_failure("shuf", "%s:%" PRIu64 ": %s", work->reader.name, work->reader.number,
                               err.message);
        if (slot >= 0)
            keep_line(work, (size_t)slot);
    }
    return more < 0 ? cli_error("shuf", &err) : EXIT_FINE;
}

/* Writes a line as it is. For a terminal, escapes all characters that do not appear on it, except
 * tabs. */
static void put_line(output *out, const kept_line *line, bool is_terminal)
{
    if (!is_terminal) {
        output_bytes(out, line->text, line->size);
        output_bytes(out, "\r", line->has_return);
        return;
    }
    for (size_t i = 0; i < line->size;) {
        const char *const tab = memchr(line->text + i, '\t', line->size - i);
        const size_t end = tab != NULL ? (size_t)(tab - line->text) : line->size;
        utf_put_cut(out, line->text + i, end - i, SIZE_MAX, true);
        output_bytes(out, "\t", tab != NULL);
        i = end + (tab != NULL);
    }
}

static void put_item(output *out, int format, const sb_topk_item *item, const kept_line *line,
                     double kappa, uint64_t seed, bool is_terminal)
{
    const double numbers[] = {item->g, item->log_p, item->log_weight, kappa};
    static const char *const names[] = {"g", "log_p", "log_weight", "kappa"};
    if (format == FORMAT_TEXT) {
        put_line(out, line, is_terminal);
    } else if (format == FORMAT_JSONL) {
        output_text(out, "{\"line\":");
        output_unsigned(out, item->index + 1);
        output_key(out, "text");
        output_json_string(out, line->text, line->size);
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
            output_key_number(out, names[i], numbers[i]);
        output_key(out, "seed");
        output_unsigned(out, seed);
        output_char(out, '}');
    } else {
        output_unsigned(out, item->index + 1);
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            output_char(out, '\t');
            output_number(out, numbers[i]);
        }
        output_char(out, '\t');
        output_field(out, line->text, line->size);
    }
    output_char(out, '\n');
}

static void put_names(output *out, int format)
{
    if (format == FORMAT_TSV)
        output_text(out, "line\tg\tlog_p\tlog_weight\tkappa\ttext\n");
}

static int write_sample(const shuf_work *work, sb_topk *topk, int format, uint64_t seed)
{
    const sb_topk_item *items;
    int32_t n;
    double kappa;
    sb_error err;
    if (sb_topk_items(topk, &items, &n, &kappa, &err) != SB_OK)
        return cli_error("shuf", &err);
    const bool all = work->log_weights != NULL, is_terminal = isatty(STDOUT_FILENO);
    output out = {0};
    bool written = true;
    put_names(&out, format);
    for (int32_t i = 0; i < n && written; i++) {
        const size_t at = all ? (size_t)items[i].index : (size_t)items[i].slot;
        put_item(&out, format, &items[i], &work->kept[at], kappa, seed, is_terminal);
        written = output_flush_some(&out);
    }
    written = written && output_flush(&out);
    output_free(&out);
    return written ? EXIT_FINE : EXIT_FAILED;
}

/* Writes a sample of no lines. Nothing is read. */
static int write_nothing(int format)
{
    output out = {0};
    put_names(&out, format);
    const bool written = output_flush(&out);
    output_free(&out);
    return written ? EXIT_FINE : EXIT_FAILED;
}

static int shuffle(shuf_work *work, const options *parsed)
{
    const uint64_t seed = parsed->config.seed;
    sb_topk *topk = NULL;
    sb_error err;
    const bool all = work->n == UINT64_MAX;
    if (!all && sb_topk_open(&topk, (int32_t)work->n, seed, &err) != SB_OK)
        return cli_error("shuf", &err);
    int code = read_lines(work, topk);
    const uint64_t n_lines = work->reader.number;
    if (code == EXIT_FINE && all) {
        const uint64_t k = n_lines < 1 ? 1 : n_lines;
        if (n_lines > MOST_LINES)
            return cli_failure("shuf", "%s: there are more than %d lines; draw fewer with -n",
                               work->reader.name, MOST_LINES);
        if (sb_topk_open(&topk, (int32_t)k, seed, &err) != SB_OK)
            return cli_failure("shuf", "%s", err.message);
        for (uint64_t i = 0; i < n_lines && code == EXIT_FINE; i++) {
            int32_t slot;
            if (sb_topk_push(topk, work->log_weights[i], &slot, &err) != SB_OK)
                code = cli_failure("shuf", "%s", err.message);
        }
    }
    if (code == EXIT_FINE && topk != NULL)
        code = write_sample(work, topk, parsed->format, seed);
    sb_topk_close(topk);
    return code;
}

int cmd_shuf(int argc, char **argv)
{
    options parsed;
    shuf_work work = {.n = UINT64_MAX, .delimiter = '\t'};
    int i;
    options_open(&parsed, &shuf_spec, argc, argv);
    while ((i = options_next(&parsed)) >= 0) {
        const int code = parse_own(&work, i, parsed.value);
        if (code != EXIT_FINE)
            return code;
    }
    if (i == OPTIONS_STOP)
        return parsed.exit_code;
    if (parsed.n_args > 1)
        return cli_usage("shuf", "expected at most one FILE, found %d", parsed.n_args);
    if (work.is_log && work.column == 0)
        return cli_usage("shuf", "--log-weights needs a column: -w COLUMN");
    int code = options_check(&parsed);
    if (code != EXIT_FINE)
        return code;
    if (work.is_verbose)
        fprintf(stderr, "seed %" PRIu64 "\n", parsed.config.seed);
    if (work.n == 0)
        return write_nothing(parsed.format);
    sb_error err;
    if (line_reader_open(&work.reader, parsed.n_args == 1 ? argv[1] : NULL, &err) != SB_OK)
        return cli_error("shuf", &err);
    code = shuffle(&work, &parsed);
    for (size_t j = 0; j < work.n_kept; j++)
        free(work.kept[j].text);
    free(work.kept);
    free(work.log_weights);
    line_reader_close(&work.reader);
    return code;
}
