/* A safetensors file is
 *
 *     8 bytes   N, the size of the header, little-endian
 *     N bytes   a JSON object; spaces may follow it
 *     the rest  data
 *
 * The header has one entry for each tensor, "name": {"dtype": "F32", "shape": [2, 3],
 * "data_offsets": [begin, end]}, with offsets counted from the end of the header, and an optional
 * entry "__metadata__" of texts. The tensors must cover the data without gaps, overlaps or bytes
 * left over, so that nothing can hide in a file. Names and texts stay in the parsed header; numbers
 * stay in the file's memory.
 *
 * The supported types are those that models use: F32, F16, U8 and I32. A file with any other type
 * is refused. */
#include "model/safetensors.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/mapping.h"
#include "base/status.h"
#include "base/utf8.h"
#include "text/json.h"

enum {
    SIZE_BYTES = 8,
    SMALLEST_HEADER = 2,        /* {} */
    LARGEST_HEADER = 100000000, /* the limit of the format's own library */
    LARGEST_WHAT = 200          /* bytes of the text that says what is wrong with a tensor */
};

static const char metadata_key[] = "__metadata__";

static const struct {
    const char *name;
    tensor_type type;
} types[] = {{"F32", TENSOR_F32}, {"F16", TENSOR_F16}, {"U8", TENSOR_U8}, {"I32", TENSOR_I32}};

typedef struct entry {
    const char *name; /* owned by the header */
    size_t begin, end;
    tensor value;
} entry;

struct safetensors {
    char name[STATUS_NAME_SIZE];
    struct mapping map;  /* zeroed if the memory is the caller's */
    const uint8_t *data; /* the whole file */
    size_t size;
    json_doc header;
    const json_value *metadata; /* in the header, or NULL */
    entry *entries;             /* sorted by name */
    size_t n_entries;
};

static uint64_t read_size(const void *from)
{
    const uint8_t *const bytes = from;
    uint64_t size = 0;
    for (int i = SIZE_BYTES - 1; i >= 0; i--)
        size = size << 8 | bytes[i];
    return size;
}

static bool is_plausible(uint64_t header_size)
{
    return header_size >= SMALLEST_HEADER && header_size <= LARGEST_HEADER;
}

bool safetensors_probe(const char *head, size_t size)
{
    return size >= SIZE_BYTES && is_plausible(read_size(head)) &&
           (size == SIZE_BYTES || head[SIZE_BYTES] == '{');
}

/* Fails with "PATH: tensor 'NAME' WHAT". */
static sb_status fail_tensor(const safetensors *f, const char *name, sb_error *err,
                             const char *format, ...)
{
    char what[LARGEST_WHAT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return status_fail(err, SB_ERR_FORMAT, "%s: tensor '%.*s' %s", f->name,
                       utf8_excerpt(name, strlen(name)), name, what);
}

/* Reads a whole number of at least 0. */
static bool read_count(const json_value *value, size_t *count)
{
    const int64_t number = json_integer(value);
    const size_t n = (size_t)number;
    if (!json_is_integer(value) || number < 0 || (int64_t)n != number)
        return false;
    *count = n;
    return true;
}

static sb_status read_type(const safetensors *f, entry *e, const json_value *dtype, sb_error *err)
{
    const char *const name = json_text(dtype);
    if (name == NULL)
        return fail_tensor(f, e->name, err, "lacks a type: expected a string in \"dtype\"");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(name, types[i].name) == 0) {
            e->value.type = types[i].type;
            return SB_OK;
        }
    }
    return fail_tensor(f, e->name, err, "has type %.*s; expected F32, F16, U8 or I32",
                       utf8_excerpt(name, strlen(name)), name);
}

/* Reads the shape and computes its number of elements. */
static sb_status read_shape(const safetensors *f, entry *e, const json_value *shape, sb_error *err)
{
    tensor *const t = &e->value;
    if (!json_is_array(shape))
        return fail_tensor(f, e->name, err, "lacks a shape: expected a list in \"shape\"");
    const size_t n_dims = json_n_items(shape);
    if (n_dims > TENSOR_MAX_DIMS)
        return fail_tensor(f, e->name, err, "has %zu dimensions; expected at most %d", n_dims,
                           TENSOR_MAX_DIMS);
    /* The product without zeros must fit, too; then the product of any part of the shape fits. */
    size_t product = tensor_element_size(t->type);
    t->n = 1;
    for (size_t i = 0; i < n_dims; i++) {
        size_t *const dim = &t->shape[i];
        if (!read_count(json_item(shape, i), dim))
            return fail_tensor(f, e->name, err,
                               "has an invalid shape; expected whole numbers of at least 0");
        if (*dim > 0 && product > SIZE_MAX / *dim)
            return fail_tensor(f, e->name, err,
                               "has a shape with too many elements for any memory");
        product *= *dim > 0 ? *dim : 1;
        t->n *= *dim;
    }
    t->n_dims = (int32_t)n_dims;
    return SB_OK;
}

static sb_status read_place(const safetensors *f, entry *e, const json_value *offsets,
                            size_t data_begin, sb_error *err)
{
    const size_t data_size = f->size - data_begin;
    const size_t expected = e->value.n * tensor_element_size(e->value.type);
    if (json_n_items(offsets) != 2 || !read_count(json_item(offsets, 0), &e->begin) ||
        !read_count(json_item(offsets, 1), &e->end))
        return fail_tensor(
            f, e->name, err,
            "lacks its offsets: expected [begin, end], two whole numbers of at least 0, "
            "in \"data_offsets\"");
    if (e->begin > e->end)
        return fail_tensor(f, e->name, err, "begins at byte %zu of the data, after its end at %zu",
                           e->begin, e->end);
    if (e->end > data_size)
        return fail_tensor(f, e->name, err,
                           "ends at byte %zu of the data, but there are %zu: the file is truncated",
                           e->end, data_size);
    if (e->end - e->begin != expected)
        return fail_tensor(f, e->name, err, "has %zu bytes; expected %zu for its type and shape",
                           e->end - e->begin, expected);
    e->value.data = f->data + data_begin + e->begin;
    return SB_OK;
}

static sb_status read_entry(const safetensors *f, entry *e, const json_value *value,
                            size_t data_begin, sb_error *err)
{
    if (!json_is_object(value))
        return fail_tensor(f, e->name, err,
                           "is not an object; expected \"dtype\", \"shape\" and \"data_offsets\"");
    for (size_t i = 0; i < json_n_members(value); i++) {
        const char *const key = json_key(value, i);
        if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 &&
            strcmp(key, "data_offsets") != 0)
            return fail_tensor(f, e->name, err, "has an unknown entry \"%.*s\"",
                               utf8_excerpt(key, strlen(key)), key);
    }
    sb_status status = read_type(f, e, json_get(value, "dtype"), err);
    if (status == SB_OK)
        status = read_shape(f, e, json_get(value, "shape"), err);
    if (status == SB_OK)
        status = read_place(f, e, json_get(value, "data_offsets"), data_begin, err);
    return status;
}

static sb_status read_metadata(safetensors *f, const json_value *metadata, sb_error *err)
{
    if (!json_is_object(metadata))
        return status_fail(err, SB_ERR_FORMAT, "%s: expected an object of strings in \"%s\"",
                           f->name, metadata_key);
    for (size_t i = 0; i < json_n_members(metadata); i++) {
        const char *const key = json_key(metadata, i);
        if (!json_is_string(json_member(metadata, i)))
            return status_fail(err, SB_ERR_FORMAT,
                               "%s: expected a string in the entry \"%.*s\" of \"%s\"", f->name,
                               utf8_excerpt(key, strlen(key)), key, metadata_key);
    }
    f->metadata = metadata;
    return SB_OK;
}

static sb_status read_entries(safetensors *f, size_t data_begin, sb_error *err)
{
    const json_value *const root = f->header.root;
    f->entries = alloc_zeroed(json_n_members(root), sizeof *f->entries);
    if (f->entries == NULL)
        return status_no_memory(err);
    sb_status status = SB_OK;
    for (size_t i = 0; status == SB_OK && i < json_n_members(root); i++) {
        const char *const key = json_key(root, i);
        const json_value *const value = json_member(root, i);
        if (strcmp(key, metadata_key) == 0) {
            status = read_metadata(f, value, err);
        } else {
            entry *const e = &f->entries[f->n_entries++];
            e->name = key;
            status = read_entry(f, e, value, data_begin, err);
        }
    }
    return status;
}

/* Orders by first byte; an empty tensor comes before one that begins at the same byte. */
static int compare_places(const void *a, const void *b)
{
    const entry *const x = a, *const y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

/* Checks that the tensors cover the data. Leaves the entries in the order of their bytes. */
static sb_status check_places(const safetensors *f, size_t data_size, sb_error *err)
{
    size_t covered = 0;
    qsort(f->entries, f->n_entries, sizeof *f->entries, compare_places);
    for (size_t i = 0; i < f->n_entries; i++) {
        const entry *const e = &f->entries[i];
        if (e->begin < covered) {
            const char *const before = e[-1].name;
            return fail_tensor(f, e->name, err, "overlaps tensor '%.*s'",
                               utf8_excerpt(before, strlen(before)), before);
        }
        if (e->begin > covered)
            return fail_tensor(f, e->name, err,
                               "begins at byte %zu of the data; expected %zu, because no bytes may "
                               "lie between tensors",
                               e->begin, covered);
        covered = e->end;
    }
    if (covered != data_size)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: expected the file to end with its last tensor, at byte %zu of the "
                           "data, found %zu bytes more",
                           f->name, covered, data_size - covered);
    return SB_OK;
}

/* Reads the size of the header and checks that the header lies within the file. */
static sb_status find_header(const safetensors *f, size_t *header_size, sb_error *err)
{
    if (f->size == 0)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: expected a safetensors file, found an empty one", f->name);
    if (f->size < SIZE_BYTES)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: the file is truncated: a safetensors file begins with %d bytes for "
                           "the size of its header, found %zu",
                           f->name, SIZE_BYTES, f->size);
    if (memcmp(f->data, "\x1f\x8b", 2) == 0 && f->size > SIZE_BYTES && f->data[SIZE_BYTES] != '{')
        return status_fail(
            err, SB_ERR_FORMAT,
            "%s: expected a safetensors file, which can be mapped into memory, found "
            "a gzip file; decompress it first (gzip -dk)",
            f->name);
    const uint64_t size = read_size(f->data);
    if (!is_plausible(size))
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: not a safetensors file: expected a header of %d to %d bytes, found "
                           "%llu",
                           f->name, SMALLEST_HEADER, LARGEST_HEADER, (unsigned long long)size);
    if (size > f->size - SIZE_BYTES)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: the file is truncated: expected a header of %llu bytes, found %zu",
                           f->name, (unsigned long long)size, f->size - SIZE_BYTES);
    if (f->data[SIZE_BYTES] != '{')
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: not a safetensors file: expected its header to begin with '{'",
                           f->name);
    *header_size = (size_t)size;
    return SB_OK;
}

static sb_status read_file(safetensors *f, sb_error *err)
{
    char name[STATUS_NAME_SIZE + 16];
    size_t size = 0;
    sb_status status = find_header(f, &size, err);
    if (status != SB_OK)
        return status;
    snprintf(name, sizeof name, "%s: header", f->name);
    status = json_doc_parse(&f->header, name, (const char *)f->data + SIZE_BYTES, size, err);
    if (status == SB_OK)
        status = read_entries(f, SIZE_BYTES + size, err);
    if (status == SB_OK)
        status = check_places(f, f->size - SIZE_BYTES - size, err);
    if (status == SB_OK)
        qsort(f->entries, f->n_entries, sizeof *f->entries, compare_names);
    return status;
}

/* Reads the file in f->data and f->size; closes f on failure. */
static sb_status finish_open(safetensors **file, safetensors *f, sb_error *err)
{
    const sb_status status = read_file(f, err);
    if (status == SB_OK)
        *file = f;
    else
        safetensors_close(f);
    return status;
}

sb_status safetensors_open(safetensors **file, const char *path, sb_error *err)
{
    safetensors *const f = alloc_zeroed(1, sizeof *f);
    if (f == NULL)
        return status_no_memory(err);
    status_name(f->name, path);
    const sb_status status = mapping_open(&f->map, path, err);
    if (status != SB_OK) {
        safetensors_close(f);
        return status;
    }
    f->data = f->map.data;
    f->size = f->map.size;
    return finish_open(file, f, err);
}

sb_status safetensors_open_memory(safetensors **file, const char *name, const void *data,
                                  size_t size, sb_error *err)
{
    safetensors *const f = alloc_zeroed(1, sizeof *f);
    if (f == NULL)
        return status_no_memory(err);
    status_name(f->name, name);
    f->data = data;
    f->size = size;
    return finish_open(file, f, err);
}

void safetensors_close(safetensors *file)
{
    if (file == NULL)
        return;
    alloc_free(file->entries);
    json_doc_close(&file->header);
    mapping_close(&file->map);
    alloc_free(file);
}

const char *safetensors_name(const safetensors *file)
{
    return file->name;
}

size_t safetensors_count(const safetensors *file)
{
    return file->n_entries;
}

const char *safetensors_metadata(const safetensors *file, const char *key)
{
    return json_text(json_get(file->metadata, key));
}

const tensor *safetensors_find(const safetensors *file, const char *name)
{
    const entry wanted = {.name = name};
    const entry *const found =
        bsearch(&wanted, file->entries, file->n_entries, sizeof wanted, compare_names);
    return found != NULL ? &found->value : NULL;
}

const tensor *safetensors_get(const safetensors *file, size_t i, const char **name)
{
    if (i >= file->n_entries)
        return NULL;
    *name = file->entries[i].name;
    return &file->entries[i].value;
}
