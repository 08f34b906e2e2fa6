/* See model_edit.h. */
#include "model_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static json_t *load(const char *text, size_t size)
{
    json_error_t error;
    json_t *const value = json_loadb(text, size, JSON_DECODE_ANY, &error);
    if (value == NULL)
        fail_msg("%.*s: %s", (int)size, text, error.text);
    return value;
}

void model_edit_open(model_edit *edit, const char *path)
{
    size_t size, header_size = 0;
    edit->file = read_whole_file(path, &size);
    for (int i = 7; i >= 0; i--)
        header_size = header_size << 8 | edit->file[i];
    edit->data_begin = 8 + header_size;
    edit->tensors = load((const char *)edit->file + 8, header_size);
    const json_t *const metadata = json_object_get(edit->tensors, "__metadata__");
    const char *const text = json_string_value(json_object_get(metadata, "sbeam"));
    assert_non_null(text);
    edit->description = load(text, strlen(text));
    json_object_del(edit->tensors, "__metadata__");
}

void model_edit_close(model_edit *edit)
{
    json_decref(edit->tensors);
    json_decref(edit->description);
    free(edit->file);
}

/* A member of an object or array; value NULL takes it away. */
static void set_member(json_t *of, const char *key, json_t *value)
{
    if (json_is_array(of) && value != NULL) {
        const size_t i = (size_t)atoi(key), n = json_array_size(of);
        assert_int_equal(
            i < n ? json_array_set_new(of, i, value) : json_array_append_new(of, value), 0);
    } else if (json_is_array(of)) {
        assert_int_equal(json_array_remove(of, (size_t)atoi(key)), 0);
    } else if (value != NULL) {
        assert_int_equal(json_object_set_new(of, key, value), 0);
    } else {
        assert_int_equal(json_object_del(of, key), 0);
    }
}

static void set_description(model_edit *edit, const char *path, json_t *value)
{
    if (path[0] == '\0') {
        json_decref(edit->description);
        edit->description = value;
        return;
    }
    json_t *of = edit->description;
    char key[64];
    for (const char *slash; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        snprintf(key, sizeof key, "%.*s", (int)(slash - path), path);
        of = json_is_array(of) ? json_array_get(of, (size_t)atoi(key)) : json_object_get(of, key);
        assert_non_null(of);
    }
    set_member(of, path, value);
}

void model_edit_set(model_edit *edit, const char *what, const char *value)
{
    const bool is_tensor = what[0] != '\0' && strchr("#$!", what[0]) != NULL;
    if (!is_tensor) {
        set_description(edit, what, value != NULL ? load(value, strlen(value)) : NULL);
        return;
    }
    const char *const name = what + 1;
    if (value == NULL) {
        assert_int_equal(json_object_del(edit->tensors, name), 0);
        return;
    }
    json_t *entry = json_object_get(edit->tensors, name);
    if (entry == NULL) { /* a new one, of zeros */
        entry = json_pack("{s:s, s:[], s:[i,i]}", "dtype", "F32", "shape", "data_offsets", 0, 0);
        json_object_set_new(edit->tensors, name, entry);
    }
    const size_t type_size = strcspn(value, " ");
    if (what[0] == '#') {
        json_object_set_new(entry, "dtype", json_stringn(value, type_size));
        json_object_set_new(entry, "shape", load(value + type_size, strlen(value + type_size)));
    } else if (what[0] == '$') {
        json_object_set_new(entry, "dtype", json_string("U8"));
        json_object_set_new(entry, "shape", json_pack("[I]", (json_int_t)strlen(value)));
        json_object_set_new(entry, "text", json_string(value));
    } else {
        json_object_set_new(entry, "first", json_integer(strtoll(value, NULL, 16)));
    }
}

static size_t count_bytes(const json_t *entry)
{
    const char *const type = json_string_value(json_object_get(entry, "dtype"));
    const json_t *const shape = json_object_get(entry, "shape");
    size_t n = strcmp(type, "U8") == 0 ? 1 : strcmp(type, "F16") == 0 ? 2 : 4;
    for (size_t i = 0; i < json_array_size(shape); i++)
        n *= (size_t)json_integer_value(json_array_get(shape, i));
    return n;
}

/* The bytes of a tensor, `size` of them, zeroed so far. */
static void fill(const model_edit *edit, const json_t *entry, uint8_t *to, size_t size)
{
    const json_t *const place = json_object_get(entry, "data_offsets");
    const json_t *const text = json_object_get(entry, "text");
    const json_t *const first = json_object_get(entry, "first");
    const size_t begin = (size_t)json_integer_value(json_array_get(place, 0));
    const size_t end = (size_t)json_integer_value(json_array_get(place, 1));
    if (text != NULL)
        memcpy(to, json_string_value(text), size);
    else
        memcpy(to, edit->file + edit->data_begin + begin, size < end - begin ? size : end - begin);
    for (size_t i = 0; first != NULL && i < 4; i++)
        to[i] = (uint8_t)(json_integer_value(first) >> 8 * i);
}

uint8_t *model_edit_write(const model_edit *edit, size_t *size)
{
    json_t *const header = json_object();
    if (edit->description != NULL) {
        char *const text = json_dumps(edit->description, JSON_ENCODE_ANY);
        json_object_set_new(header, "__metadata__", json_pack("{s:s}", "sbeam", text));
        free(text);
    }
    const char *name;
    json_t *entry;
    size_t end = 0;
    json_object_foreach(edit->tensors, name, entry)
    {
        const size_t begin = end;
        end += count_bytes(entry);
        json_object_set_new(header, name,
                            json_pack("{s:O, s:O, s:[I,I]}", "dtype",
                                      json_object_get(entry, "dtype"), "shape",
                                      json_object_get(entry, "shape"), "data_offsets",
                                      (json_int_t)begin, (json_int_t)end));
    }
    char *const text = json_dumps(header, JSON_COMPACT);
    const size_t header_size = strlen(text);
    uint8_t *const file = calloc(8 + header_size + end, 1);
    assert_non_null(file);
    for (size_t i = 0; i < 8; i++)
        file[i] = (uint8_t)(header_size >> 8 * i);
    memcpy(file + 8, text, header_size);
    size_t at = 8 + header_size;
    json_object_foreach(edit->tensors, name, entry)
    {
        fill(edit, entry, file + at, count_bytes(entry));
        at += count_bytes(entry);
    }
    free(text);
    json_decref(header);
    *size = at;
    return file;
}
