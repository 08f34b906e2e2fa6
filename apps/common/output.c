/* Gathers output in its own buffer, because the locking of stdio and printf would take longer than
 * a small draw. Every write is checked, so that a full disk is reported. */
#include "common/output.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/number.h"
#include "common/utf.h"

enum { FLUSH_SIZE = 1 << 16 };

void output_free(output *out)
{
    free(out->data);
    *out = (output){0};
}

char *output_reserve(output *out, size_t n)
{
    if (out->capacity - out->size < n) {
        size_t capacity = out->capacity < FLUSH_SIZE ? FLUSH_SIZE : out->capacity;
        while (capacity - out->size < n)
            capacity *= 2;
        out->data = cli_realloc(out->data, capacity, 1);
        out->capacity = capacity;
    }
    return out->data + out->size;
}

void output_bytes(output *out, const char *bytes, size_t n)
{
    if (n > 0)
        memcpy(output_reserve(out, n), bytes, n);
    out->size += n;
}

void output_text(output *out, const char *text)
{
    output_bytes(out, text, strlen(text));
}

void output_char(output *out, char c)
{
    *output_reserve(out, 1) = c;
    out->size++;
}

void output_repeat(output *out, const char *text, size_t n)
{
    while (n-- > 0)
        output_text(out, text);
}

void output_format(output *out, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    char text[256]; /* enough, except for fields as wide as a wide terminal */
    const int n = vsnprintf(text, sizeof(text), format, args);
    if (n >= (int)sizeof(text)) {
        vsnprintf(output_reserve(out, (size_t)n + 1), (size_t)n + 1, format, again);
        out->size += (size_t)n;
    } else if (n > 0) {
        output_bytes(out, text, (size_t)n);
    }
    va_end(again);
    va_end(args);
}

void output_number(output *out, double x)
{
    out->size += number_format(output_reserve(out, NUMBER_SIZE), x);
}

void output_unsigned(output *out, uint64_t n)
{
    out->size += number_format_unsigned(output_reserve(out, NUMBER_SIZE), n);
}

void output_field(output *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        switch (text[i]) {
        case '\t': output_bytes(out, "\\t", 2); break;
        case '\n': output_bytes(out, "\\n", 2); break;
        case '\r': output_bytes(out, "\\r", 2); break;
        case '\\': output_bytes(out, "\\\\", 2); break;
        default: output_char(out, text[i]);
        }
    }
}

/* Writes the escape of a character that a JSON string cannot hold. Returns the end. */
static char *put_escape(char *p, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    *p++ = '\\';
    switch (c) {
    case '"':
    case '\\': *p++ = (char)c; break;
    case '\n': *p++ = 'n'; break;
    case '\r': *p++ = 'r'; break;
    case '\t': *p++ = 't'; break;
    default:
        memcpy(p, "u00", 3);
        p[3] = hex[c >> 4];
        p[4] = hex[c & 15];
        p += 5;
    }
    return p;
}

void output_json_string(output *out, const char *text, size_t size)
{
    /* A byte becomes at most six bytes: \u00XX. */
    if (size > (SIZE_MAX - 2) / 6)
        size = (SIZE_MAX - 2) / 6;
    char *p = output_reserve(out, 6 * size + 2);
    *p++ = '"';
    for (size_t i = 0; i < size;) {
        const unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
            p = put_escape(p, c);
            i++;
        } else if (c < 0x80) {
            *p++ = (char)c;
            i++;
        } else {
            uint32_t code;
            const size_t n = utf_decode(text + i, size - i, &code);
            if (code == UTF_BAD) {
                memcpy(p, "\xef\xbf\xbd", 3);
                p += 3;
            } else {
                memcpy(p, text + i, n);
                p += n;
            }
            i += n;
        }
    }
    *p++ = '"';
    out->size = (size_t)(p - out->data);
}

void output_json_number(output *out, double x)
{
    if (isfinite(x))
        output_number(out, x);
    else
        output_bytes(out, "null", 4);
}

void output_json_bool(output *out, bool value)
{
    output_text(out, value ? "true" : "false");
}

void output_json_tokens(output *out, const int32_t *tokens, int32_t n)
{
    output_char(out, '[');
    for (int32_t i = 0; i < n; i++) {
        if (i > 0)
            output_char(out, ',');
        output_unsigned(out, (uint64_t)tokens[i]);
    }
    output_char(out, ']');
}

void output_key(output *out, const char *key)
{
    const size_t length = strlen(key);
    char *p = output_reserve(out, length + 4);
    const char last = out->size > 0 ? p[-1] : '{';
    if (last != '{' && last != '[')
        *p++ = ',';
    *p++ = '"';
    memcpy(p, key, length);
    p += length;
    *p++ = '"';
    *p++ = ':';
    out->size = (size_t)(p - out->data);
}

void output_key_number(output *out, const char *key, double x)
{
    output_key(out, key);
    output_json_number(out, x);
}

bool output_flush(output *out)
{
    size_t done = 0;
    while (done < out->size) {
        const ssize_t n = write(STDOUT_FILENO, out->data + done, out->size - done);
        if (n < 0 && errno != EINTR) {
            if (errno != EPIPE) /* a reader that closed the pipe had enough: no message */
                cli_failure(NULL, "cannot write standard output: %s", strerror(errno));
            out->size = 0;
            return false;
        }
        if (n > 0)
            done += (size_t)n;
    }
    out->size = 0;
    return true;
}

bool output_flush_some(output *out)
{
    if (out->flush_size == 0)
        out->flush_size = isatty(STDOUT_FILENO) ? 1 : FLUSH_SIZE;
    return out->size < out->flush_size || output_flush(out);
}

bool output_finish(void)
{
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (!written || close(STDOUT_FILENO) != 0) {
        if (written && errno == EBADF)
            return true; /* there was no standard output from the start, and nothing to write */
        cli_failure(NULL, "cannot write standard output: %s", strerror(errno));
        return false;
    }
    return true;
}
