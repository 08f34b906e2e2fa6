/* Bytes for standard output, and JSON in them.
 *
 * A buffer is filled by the functions below; output_flush writes it out and is the only place where
 * writing can fail. JSON functions write values; output_key writes `"key":` after a comma where one
 * is due. */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct output {
    char *data; /* (capacity), size of them in use; owned */
    size_t size, capacity;
    size_t flush_size; /* of output_flush_some; 0: not decided yet */
} output;

/* Starts empty: output out = {0}; */
void output_free(output *out);

/* Room for n more bytes. */
char *output_reserve(output *out, size_t n);
void output_bytes(output *out, const char *bytes, size_t n);
void output_text(output *out, const char *text);
void output_char(output *out, char c);
/* n times the text. */
void output_repeat(output *out, const char *text, size_t n);
void output_format(output *out, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* A number that reads back to the same double; not finite: "nan", "inf", "-inf". */
void output_number(output *out, double x);
void output_unsigned(output *out, uint64_t n);

/* Text with tab, newline, carriage return and backslash as \t \n \r \\, for a field of a table. */
void output_field(output *out, const char *text, size_t size);

/* JSON. */
void output_json_string(output *out, const char *text, size_t size); /* bad UTF-8: U+FFFD */
void output_json_number(output *out, double x);                      /* not finite: null */
void output_json_bool(output *out, bool value);
void output_json_tokens(output *out, const int32_t *tokens, int32_t n);
void output_key(output *out, const char *key);
void output_key_number(output *out, const char *key, double x);

/* Writes the buffer to standard output and empties it. Returns false after a message. */
bool output_flush(output *out);
/* The same once 64 KiB have gathered, or at once where standard output is a terminal. */
bool output_flush_some(output *out);

/* Flushes stdio and closes standard output, the last moment at which a full disk may be reported.
 * Returns false after a message. */
bool output_finish(void);

#endif
