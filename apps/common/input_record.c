/* Parses JSONL inputs. Unknown keys are refused, because a misspelt "stream" would silently change
 * the noise of a draw. jansson checks the JSON and its UTF-8; this file checks the keys. */
#include "common/input_record.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static sb_status copy_string(const json_t *value, const char *key, char **text, size_t *size,
                             sb_error *err)
{
    if (!json_is_string(value))
        return sb_error_set(err, SB_ERR_INPUT, "\"%s\" is not a string", key);
    *size = json_string_length(value);
    *text = malloc(*size + 1);
    if (*text == NULL)
        return sb_error_set(err, SB_ERR_MEMORY, "not enough memory");
    memcpy(*text, json_string_value(value), *size + 1);
    return SB_OK;
}

static sb_status copy_stream(const json_t *value, input_record *record, sb_error *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return sb_error_set(err, SB_ERR_INPUT,
                            "\"stream\" is not a whole number from 0 to 2^63 - 1");
    record->stream = (uint64_t)json_integer_value(value);
    record->has_stream = true;
    return SB_OK;
}

static sb_status copy_tokens(const json_t *value, input_record *record, sb_error *err)
{
    const size_t n = json_array_size(value);
    if (!json_is_array(value) || n > INT32_MAX)
        return sb_error_set(err, SB_ERR_INPUT, "\"tokens\" is not an array of token ids");
    record->tokens = malloc(n * sizeof(*record->tokens) + 1);
    if (record->tokens == NULL)
        return sb_error_set(err, SB_ERR_MEMORY, "not enough memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *const item = json_array_get(value, i);
        const json_int_t id = json_integer_value(item);
        if (!json_is_integer(item) || id < 0 || id > INT32_MAX)
            return sb_error_set(err, SB_ERR_INPUT,
                                "\"tokens\" holds a value that is not a token id");
        record->tokens[i] = (int32_t)id;
    }
    record->n_tokens = (int32_t)n;
    return SB_OK;
}

static sb_status copy_value(const char *key, const json_t *value, bool scored, input_record *record,
                            sb_error *err)
{
    if (strcmp(key, "input") == 0)
        return copy_string(value, key, &record->input, &record->input_size, err);
    if (strcmp(key, "stream") == 0)
        return copy_stream(value, record, err);
    if (scored && strcmp(key, "output") == 0)
        return copy_string(value, key, &record->output, &record->output_size, err);
    if (scored && strcmp(key, "tokens") == 0)
        return copy_tokens(value, record, err);
    return sb_error_set(err, SB_ERR_INPUT, "unknown key \"%.100s\": the keys are %s", key,
                        scored ? "input, output or tokens, stream" : "input, stream");
}

sb_status input_record_parse(const char *line, size_t size, bool scored, input_record *record,
                             sb_error *err)
{
    *record = (input_record){0};
    json_error_t problem;
    json_t *const root = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    if (root == NULL)
        return sb_error_set(err, SB_ERR_INPUT, "invalid JSON: %s", problem.text);
    sb_status status = SB_OK;
    if (!json_is_object(root)) {
        status = sb_error_set(err, SB_ERR_INPUT, "expected an object such as {\"input\":\"..\"}");
        goto fail;
    }
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        status = copy_value(key, value, scored, record, err);
        if (status != SB_OK)
            goto fail;
    }
    if (record->input == NULL)
        status = sb_error_set(err, SB_ERR_INPUT, "\"input\" is missing");
    else if (scored && (record->output == NULL) == (record->tokens == NULL))
        status =
            sb_error_set(err, SB_ERR_INPUT, "exactly one of \"output\" and \"tokens\" is needed");
    if (status == SB_OK) {
        json_decref(root);
        return SB_OK;
    }

fail:
    json_decref(root);
    input_record_free(record);
    return status;
}

void input_record_free(input_record *record)
{
    free(record->input);
    free(record->output);
    free(record->tokens);
    *record = (input_record){0};
}
