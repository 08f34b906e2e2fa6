/* Reads line by line into its own buffer, because stdio does not tell whether its buffer holds a
 * whole line. Accepts NUL bytes and lines of any length, and counts lines for messages. */
#include "common/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/cli.h"

enum { FIRST_CAPACITY = 1 << 16 };

sb_status line_reader_open(line_reader *reader, const char *path, sb_error *err)
{
    enum { LONGEST = 200 };
    const bool is_stdin = path == NULL || strcmp(path, "-") == 0;
    const char *const name = is_stdin ? "standard input" : path;
    const size_t size = strlen(name);
    const char *end = size > LONGEST ? name + size - LONGEST : name;
    while (end > name && ((unsigned char)*end & 0xc0) == 0x80) /* do not start inside a character */
        end++;
    *reader = (line_reader){0};
    snprintf(reader->name, sizeof reader->name, "%s%s", end > name ? "..." : "", end);
    reader->file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (reader->file < 0)
        return sb_error_set(err, SB_ERR_IO, "%s: %s", reader->name, strerror(errno));
    reader->capacity = FIRST_CAPACITY;
    reader->buffer = cli_realloc(NULL, reader->capacity, 1);
    return SB_OK;
}

void line_reader_close(line_reader *reader)
{
    if (reader->file > STDIN_FILENO)
        close(reader->file);
    free(reader->buffer);
    *reader = (line_reader){0};
}

/* Searches the buffer for the end of the line. */
static bool has_line(line_reader *r)
{
    const size_t n = r->end - r->begin;
    const char *const from = r->buffer + r->begin + r->searched;
    const char *const newline = r->has_newline ? from : memchr(from, '\n', n - r->searched);
    r->has_newline = newline != NULL;
    r->searched = newline != NULL ? (size_t)(newline - r->buffer) - r->begin : n;
    return r->has_newline || r->at_end || r->problem != 0;
}

/* Reads the bytes that are available. The buffer keeps a byte for the terminator of a last line. */
static void read_some(line_reader *r)
{
    if (r->begin > 0) {
        memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
        r->end -= r->begin;
        r->begin = 0;
    }
    if (r->capacity - r->end < FIRST_CAPACITY / 2) {
        r->capacity *= 2;
        r->buffer = cli_realloc(r->buffer, r->capacity, 1);
    }
    const ssize_t n = read(r->file, r->buffer + r->end, r->capacity - r->end - 1);
    if (n > 0)
        r->end += (size_t)n;
    else if (n == 0)
        r->at_end = true;
    else if (errno != EINTR && errno != EAGAIN)
        r->problem = errno;
}

bool line_reader_wait(line_reader *reader, int milliseconds)
{
    do {
        if (has_line(reader))
            return true;
        struct pollfd file = {.fd = reader->file, .events = POLLIN};
        const int n = poll(&file, 1, milliseconds);
        if (n > 0 || (n < 0 && errno != EINTR))
            read_some(reader);
    } while (milliseconds < 0);
    return has_line(reader);
}

int line_reader_next(line_reader *reader, sb_error *err)
{
    line_reader_wait(reader, -1);
    if (reader->problem != 0) {
        sb_error_set(err, SB_ERR_IO, "%s: %s", reader->name, strerror(reader->problem));
        return -1;
    }
    if (reader->begin == reader->end)
        return 0;
    reader->number++;
    reader->size = reader->searched;
    reader->line = reader->buffer + reader->begin;
    reader->begin += reader->size + reader->has_newline;
    reader->has_return =
        reader->has_newline && reader->size > 0 && reader->line[reader->size - 1] == '\r';
    reader->size -= reader->has_return;
    reader->line[reader->size] = '\0'; /* in the line end, or after the last byte */
    reader->searched = 0;
    reader->has_newline = false;
    if (reader->number == 1 && strncmp(reader->line, "\xef\xbb\xbf", 3) == 0) {
        reader->size -= 3; /* the byte order mark is not part of the text */
        reader->line += 3;
    }
    return 1;
}

sb_status line_reader_check(const line_reader *reader, sb_error *err)
{
    const char *const zero = memchr(reader->line, '\0', reader->size);
    if (zero == NULL)
        return SB_OK;
    return sb_error_set(err, SB_ERR_INPUT,
                        "%s:%" PRIu64 ": byte %zu is a zero byte (NUL); expected text",
                        reader->name, reader->number, (size_t)(zero - reader->line) + 1);
}
