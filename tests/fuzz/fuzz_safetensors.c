/* Fuzzes the reader of safetensors files, twice with each input: the bytes as they are, and with
 * the size of the header written before them, the header being what comes before the first zero
 * byte and the data what comes after it. Few inputs guess that size right.
 *
 * Whatever the bytes, what is opened lies within the file and can be read to its last element. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void read_last(const tensor *t)
{
    if (t->n == 0)
        return;
    if (t->type == TENSOR_F32 || t->type == TENSOR_F16) {
        float last;
        tensor_read(t, t->n - 1, 1, &last);
    } else {
        volatile uint8_t last = t->data[t->n * tensor_element_size(t->type) - 1];
        (void)last;
    }
}

static void walk(const safetensors *file, const uint8_t *data, size_t size)
{
    const char *name = NULL, *before = NULL;
    const tensor *t;
    require(safetensors_probe((const char *)data, size));
    for (size_t i = 0; (t = safetensors_get(file, i, &name)) != NULL; i++, before = name) {
        require(before == NULL || strcmp(before, name) < 0);
        require(safetensors_find(file, name) == t);
        require(t->n_dims >= 0 && t->n_dims <= TENSOR_MAX_DIMS);
        require(t->data >= data && t->n <= size);
        require(t->n * tensor_element_size(t->type) <= size - (size_t)(t->data - data));
        read_last(t);
    }
    static const char *const keys[] = {"sbeam", "format", "", "__metadata__"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *const text = safetensors_metadata(file, keys[i]);
        require(text == NULL || strlen(text) <= size);
        (void)safetensors_find(file, keys[i]);
    }
}

static void open_and_walk(const uint8_t *data, size_t size)
{
    safetensors *file = NULL;
    sb_error err = {.message = ""};
    if (safetensors_open_memory(&file, "fuzz", data, size, &err) == SB_OK)
        walk(file, data, size);
    else
        require(file == NULL && err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
    safetensors_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_and_walk(data, size);
    const uint8_t *const zero = size > 0 ? memchr(data, 0, size) : NULL;
    const size_t header_size = zero != NULL ? (size_t)(zero - data) : size;
    const size_t skip = header_size + (zero != NULL);
    uint8_t *const file = malloc(8 + size);
    require(file != NULL);
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)header_size >> 8 * i);
    if (size > 0) {
        memcpy(file + 8, data, header_size);
        memcpy(file + 8 + header_size, data + skip, size - skip);
    }
    /* Of its own size exactly, for the address sanitizer. */
    uint8_t *const exact = realloc(file, 8 + header_size + size - skip);
    require(exact != NULL);
    open_and_walk(exact, 8 + header_size + size - skip);
    free(exact);
    return 0;
}
