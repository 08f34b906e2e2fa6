/* Records of draws for programs: JSON lines and tab-separated values. Numbers read back to the same
 * double. In JSON what a method lacks is null; in a table it is nan, and a threshold of -inf is
 * -inf. */
#include <math.h>
#include <string.h>

#include "cli/draw_writer.h"
#include "common/cli.h"

static void put_number_key(output *out, const char *key, double x)
{
    output_key(out, key);
    output_json_number(out, x);
}

static void put_unsigned_key(output *out, const char *key, uint64_t n)
{
    output_key(out, key);
    output_unsigned(out, n);
}

/* Names of methods and ends: nothing in them to escape. */
static void put_word_key(output *out, const char *key, const char *word)
{
    output_key(out, key);
    output_char(out, '"');
    output_text(out, word);
    output_char(out, '"');
}

static sb_status put_sequence(draw_writer *writer, const sb_sequence *sequence, sb_error *err)
{
    char *text;
    const sb_status status =
        cli_decode(writer->model, sequence->tokens, sequence->n_tokens, writer->marker, &text, err);
    if (status != SB_OK)
        return status;
    output *const out = &writer->out;
    output_char(out, '{');
    output_key(out, "text");
    output_json_string(out, text, strlen(text));
    sb_free(text);
    output_key(out, "tokens");
    output_json_tokens(out, sequence->tokens, sequence->n_tokens);
    put_number_key(out, "log_p", sequence->log_p);
    put_number_key(out, "log_p_model", sequence->log_p_model);
    put_number_key(out, "g", sequence->g);
    put_number_key(out, "log_weight", sequence->log_weight);
    put_word_key(out, "end", sb_end_name(sequence->end));
    output_char(out, '}');
    return SB_OK;
}

sb_status draw_write_jsonl(draw_writer *writer, const sb_input *input, const sb_result *result,
                           sb_error *err)
{
    output *const out = &writer->out;
    const size_t start = out->size;
    output_char(out, '{');
    put_unsigned_key(out, "stream", result->stream);
    put_unsigned_key(out, "draw", result->draw);
    output_key(out, "input");
    output_json_string(out, input->text, input->size);
    put_word_key(out, "method", sb_method_name(result->method));
    put_unsigned_key(out, "k", (uint64_t)result->k);
    put_number_key(out, "temperature", result->temperature);
    put_unsigned_key(out, "seed", result->seed);
    put_number_key(out, "kappa", result->kappa);
    output_key(out, "exhausted");
    output_json_bool(out, result->exhausted);
    put_number_key(out, "log_p_draw", result->log_p_draw);
    put_unsigned_key(out, "model_rows", result->model_rows);
    if (result->method == SB_METHOD_REJECT) {
        output_key(out, "complete");
        output_json_bool(out, result->complete);
        put_unsigned_key(out, "samples", result->samples);
        put_unsigned_key(out, "sampled_rows", result->sampled_rows);
    }
    if (result->method == SB_METHOD_DIVERSE) {
        const int32_t groups = writer->config->groups;
        put_unsigned_key(out, "groups", (uint64_t)(groups > 0 ? groups : result->k));
        put_number_key(out, "strength", writer->config->strength);
    }
    output_key(out, "sequences");
    output_char(out, '[');
    for (int32_t i = 0; i < result->n_sequences; i++) {
        if (i > 0)
            output_char(out, ',');
        const sb_status status = put_sequence(writer, &result->sequences[i], err);
        if (status != SB_OK) {
            out->size = start;
            return status;
        }
    }
    output_text(out, "]}\n");
    writer->n_records++;
    return SB_OK;
}

sb_status draw_write_tsv(draw_writer *writer, const sb_input *input, const sb_result *result,
                         sb_error *err)
{
    (void)input;
    output *const out = &writer->out;
    const size_t start = out->size;
    if (writer->n_records == 0)
        output_text(out, "stream\tdraw\tmethod\tk\ttemperature\tseed\tkappa\trank\tlog_p\t"
                         "log_p_model\tg\tlog_weight\tend\ttext\n");
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const sequence = &result->sequences[i];
        char *text;
        const sb_status status = cli_decode(writer->model, sequence->tokens, sequence->n_tokens,
                                            writer->marker, &text, err);
        if (status != SB_OK) {
            out->size = start;
            return status;
        }
        output_unsigned(out, result->stream);
        output_char(out, '\t');
        output_unsigned(out, result->draw);
        output_format(out, "\t%s\t%d\t", sb_method_name(result->method), (int)result->k);
        output_number(out, result->temperature);
        output_char(out, '\t');
        output_unsigned(out, result->seed);
        output_char(out, '\t');
        output_number(out, result->kappa);
        output_format(out, "\t%d", (int)i + 1);
        const double numbers[] = {sequence->log_p, sequence->log_p_model, sequence->g,
                                  sequence->log_weight};
        for (size_t j = 0; j < sizeof(numbers) / sizeof(numbers[0]); j++) {
            output_char(out, '\t');
            output_number(out, numbers[j]);
        }
        output_format(out, "\t%s\t", sb_end_name(sequence->end));
        output_field(out, text, strlen(text));
        output_char(out, '\n');
        sb_free(text);
    }
    writer->n_records++;
    return SB_OK;
}
