/* Finds lines for errors that are discovered after parsing. A walk through the document meets
 * objects and arrays in the order in which they open in the text, because jansson iterates an
 * object in the order of insertion and duplicate keys are refused. So the n-th container of the
 * walk is the n-th '{' or '[' of the text outside strings. */
#include "text/json.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"

static const size_t max_size = (size_t)1 << 30;

/* Returns whether jansson failed for lack of memory. If some of its allocations fail, the error has
 * no text. */
static bool is_out_of_memory(const json_error_t *what)
{
    return json_error_code(what) == json_error_out_of_memory || what->text[0] == '\0';
}

static sb_status fail_load(const json_doc *doc, const json_error_t *what, sb_error *err)
{
    if (is_out_of_memory(what))
        return status_no_memory(err);
    if (json_error_code(what) == json_error_stack_overflow)
        return status_fail(err, SB_ERR_FORMAT, "%s:%d: the JSON is nested deeper than %d levels",
                           doc->name, what->line, JSON_PARSER_MAX_DEPTH - 1);
    return status_fail(err, SB_ERR_FORMAT, "%s:%d: not valid JSON: %s", doc->name, what->line,
                       what->text);
}

/* Parses the text of a document that has its name and text. */
static sb_status load(json_doc *doc, sb_error *err)
{
    json_error_t what = {.text = ""};
    doc->root = json_loadb(doc->text, doc->size, JSON_REJECT_DUPLICATES, &what);
    if (doc->root == NULL)
        return fail_load(doc, &what, err);
    if (!json_is_object(doc->root))
        return status_fail(err, SB_ERR_FORMAT, "%s:1: expected a JSON object, found an array",
                           doc->name);
    return SB_OK;
}

sb_status json_doc_read(json_doc *doc, lines_reader *reader, sb_error *err)
{
    const char *const name = lines_name(reader);
    json_doc d = {.name = alloc_text(name, strlen(name))};
    if (d.name == NULL)
        return status_no_memory(err);
    sb_status status = lines_read_rest(reader, max_size, &d.text, &d.size, err);
    if (status == SB_OK)
        status = load(&d, err);
    if (status == SB_OK)
        *doc = d;
    else
        json_doc_close(&d);
    return status;
}

sb_status json_doc_parse(json_doc *doc, const char *name, const char *text, size_t size,
                         sb_error *err)
{
    json_doc d = {
        .name = alloc_text(name, strlen(name)), .text = alloc_text(text, size), .size = size};
    const sb_status status =
        d.name == NULL || d.text == NULL ? status_no_memory(err) : load(&d, err);
    if (status == SB_OK)
        *doc = d;
    else
        json_doc_close(&d);
    return status;
}

void json_doc_close(json_doc *doc)
{
    json_decref(doc->root);
    alloc_free(doc->text);
    alloc_free(doc->name);
    memset(doc, 0, sizeof *doc);
}

/* Counts the containers up to and including `target` in *n. Returns whether it was found. */
static bool count_to(json_t *value, const json_t *target, size_t *n)
{
    if (!json_is_object(value) && !json_is_array(value))
        return false;
    ++*n;
    if (value == target)
        return true;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (count_to(json_array_get(value, i), target, n))
            return true;
    for (void *at = json_object_iter(value); at != NULL; at = json_object_iter_next(value, at))
        if (count_to(json_object_iter_value(at), target, n))
            return true;
    return false;
}

/* Returns the line of the n-th '{' or '[' outside strings, with n from 1. */
static size_t line_of_container(const char *text, size_t size, size_t n)
{
    size_t line = 1;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n')
            line++;
        else if (in_string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            in_string = !in_string;
        else if (!in_string && (text[i] == '{' || text[i] == '[') && --n == 0)
            break;
    }
    return line;
}

size_t json_doc_line(const json_doc *doc, const json_t *container)
{
    size_t n = 0;
    count_to(doc->root, container, &n);
    return line_of_container(doc->text, doc->size, n);
}

sb_status json_doc_check_keys(const json_doc *doc, const char *const *known, sb_error *err)
{
    for (void *at = json_object_iter(doc->root); at != NULL;
         at = json_object_iter_next(doc->root, at)) {
        const char *const key = json_object_iter_key(at);
        bool found = strcmp(key, "comment") == 0;
        for (size_t i = 0; !found && known[i] != NULL; i++)
            found = strcmp(key, known[i]) == 0;
        if (!found)
            return status_fail(err, SB_ERR_FORMAT, "%s:%zu: unknown entry \"%.*s\"", doc->name,
                               json_doc_line(doc, doc->root), utf8_excerpt(key, strlen(key)), key);
    }
    return SB_OK;
}

sb_status json_line_parse(json_t **root, const char *line, size_t size, const char *expected,
                          sb_error *err)
{
    json_error_t what = {.text = ""};
    json_t *const value = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &what);
    if (value == NULL)
        return is_out_of_memory(&what)
                   ? status_no_memory(err)
                   : status_fail(err, SB_ERR_INPUT, "invalid JSON: %s%s", what.text, expected);
    *root = value;
    return SB_OK;
}
