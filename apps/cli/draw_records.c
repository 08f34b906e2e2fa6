/* Records of draws for programs: JSON lines and tab-separated values. Numbers read back to the same
 * double. A number that the method does not have is null in JSON and nan in a table. A threshold of
 * -inf is null in JSON and -inf in a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/draw_writer.h"
#include "common/cli.h"

static void put_unsigned_key(output *out, const char *key, uint64_t n)
{
    output_key(out, key);
    output_unsigned(out, n);
}

/* Writes a member whose value is the name of a method or an end, which needs no escaping. */
static void put_word_key(output *out, const char *key, const char *word)
{
    output_key(out, key);
    output_char(out, '"');
    output_text(out, word);
    output_char(out, '"');
}

sb_status draw_decode(const draw_writer *writer, const sb_sequence *sequence, char **text,
                      sb_error *err)
{
    const sb_status status =
        sb_model_decode(writer->model, sequence->tokens, sequence->n_tokens, text, err);
    if (status != SB_OK || sequence->end != SB_END_STOP)
        return status;
    char *first = NULL; /* stop strings may overlap: find all before cutting */
    for (size_t i = 0; i < writer->config->n_stop; i++) {
        char *const stop = strstr(*text, writer->config->stop[i]);
        if (stop != NULL && (first == NULL || stop < first))
            first = stop;
    }
    if (first != NULL)
        *first = '\0';
    return SB_OK;
}

/* Returns whether the settings leave the option out: the record has a key for it anyway, or it has
 * its default value. A method always shows its groups and strength. */
static bool is_left_out(const draw_writer *writer, const sb_option *option, const char *value)
{
    static const char *const own[] = {"method", "k", "temperature", "seed", "kappa"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(option->name, own[i]) == 0)
            return true;
    const bool always =
        sb_method_takes(writer->config->method, option->name) &&
        (strcmp(option->name, "groups") == 0 || strcmp(option->name, "strength") == 0);
    return strcmp(value, option->default_text) == 0 && !always;
}

/* Writes ,"key":value. The key is the option's name with underscores for dashes. */
static void put_setting(draw_writer *writer, const sb_option *option, const char *value)
{
    output *const out = &writer->settings;
    output_text(out, ",\"");
    for (const char *c = option->name; *c != '\0'; c++)
        output_char(out, *c == '-' ? '_' : *c);
    output_text(out, "\":");
    if (strcmp(option->name, "groups") == 0 && writer->config->groups == 0)
        output_unsigned(out, (uint64_t)writer->config->k);
    else if (option->type == SB_OPTION_CHOICE)
        output_json_string(out, value, strlen(value));
    else
        output_text(out, value);
}

/* Writes ,"key":["..",".."] if n > 0. */
static void put_texts(output *out, const char *key, const char *const *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        output_format(out, i == 0 ? ",\"%s\":[" : ",", key);
        output_json_string(out, texts[i], strlen(texts[i]));
    }
    if (n > 0)
        output_char(out, ']');
}

void draw_gather_settings(draw_writer *writer)
{
    const sb_config *const config = writer->config;
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        const sb_option *const option = sb_config_option(i);
        char value[64];
        sb_config_get(config, option->name, value, sizeof(value), NULL);
        if (!is_left_out(writer, option, value))
            put_setting(writer, option, value);
    }
    const char **const bans = cli_realloc(NULL, config->n_ban, sizeof(*bans));
    for (size_t i = 0; i < config->n_ban; i++)
        bans[i] = sb_model_token_text(writer->model, config->ban[i]);
    put_texts(&writer->settings, "ban", bans, config->n_ban);
    put_texts(&writer->settings, "stop", config->stop, config->n_stop);
    free(bans);
}

static sb_status put_sequence(draw_writer *writer, const sb_sequence *sequence, sb_error *err)
{
    char *text;
    const sb_status status = draw_decode(writer, sequence, &text, err);
    if (status != SB_OK)
        return status;
    output *const out = &writer->out;
    output_char(out, '{');
    output_key(out, "text");
    output_json_string(out, text, strlen(text));
    sb_free(text);
    output_key(out, "tokens");
    output_json_tokens(out, sequence->tokens, sequence->n_tokens);
    output_key_number(out, "log_p", sequence->log_p);
    output_key_number(out, "log_p_model", sequence->log_p_model);
    output_key_number(out, "g", sequence->g);
    output_key_number(out, "log_weight", sequence->log_weight);
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
    output_key_number(out, "temperature", result->temperature);
    output_bytes(out, writer->settings.data, writer->settings.size);
    put_unsigned_key(out, "seed", result->seed);
    output_key_number(out, "kappa", result->kappa);
    output_key(out, "exhausted");
    output_json_bool(out, result->exhausted);
    output_key_number(out, "log_p_draw", result->log_p_draw);
    put_unsigned_key(out, "model_rows", result->model_rows);
    if (sb_method_get_info(result->method)->counts_samples) {
        output_key(out, "complete");
        output_json_bool(out, result->complete);
        put_unsigned_key(out, "samples", result->samples);
        put_unsigned_key(out, "sampled_rows", result->sampled_rows);
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

void draw_write_names(draw_writer *writer)
{
    output_text(&writer->out, "stream\tdraw\tmethod\tk\ttemperature\tseed\tkappa\trank\tlog_p\t"
                              "log_p_model\tg\tlog_weight\tend\ttext\n");
}

sb_status draw_write_tsv(draw_writer *writer, const sb_input *input, const sb_result *result,
                         sb_error *err)
{
    (void)input;
    output *const out = &writer->out;
    const size_t start = out->size;
    if (writer->n_records == 0)
        draw_write_names(writer);
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const sequence = &result->sequences[i];
        char *text;
        const sb_status status = draw_decode(writer, sequence, &text, err);
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
