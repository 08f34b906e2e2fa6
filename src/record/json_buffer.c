#include "record/json_buffer.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "sbeam/format.h"

void json_buffer_free(json_buffer *to)
{
    alloc_free(to->data);
    *to = (json_buffer){0};
}

/* Makes room for n more bytes and returns where they begin, or NULL if there is no memory. */
static char *reserve(json_buffer *to, size_t n)
{
    if (to->capacity - to->size < n &&
        (n > SIZE_MAX - to->size ||
         alloc_reserve(&to->data, &to->capacity, to->size + n, 1) != SB_OK)) {
        to->has_failed = true;
        return NULL;
    }
    return to->data + to->size;
}

void json_buffer_bytes(json_buffer *to, const char *bytes, size_t n)
{
    char *const place = n > 0 ? reserve(to, n) : NULL;
    if (place == NULL)
        return;
    memcpy(place, bytes, n);
    to->size += n;
}

void json_buffer_string(json_buffer *to, const char *text, size_t size)
{
    char *const place = reserve(to, sb_json_quoted_size(size));
    if (place != NULL)
        to->size += sb_json_quote(place, text, size);
}

void json_buffer_number(json_buffer *to, double x)
{
    if (!isfinite(x)) {
        json_buffer_text(to, "null");
        return;
    }
    char *const place = reserve(to, SB_NUMBER_SIZE);
    if (place != NULL)
        to->size += sb_number_format(place, x);
}

void json_buffer_whole(json_buffer *to, uint64_t n)
{
    char *const place = reserve(to, SB_NUMBER_SIZE);
    if (place != NULL)
        to->size += sb_number_format_whole(place, n);
}
