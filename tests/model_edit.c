/* See model_edit.h. */
#include "model_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_text.h"
#include "sbeam/format.h"

static uint8_t *read_whole_file(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s: cannot be read", path);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *const bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* A tensor of the file with its changes. */
typedef struct edited_tensor {
    char name[80], type[8], shape[80]; /* the shape as JSON */
    size_t begin, end;                 /* offsets of its elements in the data of the file */
    char *text;                        /* its bytes if they were replaced, or NULL */
    bool has_first;
    uint32_t first; /* the bits of its first element if has_first */
} edited_tensor;

/* Writes text like snprintf. Fails the test if it does not fit. */
static void put(char *to, size_t size, const char *text, size_t n)
{
    assert_true(n < size);
    memcpy(to, text, n);
    to[n] = '\0';
}

/* Reads the type, shape and place of a tensor from the header. */
static edited_tensor read_tensor(const char *name, const json_value *entry)
{
    edited_tensor t = {.has_first = false};
    const json_value *const shape = json_get(entry, "shape");
    const json_value *const place = json_get(entry, "data_offsets");
    put(t.name, sizeof t.name, name, strlen(name));
    put(t.type, sizeof t.type, json_text(json_get(entry, "dtype")),
        json_text_size(json_get(entry, "dtype")));
    size_t n = 1;
    t.shape[0] = '[';
    for (size_t i = 0; i < json_n_items(shape); i++)
        n += (size_t)snprintf(t.shape + n, sizeof t.shape - n, "%s%lld", i > 0 ? "," : "",
                              (long long)json_integer(json_item(shape, i)));
    assert_true(n + 1 < sizeof t.shape);
    t.shape[n] = ']';
    t.begin = (size_t)json_integer(json_item(place, 0));
    t.end = (size_t)json_integer(json_item(place, 1));
    return t;
}

static edited_tensor *add_tensor(model_edit *edit, edited_tensor t)
{
    edit->tensors = realloc(edit->tensors, (edit->n_tensors + 1) * sizeof *edit->tensors);
    assert_non_null(edit->tensors);
    edit->tensors[edit->n_tensors] = t;
    return &edit->tensors[edit->n_tensors++];
}

void model_edit_open(model_edit *edit, const char *path)
{
    size_t size, header_size = 0;
    *edit = (model_edit){.file = read_whole_file(path, &size)};
    for (int i = 7; i >= 0; i--)
        header_size = header_size << 8 | edit->file[i];
    edit->data_begin = 8 + header_size;
    json_doc header;
    assert_int_equal(json_doc_parse(&header, path, (const char *)edit->file + 8, header_size, NULL),
                     SB_OK);
    for (size_t i = 0; i < json_n_members(header.root); i++) {
        const char *const key = json_key(header.root, i);
        const json_value *const entry = json_member(header.root, i);
        if (strcmp(key, "__metadata__") != 0) {
            add_tensor(edit, read_tensor(key, entry));
        } else {
            assert_non_null(json_text(json_get(entry, "sbeam")));
            edit->description = strdup(json_text(json_get(entry, "sbeam")));
        }
    }
    assert_non_null(edit->description);
    json_doc_close(&header);
}

void model_edit_close(model_edit *edit)
{
    for (size_t i = 0; i < edit->n_tensors; i++)
        free(edit->tensors[i].text);
    free(edit->tensors);
    free(edit->description);
    free(edit->file);
}

static void set_description(model_edit *edit, const char *path, const char *value)
{
    char *changed = NULL;
    if (path[0] == '\0') {
        changed = value != NULL ? strdup(value) : NULL;
    } else {
        json_doc doc;
        sb_error err = {.message = ""};
        if (json_doc_parse(&doc, path, edit->description, strlen(edit->description), &err) != SB_OK)
            fail_msg("%s", err.message);
        size_t size;
        FILE *const to = open_memstream(&changed, &size);
        assert_non_null(to);
        json_text_write_changed(to, doc.root, path, value);
        assert_int_equal(fclose(to), 0);
        json_doc_close(&doc);
    }
    free(edit->description);
    edit->description = changed;
}

static edited_tensor *find_tensor(const model_edit *edit, const char *name)
{
    for (size_t i = 0; i < edit->n_tensors; i++)
        if (strcmp(edit->tensors[i].name, name) == 0)
            return &edit->tensors[i];
    return NULL;
}

static void remove_tensor(model_edit *edit, edited_tensor *t)
{
    assert_non_null(t);
    free(t->text);
    const size_t after = (size_t)(edit->tensors + edit->n_tensors - (t + 1));
    memmove(t, t + 1, after * sizeof *t);
    edit->n_tensors--;
}

void model_edit_set(model_edit *edit, const char *what, const char *value)
{
    const bool is_tensor = what[0] != '\0' && strchr("#$!", what[0]) != NULL;
    if (!is_tensor) {
        set_description(edit, what, value);
        return;
    }
    edited_tensor *t = find_tensor(edit, what + 1);
    if (value == NULL) {
        remove_tensor(edit, t);
        return;
    }
    if (t == NULL) { /* a new one, of zeros */
        t = add_tensor(edit, (edited_tensor){.type = "F32", .shape = "[]"});
        put(t->name, sizeof t->name, what + 1, strlen(what + 1));
    }
    const size_t type_size = strcspn(value, " ");
    if (what[0] == '#') {
        put(t->type, sizeof t->type, value, type_size);
        put(t->shape, sizeof t->shape, value + type_size, strlen(value + type_size));
    } else if (what[0] == '$') {
        put(t->type, sizeof t->type, "U8", 2);
        snprintf(t->shape, sizeof t->shape, "[%zu]", strlen(value));
        free(t->text);
        t->text = strdup(value);
    } else {
        t->has_first = true;
        t->first = (uint32_t)strtoul(value, NULL, 16);
    }
}

static size_t count_bytes(const edited_tensor *t)
{
    size_t n = strcmp(t->type, "U8") == 0 ? 1 : strcmp(t->type, "F16") == 0 ? 2 : 4;
    for (const char *at = t->shape + strcspn(t->shape, "0123456789"); *at != '\0';
         at += strcspn(at, "0123456789")) {
        char *end;
        n *= strtoul(at, &end, 10);
        at = end;
    }
    return n;
}

/* Writes the bytes of a tensor, `size` of them, which are zero so far. */
static void fill(const model_edit *edit, const edited_tensor *t, uint8_t *to, size_t size)
{
    const size_t kept = t->end - t->begin;
    if (t->text != NULL)
        memcpy(to, t->text, size);
    else
        memcpy(to, edit->file + edit->data_begin + t->begin, size < kept ? size : kept);
    for (size_t i = 0; t->has_first && i < 4; i++)
        to[i] = (uint8_t)(t->first >> 8 * i);
}

/* Returns the header. The caller frees it. *data_size becomes the size of all tensors. */
static char *write_header(const model_edit *edit, size_t *header_size, size_t *data_size)
{
    char *header = NULL;
    FILE *const to = open_memstream(&header, header_size);
    assert_non_null(to);
    fputc('{', to);
    if (edit->description != NULL) {
        const size_t size = strlen(edit->description);
        char *const quoted = malloc(sb_json_quoted_size(size));
        assert_non_null(quoted);
        const int n = (int)sb_json_quote(quoted, edit->description, size);
        fprintf(to, "\"__metadata__\":{\"sbeam\":%.*s}", n, quoted);
        free(quoted);
    }
    size_t end = 0;
    for (size_t i = 0; i < edit->n_tensors; i++) {
        const edited_tensor *const t = &edit->tensors[i];
        const size_t begin = end;
        end += count_bytes(t);
        fprintf(to, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                i > 0 || edit->description != NULL ? "," : "", t->name, t->type, t->shape, begin,
                end);
    }
    fputc('}', to);
    assert_int_equal(fclose(to), 0);
    *data_size = end;
    return header;
}

uint8_t *model_edit_write(const model_edit *edit, size_t *size)
{
    size_t header_size = 0, data_size = 0;
    char *const header = write_header(edit, &header_size, &data_size);
    uint8_t *const file = calloc(8 + header_size + data_size, 1);
    assert_non_null(file);
    for (size_t i = 0; i < 8; i++)
        file[i] = (uint8_t)(header_size >> 8 * i);
    memcpy(file + 8, header, header_size);
    size_t at = 8 + header_size;
    for (size_t i = 0; i < edit->n_tensors; i++) {
        const edited_tensor *const t = &edit->tensors[i];
        fill(edit, t, file + at, count_bytes(t));
        at += count_bytes(t);
    }
    free(header);
    *size = at;
    return file;
}
