/* Reads line by line with getline, which accepts NUL bytes and lines of any length, and counts
 * lines for messages. */
#include "common/line_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

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
    reader->file = is_stdin ? stdin : fopen(path, "rb");
    if (reader->file != NULL)
        return SB_OK;
    return sb_error_set(err, SB_ERR_IO, "%s: %s", reader->name, strerror(errno));
}

void line_reader_close(line_reader *reader)
{
    if (reader->file != NULL && reader->file != stdin)
        fclose(reader->file);
    free(reader->line);
    *reader = (line_reader){0};
}

int line_reader_next(line_reader *reader, sb_error *err)
{
    errno = 0;
    const ssize_t n = getline(&reader->line, &reader->capacity, reader->file);
    if (n < 0) {
        if (feof(reader->file) && !ferror(reader->file))
            return 0;
        sb_error_set(err, SB_ERR_IO, "%s: %s", reader->name, strerror(errno));
        return -1;
    }
    const size_t size = (size_t)n;
    const bool has_newline = size > 0 && reader->line[size - 1] == '\n';
    reader->number++;
    reader->has_return = has_newline && size > 1 && reader->line[size - 2] == '\r';
    reader->size = size - has_newline - reader->has_return;
    reader->line[reader->size] = '\0';
    if (reader->number == 1 && strncmp(reader->line, "\xef\xbb\xbf", 3) == 0) {
        reader->size -= 3; /* the byte order mark is not part of the text */
        memmove(reader->line, reader->line + 3, reader->size + 1);
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
