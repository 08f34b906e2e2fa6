/* Gathers output in its own buffer, because the locking of stdio and printf would take longer than
 * a small draw. Every write is checked, so that a full disk is reported. */
#include "common/output.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/flusher.h"
#include "sbeam/format.h"

enum { FLUSH_SIZE = 1 << 16 };

void output_free(output *out)
{
    flusher_close(out->flusher);
    free(out->data);
    *out = (output){0};
}

char *output_reserve(output *out, size_t n)
{
    if (out->capacity - out->size < n) {
        size_t capacity = out->capacity < FLUSH_SIZE ? FLUSH_SIZE : 2 * out->capacity;
        if (capacity - out->size < n)
            capacity = n < SIZE_MAX - out->size ? out->size + n : SIZE_MAX;
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
    const int n = vsnprintf(text, sizeof text, format, args);
    if (n < 0) { /* printf has no memory for a wide field */
        cli_failure(NULL, "cannot write a line: %s", strerror(errno));
        exit(EXIT_FAILED);
    }
    if (n >= (int)sizeof text) {
        vsnprintf(output_reserve(out, (size_t)n + 1), (size_t)n + 1, format, again);
        out->size += (size_t)n;
    } else {
        output_bytes(out, text, (size_t)n);
    }
    va_end(again);
    va_end(args);
}

void output_number(output *out, double x)
{
    out->size += sb_number_format(output_reserve(out, SB_NUMBER_SIZE), x);
}

void output_unsigned(output *out, uint64_t n)
{
    out->size += sb_number_format_whole(output_reserve(out, SB_NUMBER_SIZE), n);
}

/* Returns the number of characters at the start that a field holds unchanged: visible ASCII and
 * space, without the backslash. Most of a text consists of them, so they are copied at once. */
static size_t count_plain(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && text[n] >= ' ' && text[n] <= '~' && text[n] != '\\')
        n++;
    return n;
}

void output_field(output *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t n = count_plain(text + i, size - i);
        output_bytes(out, text + i, n);
        i += n;
        if (i == size)
            break;
        i += sb_character_show(text + i, size - i, output_reserve(out, SB_SHOWN_SIZE), &n);
        out->size += n;
        if (n == 1 && out->data[out->size - 1] == '\\')
            output_char(out, '\\');
    }
}

void output_json_string(output *out, const char *text, size_t size)
{
    out->size += sb_json_quote(output_reserve(out, sb_json_quoted_size(size)), text, size);
}

void output_json_number(output *out, double x)
{
    if (isfinite(x))
        output_number(out, x);
    else
        output_bytes(out, "null", 4);
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
    if (out->flusher != NULL)
        return flusher_flush(out->flusher, out);
    size_t done = 0;
    while (done < out->size) {
        const ssize_t n = write(STDOUT_FILENO, out->data + done, out->size - done);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&ready, 1, -1); /* a pipe that does not block is full */
        } else if (n < 0 && errno != EINTR) {
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

/* Returns the size in bytes from which on output_flush_some writes. */
static size_t flush_size(output *out)
{
    if (out->flush_size == 0)
        out->flush_size = isatty(STDOUT_FILENO) ? 1 : FLUSH_SIZE;
    return out->flush_size;
}

bool output_flush_some(output *out)
{
    return out->size < flush_size(out) || output_flush(out);
}

bool output_flush_in_time(output *out)
{
    if (out->size == 0)
        return true;
    if (out->flusher == NULL && flush_size(out) > 1)
        out->flusher = flusher_open();
    return out->flusher != NULL ? flusher_add(out->flusher, out) : output_flush(out);
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
