/* Gives access to the values that json_parse.c made, and reads documents and lines. */
#include "text/json.h"

#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "text/json_parse.h"

static bool has_type(const json_value *value, json_type type)
{
    return value != NULL && value->type == type;
}

bool json_is_object(const json_value *value)
{
    return has_type(value, JSON_OBJECT);
}

bool json_is_array(const json_value *value)
{
    return has_type(value, JSON_ARRAY);
}

bool json_is_string(const json_value *value)
{
    return has_type(value, JSON_STRING);
}

bool json_is_integer(const json_value *value)
{
    return has_type(value, JSON_INTEGER) && value->size == 0;
}

bool json_is_number(const json_value *value)
{
    return has_type(value, JSON_INTEGER) || has_type(value, JSON_REAL);
}

bool json_is_boolean(const json_value *value)
{
    return has_type(value, JSON_TRUE) || has_type(value, JSON_FALSE);
}

bool json_is_true(const json_value *value)
{
    return has_type(value, JSON_TRUE);
}

bool json_is_null(const json_value *value)
{
    return has_type(value, JSON_NULL);
}

const char *json_text(const json_value *value)
{
    return json_is_string(value) ? value->as.text : NULL;
}

size_t json_text_size(const json_value *value)
{
    return json_is_string(value) ? value->size : 0;
}

int64_t json_integer(const json_value *value)
{
    return json_is_integer(value) ? value->as.integer : 0;
}

bool json_get_whole(const json_value *value, uint64_t *n)
{
    if (!has_type(value, JSON_INTEGER) || (value->size == 0 && value->as.integer < 0))
        return false;
    *n = value->size > 0 ? value->as.large : (uint64_t)value->as.integer;
    return true;
}

double json_number(const json_value *value)
{
    if (has_type(value, JSON_REAL))
        return value->as.real;
    if (has_type(value, JSON_INTEGER) && value->size > 0)
        return (double)value->as.large;
    return (double)json_integer(value);
}

size_t json_n_items(const json_value *array)
{
    return json_is_array(array) ? array->size : 0;
}

const json_value *json_item(const json_value *array, size_t i)
{
    return i < json_n_items(array) ? &array->as.items[i] : NULL;
}

size_t json_n_members(const json_value *object)
{
    return json_is_object(object) ? object->size : 0;
}

const char *json_key(const json_value *object, size_t i)
{
    return i < json_n_members(object) ? object->as.items[2 * i].as.text : NULL;
}

const json_value *json_member(const json_value *object, size_t i)
{
    return i < json_n_members(object) ? &object->as.items[2 * i + 1] : NULL;
}

/* Finds the key among the sorted ones by bisection. */
static const json_value *find_sorted(const json_value *object, const char *key, size_t size)
{
    const json_value *const *const keys = json_sorted_keys(object);
    size_t begin = 0, end = object->size;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        const json_value *const found = keys[middle];
        const int order = json_compare_keys(found->as.text, found->size, key, size);
        if (order == 0)
            return found + 1;
        if (order < 0)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

const json_value *json_get(const json_value *object, const char *key)
{
    const size_t n = json_n_members(object), size = strlen(key);
    if (n > JSON_FEW_MEMBERS)
        return find_sorted(object, key, size);
    for (size_t i = 0; i < n; i++) {
        const json_value *const found = &object->as.items[2 * i];
        if (json_compare_keys(found->as.text, found->size, key, size) == 0)
            return found + 1;
    }
    return NULL;
}

size_t json_line(const json_value *value)
{
    return value->line;
}

/* Parses the text, which it takes over, as the root of a document that has its name. */
static sb_status load(json_doc *doc, char *text, size_t size, sb_error *err)
{
    json_problem problem = {.line = 1};
    switch (json_parse(&doc->root, text, size, false, &problem)) {
    case SB_OK: break;
    case SB_ERR_MEMORY: return status_no_memory(err);
    case SB_ERR_LIMIT:
        return status_fail(err, SB_ERR_FORMAT, "%s:%zu: the JSON %s", doc->name, problem.line,
                           problem.text);
    default:
        return status_fail(err, SB_ERR_FORMAT, "%s:%zu: not valid JSON: %s", doc->name,
                           problem.line, problem.text);
    }
    if (!json_is_object(doc->root))
        return status_fail(err, SB_ERR_FORMAT, "%s:%zu: expected a JSON object, found an array",
                           doc->name, json_line(doc->root));
    return SB_OK;
}

sb_status json_doc_read(json_doc *doc, lines_reader *reader, sb_error *err)
{
    const char *const name = lines_name(reader);
    json_doc d = {.name = alloc_text(name, strlen(name))};
    if (d.name == NULL)
        return status_no_memory(err);
    char *text;
    size_t size;
    sb_status status = lines_read_rest(reader, JSON_MAX_TEXT, &text, &size, err);
    if (status == SB_OK)
        status = load(&d, text, size, err);
    if (status == SB_OK)
        *doc = d;
    else
        json_doc_close(&d);
    return status;
}

sb_status json_doc_parse(json_doc *doc, const char *name, const char *text, size_t size,
                         sb_error *err)
{
    if (size > JSON_MAX_TEXT)
        return status_fail(err, SB_ERR_LIMIT, "%s: the JSON is larger than %d bytes", name,
                           JSON_MAX_TEXT);
    json_doc d = {.name = alloc_text(name, strlen(name))};
    char *const copy = d.name != NULL ? alloc_text(text, size) : NULL;
    const sb_status status = copy != NULL ? load(&d, copy, size, err) : status_no_memory(err);
    if (status == SB_OK)
        *doc = d;
    else
        json_doc_close(&d);
    return status;
}

void json_doc_close(json_doc *doc)
{
    json_close(doc->root);
    alloc_free(doc->name);
    memset(doc, 0, sizeof *doc);
}

sb_status json_doc_check_keys(const json_doc *doc, const char *const *known, sb_error *err)
{
    for (size_t i = 0; i < json_n_members(doc->root); i++) {
        const char *const key = json_key(doc->root, i);
        bool found = strcmp(key, "comment") == 0;
        for (size_t k = 0; !found && known[k] != NULL; k++)
            found = strcmp(key, known[k]) == 0;
        if (!found)
            return status_fail(err, SB_ERR_FORMAT, "%s:%zu: unknown entry \"%.*s\"", doc->name,
                               json_line(doc->root), utf8_excerpt(key, strlen(key)), key);
    }
    return SB_OK;
}

sb_status json_line_parse(json_value **root, const char *line, size_t size, const char *expected,
                          sb_error *err)
{
    if (size > JSON_MAX_TEXT)
        return status_fail(err, SB_ERR_LIMIT, "the JSON is larger than %d bytes", JSON_MAX_TEXT);
    char *const copy = alloc_text(line, size);
    if (copy == NULL)
        return status_no_memory(err);
    json_problem problem;
    switch (json_parse(root, copy, size, true, &problem)) {
    case SB_OK: return SB_OK;
    case SB_ERR_MEMORY: return status_no_memory(err);
    case SB_ERR_LIMIT: return status_fail(err, SB_ERR_INPUT, "the JSON %s", problem.text);
    default: return status_fail(err, SB_ERR_INPUT, "invalid JSON: %s%s", problem.text, expected);
    }
}
