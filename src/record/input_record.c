/* Parses JSONL inputs. Unknown keys are refused, because a misspelt "stream" would silently change
 * the noise of a draw. text/json.h checks the JSON and its UTF-8; this file checks the keys. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "sbeam/record.h"
#include "text/json.h"

static sb_status copy_string(const json_value *value, const char *key, char **text, size_t *size,
                             sb_error *err)
{
    if (!json_is_string(value))
        return status_fail(err, SB_ERR_INPUT, "\"%s\" is not a string", key);
    *size = json_text_size(value);
    *text = alloc_text(json_text(value), *size);
    return *text != NULL ? SB_OK : status_no_memory(err);
}

static sb_status copy_stream(const json_value *value, sb_input_record *record, sb_error *err)
{
    if (!json_get_whole(value, &record->stream))
        return status_fail(err, SB_ERR_INPUT,
                           "\"stream\" is not a whole number from 0 to 2^64 - 1");
    record->has_stream = true;
    return SB_OK;
}

static sb_status copy_tokens(const json_value *value, sb_input_record *record, sb_error *err)
{
    const size_t n = json_n_items(value);
    if (!json_is_array(value) || n > INT32_MAX)
        return status_fail(err, SB_ERR_INPUT, "\"tokens\" is not an array of token ids");
    record->tokens = alloc_array(n, sizeof *record->tokens);
    if (record->tokens == NULL)
        return status_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const json_value *const item = json_item(value, i);
        const int64_t id = json_integer(item);
        if (!json_is_integer(item) || id < 0 || id > INT32_MAX)
            return status_fail(err, SB_ERR_INPUT,
                               "\"tokens\" holds a value that is not a token id");
        record->tokens[i] = (int32_t)id;
    }
    record->n_tokens = (int32_t)n;
    return SB_OK;
}

static sb_status copy_value(const char *key, const json_value *value, bool scored,
                            sb_input_record *record, sb_error *err)
{
    if (strcmp(key, "input") == 0)
        return copy_string(value, key, &record->input, &record->input_size, err);
    if (strcmp(key, "stream") == 0)
        return copy_stream(value, record, err);
    if (scored && strcmp(key, "output") == 0)
        return copy_string(value, key, &record->output, &record->output_size, err);
    if (scored && strcmp(key, "tokens") == 0)
        return copy_tokens(value, record, err);
    return status_fail(err, SB_ERR_INPUT, "unknown key \"%.100s\": the keys are %s", key,
                       scored ? "input, output or tokens, stream" : "input, stream");
}

/* Copies the values of all keys, and checks that the required ones are there. */
static sb_status copy_values(const json_value *root, bool scored, sb_input_record *record,
                             sb_error *err)
{
    if (!json_is_object(root))
        return status_fail(err, SB_ERR_INPUT, "expected an object such as {\"input\":\"..\"}");
    for (size_t i = 0; i < json_n_members(root); i++) {
        const sb_status status =
            copy_value(json_key(root, i), json_member(root, i), scored, record, err);
        if (status != SB_OK)
            return status;
    }
    if (record->input == NULL)
        return status_fail(err, SB_ERR_INPUT, "\"input\" is missing");
    if (scored && (record->output == NULL) == (record->tokens == NULL))
        return status_fail(err, SB_ERR_INPUT, "exactly one of \"output\" and \"tokens\" is needed");
    return SB_OK;
}

sb_status sb_input_record_read(sb_input_record *record, const char *line, size_t size, bool scored,
                               sb_error *err)
{
    if (record == NULL || line == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_input_record_read: record or line is NULL");
    *record = (sb_input_record){0};
    json_value *root = NULL;
    sb_status status = json_line_parse(&root, line, size, "", err);
    if (status == SB_OK)
        status = copy_values(root, scored, record, err);
    json_close(root);
    if (status != SB_OK)
        sb_input_record_close(record);
    return status;
}

void sb_input_record_close(sb_input_record *record)
{
    if (record == NULL)
        return;
    alloc_free(record->input);
    alloc_free(record->output);
    alloc_free(record->tokens);
    *record = (sb_input_record){0};
}
