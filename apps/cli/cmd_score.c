/* sbeam score: log-probabilities of given outputs under the model itself (T = 1, nothing masked).
 *
 * An output is scored as a whole sequence: EOS is appended, and its log-probability is the last of
 * token_log_p. Trees have no EOS. Lines are read in blocks, the threads score a block, and the
 * records are written in the order of the lines. */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "common/cli.h"
#include "common/line_reader.h"
#include "common/options.h"
#include "common/output.h"
#include "common/utf.h"
#include "sbeam/draw.h"
#include "sbeam/record.h"

enum { SCORE_INPUT, SCORE_NO_EOS };
enum { LINES_PER_THREAD = 16 };

static const option score_options[] = {
    [SCORE_INPUT] =
        {"input", 0, "text|jsonl",
         "form of the lines: input<TAB>output, or objects with \"input\" and \"output\" or "
         "\"tokens\" (default: text)"},
    [SCORE_NO_EOS] = {"no-eos", 0, NULL, "score the output as a prefix: append no EOS"},
    {0},
};

static const option_spec score_spec = {
    .command = "score",
    .synopsis = "[-m FILE] [OPTION...] < LINES",
    .about = "Reads pairs of input and output from standard input and writes, as JSON lines,\n"
             "the log-probability of each output: the total, and that of each token. With\n"
             "--max-len N, an output of N tokens ends without EOS, as in a draw.\n",
    .formats = "jsonl",
    .own = score_options,
    .takes_model = true,
    .takes = options_takes_max_len,
};

/* One line and its score. */
typedef struct score_item {
    uint64_t line;
    sb_input_record record;
    int32_t n_scored;    /* tokens and EOS */
    double *token_log_p; /* (n_scored); owned */
    sb_status status;
    sb_error err;
} score_item;

typedef struct score_work {
    const sb_model *model;
    const options *parsed;
    bool is_jsonl, no_eos;
    int32_t max_len; /* 0: no limit was given */
    line_reader reader;
    score_item *items; /* a block of lines */
    size_t n_items, capacity;
    size_t n_threads;
} score_work;

/* Copies `size` bytes, terminated, to memory that sb_input_record_close frees. */
static char *copy_part(const char *text, size_t size)
{
    char *const copy = sb_alloc(size + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

/* Splits a line at its tab. */
static sb_status split_line(const line_reader *reader, sb_input_record *record, sb_error *err)
{
    const char *const tab = memchr(reader->line, '\t', reader->size);
    if (tab == NULL)
        return sb_error_set(err, SB_ERR_INPUT,
                            "expected a tab between input and output, found none");
    *record = (sb_input_record){.input_size = (size_t)(tab - reader->line)};
    record->output_size = reader->size - record->input_size - 1;
    record->input = copy_part(reader->line, record->input_size);
    record->output = copy_part(tab + 1, record->output_size);
    if (record->input != NULL && record->output != NULL)
        return SB_OK;
    sb_input_record_close(record);
    return sb_error_set(err, SB_ERR_MEMORY, "not enough memory");
}

/* Reads the next block, which is empty at the end of the input. Returns the exit code. */
static int read_block(score_work *work)
{
    sb_error err;
    int more = 0;
    work->n_items = 0;
    while (work->n_items < work->capacity) {
        more = line_reader_next(&work->reader, &err);
        if (more <= 0)
            break;
        score_item *const item = &work->items[work->n_items];
        *item = (score_item){.line = work->reader.number};
        const sb_status status = work->is_jsonl
                                     ? sb_input_record_read(&item->record, work->reader.line,
                                                            work->reader.size, true, &err)
                                     : split_line(&work->reader, &item->record, &err);
        if (status != SB_OK)
            return cli_failure("score", "%s:%" PRIu64 ": %s", work->reader.name, item->line,
                               err.message);
        if (!item->record.has_stream)
            item->record.stream = item->line - 1;
        work->n_items++;
    }
    return more < 0 ? cli_error("score", &err) : EXIT_FINE;
}

/* Computes the tokens of an output given as text, or the text of an output given as tokens. */
static sb_status complete_record(const score_work *work, sb_input_record *record, sb_error *err)
{
    if (record->tokens == NULL)
        return sb_model_encode(work->model, record->output, record->output_size, &record->tokens,
                               &record->n_tokens, err);
    const int32_t vocab_size = sb_model_get_info(work->model)->vocab_size;
    for (int32_t i = 0; i < record->n_tokens; i++) {
        if (record->tokens[i] >= vocab_size) {
            sb_error_set(err, SB_ERR_INPUT,
                         "token %" PRId32 " is not in the vocabulary, whose ids are below %" PRId32,
                         record->tokens[i], vocab_size);
            return SB_ERR_INPUT;
        }
    }
    const sb_status status =
        sb_model_decode(work->model, record->tokens, record->n_tokens, &record->output, err);
    if (status == SB_OK)
        record->output_size = strlen(record->output);
    return status;
}

static sb_status score_one(const score_work *work, score_item *item)
{
    sb_input_record *const record = &item->record;
    const sb_status status = complete_record(work, record, &item->err);
    if (status != SB_OK)
        return status;
    const sb_model_info *const info = sb_model_get_info(work->model);
    if (work->max_len > 0 && record->n_tokens > work->max_len) {
        sb_error_set(&item->err, SB_ERR_INPUT,
                     "the output has %" PRId32 " tokens, but --max-len is %" PRId32,
                     record->n_tokens, work->max_len);
        return SB_ERR_INPUT;
    }
    const int32_t eos = info->eos, n = record->n_tokens;
    const bool is_whole =
        (work->max_len > 0 && n == work->max_len) || (info->max_len > 0 && n == info->max_len);
    int32_t *const tokens = cli_realloc(NULL, (size_t)n + 1, sizeof *tokens);
    if (n > 0)
        memcpy(tokens, record->tokens, (size_t)n * sizeof *tokens);
    item->n_scored = n;
    if (eos >= 0 && !work->no_eos && !is_whole)
        tokens[item->n_scored++] = eos;
    item->token_log_p = cli_realloc(NULL, (size_t)item->n_scored, sizeof *item->token_log_p);
    const sb_status scored = sb_score(work->model, record->input, record->input_size, tokens,
                                      item->n_scored, item->token_log_p, &item->err);
    free(tokens);
    return scored;
}

/* The share of one thread: lines first, first + step, ... of the block. */
typedef struct score_share {
    score_work *work;
    size_t first, step;
    pthread_t thread;
    bool is_started;
} score_share;

static void *score_lines(void *user)
{
    const score_share *const share = user;
    for (size_t i = share->first; i < share->work->n_items; i += share->step)
        share->work->items[i].status = score_one(share->work, &share->work->items[i]);
    return NULL;
}

/* Scores the block. If a thread cannot be started, the calling thread does its share. */
static void score_block(score_work *work)
{
    const size_t n = work->n_threads;
    score_share *const shares = cli_realloc(NULL, n, sizeof *shares);
    for (size_t i = 0; i < n; i++) {
        score_share *const share = &shares[i];
        *share = (score_share){.work = work, .first = i, .step = n};
        share->is_started = i > 0 && pthread_create(&share->thread, NULL, score_lines, share) == 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (shares[i].is_started)
            pthread_join(shares[i].thread, NULL);
        else
            score_lines(&shares[i]);
    }
    free(shares);
}

static void put_record(output *out, const score_item *item)
{
    const sb_input_record *const record = &item->record;
    double sum = 0;
    for (int32_t i = 0; i < item->n_scored; i++)
        sum += item->token_log_p[i];
    output_text(out, "{\"stream\":");
    output_unsigned(out, record->stream);
    output_key(out, "input");
    output_json_string(out, record->input, record->input_size);
    output_key(out, "output");
    output_json_string(out, record->output, record->output_size);
    output_key(out, "tokens");
    output_json_tokens(out, record->tokens, record->n_tokens);
    output_key_number(out, "log_p", sum);
    output_key(out, "token_log_p");
    output_char(out, '[');
    for (int32_t i = 0; i < item->n_scored; i++) {
        if (i > 0)
            output_char(out, ',');
        output_json_number(out, item->token_log_p[i]);
    }
    output_text(out, "]}\n");
}

/* Writes the block up to the first line that failed. Returns the exit code. */
static int write_block(const score_work *work, output *out)
{
    for (size_t i = 0; i < work->n_items; i++) {
        const score_item *const item = &work->items[i];
        if (item->status != SB_OK) {
            output_flush(out);
            return cli_failure("score", "%s:%" PRIu64 ": %s", work->reader.name, item->line,
                               item->err.message);
        }
        put_record(out, item);
        if (!output_flush_some(out))
            return EXIT_FAILED;
    }
    return EXIT_FINE;
}

static int score_all(score_work *work)
{
    output out = {0};
    int code;
    do {
        code = read_block(work);
        const int read_code = code;
        score_block(work);
        code = write_block(work, &out);
        if (code == EXIT_FINE)
            code = read_code;
        for (size_t i = 0; i < work->n_items; i++) {
            sb_input_record_close(&work->items[i].record);
            free(work->items[i].token_log_p);
        }
    } while (code == EXIT_FINE && work->n_items > 0);
    if (!output_flush(&out))
        code = EXIT_FAILED;
    output_free(&out);
    return code;
}

int cmd_score(int argc, char **argv)
{
    options parsed;
    score_work work = {.parsed = &parsed};
    int i;
    options_open(&parsed, &score_spec, argc, argv);
    while ((i = options_next(&parsed)) >= 0) {
        if (i == SCORE_NO_EOS)
            work.no_eos = true;
        else if (strcmp(parsed.value, "jsonl") == 0 || strcmp(parsed.value, "text") == 0)
            work.is_jsonl = parsed.value[0] == 'j';
        else
            return cli_usage("score", "--input is text or jsonl, not '%.*s'",
                             utf_excerpt(parsed.value), parsed.value);
    }
    if (i == OPTIONS_STOP)
        return parsed.exit_code;
    if (parsed.n_args > 1 || (parsed.n_args == 1 && strcmp(argv[1], "-") != 0))
        return cli_usage("score", "the pairs are read from standard input, not from '%.*s'",
                         utf_excerpt(argv[1]), argv[1]);
    if (options_has(&parsed, "max-len"))
        work.max_len = parsed.config.max_len;
    sb_model *model;
    int code = options_open_model(&parsed, &model);
    if (code != EXIT_FINE)
        return code;
    sb_error err;
    if (line_reader_open(&work.reader, NULL, &err) != SB_OK) {
        code = cli_error("score", &err);
    } else {
        work.model = model;
        work.n_threads = (size_t)parsed.plan.threads;
        work.capacity = isatty(STDIN_FILENO) ? 1 : work.n_threads * LINES_PER_THREAD;
        work.items = cli_realloc(NULL, work.capacity, sizeof *work.items);
        code = score_all(&work);
        free(work.items);
    }
    line_reader_close(&work.reader);
    sb_model_close(model);
    return code;
}
