/* A JSON text that grows. A failed allocation is remembered instead of returned, so that a writer
 * checks has_failed once, at its end. */
#ifndef RECORD_JSON_BUFFER_H
#define RECORD_JSON_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct json_buffer {
    char *data; /* (capacity), of which the first `size` bytes are in use; owned */
    size_t size, capacity;
    bool has_failed; /* something is missing, because an allocation failed */
} json_buffer;

/* An empty buffer is zeroed. Frees it and makes it empty. */
void json_buffer_free(json_buffer *to);

/* Append. */
void json_buffer_bytes(json_buffer *to, const char *bytes, size_t n);
void json_buffer_string(json_buffer *to, const char *text, size_t size);
void json_buffer_number(json_buffer *to, double x); /* not finite: null */
void json_buffer_whole(json_buffer *to, uint64_t n);

/* Appends text as it is, without quotes. Inline, so that the compiler counts the bytes of keys. */
static inline void json_buffer_text(json_buffer *to, const char *text)
{
    json_buffer_bytes(to, text, strlen(text));
}

static inline void json_buffer_bool(json_buffer *to, bool value)
{
    json_buffer_text(to, value ? "true" : "false");
}

#endif
