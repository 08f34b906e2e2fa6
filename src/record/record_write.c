/* Writes records, and the partial lines before them. The settings are the same in all records of a
 * writer, so they are written once, when it is opened: asking the option table takes longer than a
 * small draw. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "record/json_buffer.h"
#include "record/record_settings.h"
#include "sbeam/record.h"

struct sb_record_writer {
    const sb_model *model; /* or NULL */
    const sb_config *config;
    json_buffer settings; /* the members of the settings, with a comma before each */
    /* The last line. */
    json_buffer line;
    char **texts; /* (n_texts) of its sequences */
    size_t n_texts, texts_capacity;
};

static void free_texts(sb_record_writer *writer)
{
    for (size_t i = 0; i < writer->n_texts; i++)
        sb_free(writer->texts[i]);
    writer->n_texts = 0;
}

sb_status sb_record_writer_open(sb_record_writer **writer, const sb_model *model,
                                const sb_config *config, sb_error *err)
{
    if (writer == NULL || config == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_record_writer_open: writer or config is NULL");
    sb_status status = sb_config_check(config, err);
    if (status != SB_OK)
        return status;
    sb_record_writer *const w = alloc_zeroed(1, sizeof *w);
    if (w == NULL)
        return status_no_memory(err);
    w->model = model;
    w->config = config;
    record_settings_put(&w->settings, model, config);
    if (w->settings.has_failed) {
        sb_record_writer_close(w);
        return status_no_memory(err);
    }
    *writer = w;
    return SB_OK;
}

void sb_record_writer_close(sb_record_writer *writer)
{
    if (writer == NULL)
        return;
    json_buffer_free(&writer->settings);
    json_buffer_free(&writer->line);
    free_texts(writer);
    alloc_free(writer->texts);
    alloc_free(writer);
}

/* The functions below append `key`, which has its comma, quotes and colon, and a value. */

static void put_whole(json_buffer *to, const char *key, uint64_t n)
{
    json_buffer_text(to, key);
    json_buffer_whole(to, n);
}

static void put_number(json_buffer *to, const char *key, double x)
{
    json_buffer_text(to, key);
    json_buffer_number(to, x);
}

static void put_bool(json_buffer *to, const char *key, bool value)
{
    json_buffer_text(to, key);
    json_buffer_bool(to, value);
}

/* Appends the name of a method or an end, which needs no escapes. */
static void put_name(json_buffer *to, const char *key, const char *name)
{
    json_buffer_text(to, key);
    json_buffer_text(to, "\"");
    json_buffer_text(to, name);
    json_buffer_text(to, "\"");
}

/* Appends a string, or null if there is no text. */
static void put_text(json_buffer *to, const char *key, const char *text, size_t size)
{
    json_buffer_text(to, key);
    if (text != NULL)
        json_buffer_string(to, text, size);
    else
        json_buffer_text(to, "null");
}

static void put_tokens(json_buffer *to, const char *key, const int32_t *tokens, int32_t n)
{
    json_buffer_text(to, key);
    json_buffer_text(to, "[");
    for (int32_t i = 0; i < n; i++) {
        if (i > 0)
            json_buffer_text(to, ",");
        json_buffer_whole(to, (uint64_t)tokens[i]);
    }
    json_buffer_text(to, "]");
}

/* Makes the writer's line and list of texts empty, and makes room for n texts. */
static sb_status begin_line(sb_record_writer *writer, size_t n, sb_error *err)
{
    writer->line.size = 0;
    writer->line.has_failed = false;
    free_texts(writer);
    if (alloc_reserve(&writer->texts, &writer->texts_capacity, n, sizeof *writer->texts) != SB_OK)
        return status_no_memory(err);
    return SB_OK;
}

/* Ends the line and gives it to the caller. */
static sb_status end_line(sb_record_writer *writer, const char *end, const char **line,
                          size_t *size, sb_error *err)
{
    json_buffer_text(&writer->line, end);
    if (writer->line.has_failed)
        return status_no_memory(err);
    *line = writer->line.data;
    *size = writer->line.size;
    return SB_OK;
}

/* Appends the members of a sequence, without the braces around them. */
static sb_status put_sequence(sb_record_writer *writer, const sb_sequence *sequence,
                              bool has_weight, sb_error *err)
{
    json_buffer *const line = &writer->line;
    const char *text = NULL;
    if (writer->model != NULL) {
        char **const place = &writer->texts[writer->n_texts];
        const sb_status status =
            sb_sequence_text(writer->model, writer->config, sequence, place, err);
        if (status != SB_OK)
            return status;
        text = *place;
        writer->n_texts++;
    }
    put_text(line, "\"text\":", text, text != NULL ? strlen(text) : 0);
    put_tokens(line, ",\"tokens\":", sequence->tokens, sequence->n_tokens);
    put_number(line, ",\"log_p\":", sequence->log_p);
    put_number(line, ",\"log_p_model\":", sequence->log_p_model);
    put_number(line, ",\"g\":", sequence->g);
    if (has_weight)
        put_number(line, ",\"log_weight\":", sequence->log_weight);
    put_name(line, ",\"end\":", sb_end_name(sequence->end));
    return SB_OK;
}

static void put_draw(sb_record_writer *writer, const sb_input *input, const sb_result *result)
{
    json_buffer *const line = &writer->line;
    put_whole(line, "{\"stream\":", result->stream);
    put_whole(line, ",\"draw\":", result->draw);
    if (input != NULL)
        put_text(line, ",\"input\":", input->size > 0 ? input->text : "", input->size);
    else
        put_text(line, ",\"input\":", NULL, 0);
    put_name(line, ",\"method\":", sb_method_name(result->method));
    put_whole(line, ",\"k\":", (uint64_t)result->k);
    put_number(line, ",\"temperature\":", result->temperature);
    json_buffer_bytes(line, writer->settings.data, writer->settings.size);
    put_whole(line, ",\"seed\":", result->seed);
    put_number(line, ",\"kappa\":", result->kappa);
    put_bool(line, ",\"exhausted\":", result->exhausted);
    if (result->stopped_by != SB_STOPPED_BY_NOTHING)
        put_name(line, ",\"stopped_by\":", sb_stopped_by_name(result->stopped_by));
    put_number(line, ",\"log_p_draw\":", result->log_p_draw);
    put_whole(line, ",\"model_rows\":", result->model_rows);
    if (sb_method_get_info(result->method)->counts_samples) {
        put_bool(line, ",\"complete\":", result->complete);
        put_whole(line, ",\"samples\":", result->samples);
        put_whole(line, ",\"sampled_rows\":", result->sampled_rows);
    }
}

sb_status sb_record_write(sb_record_writer *writer, const sb_input *input, const sb_result *result,
                          const char **line, size_t *size, sb_error *err)
{
    if (writer == NULL || result == NULL || line == NULL || size == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_record_write: writer, result, line or size is NULL");
    sb_status status = begin_line(writer, (size_t)result->n_sequences, err);
    if (status != SB_OK)
        return status;
    put_draw(writer, input, result);
    json_buffer_text(&writer->line, ",\"sequences\":[");
    for (int32_t i = 0; i < result->n_sequences; i++) {
        json_buffer_text(&writer->line, i > 0 ? ",{" : "{");
        status = put_sequence(writer, &result->sequences[i], true, err);
        if (status != SB_OK)
            return status;
        json_buffer_text(&writer->line, "}");
    }
    return end_line(writer, "]}\n", line, size, err);
}

sb_status sb_record_write_partial(sb_record_writer *writer, const sb_certain *found,
                                  const char **line, size_t *size, sb_error *err)
{
    if (writer == NULL || found == NULL || line == NULL || size == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_record_write_partial: writer, found, line or size is NULL");
    sb_status status = begin_line(writer, 1, err);
    if (status != SB_OK)
        return status;
    put_whole(&writer->line, "{\"partial\":true,\"stream\":", found->stream);
    put_number(&writer->line, ",\"temperature\":", found->temperature);
    put_whole(&writer->line, ",\"draw\":", found->draw);
    put_whole(&writer->line, ",\"rank\":", (uint64_t)found->rank + 1);
    json_buffer_text(&writer->line, ",");
    status = put_sequence(writer, &found->sequence, false, err);
    return status == SB_OK ? end_line(writer, "}\n", line, size, err) : status;
}

const char *sb_record_writer_text(const sb_record_writer *writer, size_t i)
{
    return i < writer->n_texts ? writer->texts[i] : NULL;
}
