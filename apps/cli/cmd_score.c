/* sbeam score: log-probabilities of given outputs under the model itself (T = 1, nothing masked).
 *
 * An output is scored as a whole sequence: EOS is appended, and its log-probability is the last of
 * token_log_p. Trees have no EOS. score_pool.c reads the lines and spreads them over threads. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/score_pool.h"
#include "common/cli.h"
#include "common/options.h"
#include "common/utf.h"
#include "sbeam/draw.h"

enum { SCORE_INPUT, SCORE_NO_EOS };

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
static sb_status split_line(const char *line, size_t size, sb_input_record *record, sb_error *err)
{
    const char *const tab = memchr(line, '\t', size);
    if (tab == NULL)
        return sb_error_set(err, SB_ERR_INPUT,
                            "expected a tab between input and output, found none");
    *record = (sb_input_record){.input_size = (size_t)(tab - line)};
    record->output_size = size - record->input_size - 1;
    record->input = copy_part(line, record->input_size);
    record->output = copy_part(tab + 1, record->output_size);
    if (record->input != NULL && record->output != NULL)
        return SB_OK;
    sb_input_record_close(record);
    return sb_error_set(err, SB_ERR_MEMORY, "not enough memory");
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

sb_status score_line(const score_work *work, score_item *item)
{
    sb_input_record *const record = &item->record;
    sb_status status = work->is_jsonl
                           ? sb_input_record_read(record, item->text, item->size, true, &item->err)
                           : split_line(item->text, item->size, record, &item->err);
    if (status == SB_OK && !record->has_stream)
        record->stream = item->line - 1;
    if (status == SB_OK)
        status = complete_record(work, record, &item->err);
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

void score_write(const score_item *item, output *out)
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

int cmd_score(int argc, char **argv)
{
    options parsed;
    score_work work = {0};
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
    work.model = model;
    code = score_lines(&work, (size_t)parsed.plan.threads);
    sb_model_close(model);
    return code;
}
