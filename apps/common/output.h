/* Gathers bytes for standard output, and writes JSON.
 *
 * The functions below append to a buffer. Only those with "flush" in their name write it to
 * standard output, so only they can fail. The JSON functions append values; output_key appends
 * `"key":`, after a comma unless it is the first key of its object. */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct output {
    char *data; /* (capacity), of which the first `size` bytes are in use; owned */
    size_t size, capacity;
    size_t flush_size;       /* output_flush_some writes from this size on; 0: not decided yet */
    struct flusher *flusher; /* of output_flush_in_time, or NULL; owned */
} output;

/* An empty buffer is `output out = {0};`. Frees it and makes it empty. */
void output_free(output *out);

/* Makes room for n more bytes and returns where they begin. The caller writes them and adds their
 * number to `size`. */
char *output_reserve(output *out, size_t n);
/* These append what their name says. */
void output_bytes(output *out, const char *bytes, size_t n);
void output_text(output *out, const char *text);
void output_char(output *out, char c);
/* Appends the text n times. */
void output_repeat(output *out, const char *text, size_t n);
void output_format(output *out, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* Appends a number that reads back to the same double, or "nan", "inf", "-inf". */
void output_number(output *out, double x);
void output_unsigned(output *out, uint64_t n);

/* Appends a field of a table. A backslash becomes \\. Control codes (also tabs and line ends),
 * invisible characters and bytes that are not UTF-8 are escaped as by sb_character_show. So every
 * backslash of the field begins an escape, and the bytes of the text can be read back. */
void output_field(output *out, const char *text, size_t size);

/* Append JSON values and keys. */
void output_json_string(output *out, const char *text, size_t size); /* invalid UTF-8: U+FFFD */
void output_json_number(output *out, double x);                      /* not finite: null */
void output_json_tokens(output *out, const int32_t *tokens, int32_t n);
void output_key(output *out, const char *key);
void output_key_number(output *out, const char *key, double x);

/* Writes the buffer to standard output and empties it. Returns false after a message. */
bool output_flush(output *out);
/* Does the same, but only if the buffer holds 64 KiB or more, or if standard output is a
 * terminal. */
bool output_flush_some(output *out);
/* Does the same as output_flush_some. A background thread writes records that have waited for half
 * a second, for records that come slowly. The buffer must hold whole records; it is empty
 * afterwards. If a write in the background failed, the next call returns false. */
bool output_flush_in_time(output *out);

/* Flushes stdio and closes standard output, because some file systems report a full disk only then.
 * Returns false after a message. */
bool output_finish(void);

#endif
