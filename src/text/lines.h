/* Reads a file, plain or gzip (its first bytes decide), line by line or whole.
 *
 *     lines_open(&reader, path, err);
 *     while ((status = lines_next(reader, &line, &size, err)) == SB_OK && line != NULL)
 *         ... lines_number(reader) is the number of `line` ...
 *     lines_close(reader);
 *
 * A gzip stream that is cut off or damaged is an error with the path and line, never a short file.
 * A UTF-8 byte order mark at the start is skipped. */
#ifndef TEXT_LINES_H
#define TEXT_LINES_H

#include <stddef.h>

#include "sbeam/error.h"

enum {
    LINES_PEEK_SIZE = 1 << 16, /* most bytes that lines_peek shows */
    LINES_MAX_LINE = 1 << 24   /* longest line, in bytes */
};

typedef struct lines_reader lines_reader;

sb_status lines_open(lines_reader **reader, const char *path, sb_error *err);
/* Reads memory, without decompressing it. The memory still belongs to the caller. `name` stands for
 * the path in messages. */
sb_status lines_open_memory(lines_reader **reader, const char *name, const void *data, size_t size,
                            sb_error *err);
/* Frees the reader. Accepts NULL. */
void lines_close(lines_reader *reader);

/* Returns the path for messages: "..." and the end of it if it is long. */
const char *lines_name(const lines_reader *reader);

/* Returns the number, from 1, of the line that lines_next gave last. */
size_t lines_number(const lines_reader *reader);

/* Shows what comes next, up to LINES_PEEK_SIZE bytes, without moving on; *size is 0 at the end. The
 * bytes belong to the reader and are valid until the next call. */
sb_status lines_peek(lines_reader *reader, const char **data, size_t *size, sb_error *err);

/* Gives the next line without its end (LF or CRLF); *line is NULL at the end of the file. The line
 * belongs to the reader, is valid until the next call, and is not terminated. */
sb_status lines_next(lines_reader *reader, const char **line, size_t *size, sb_error *err);

/* Reads the rest of the file, up to `limit` bytes; a longer rest is SB_ERR_LIMIT. A compressed file
 * that becomes larger than both LINES_MAX_LINE and 32 times its size is SB_ERR_LIMIT, too. The size
 * of a pipe is not known, so its limit is LINES_MAX_LINE. *text belongs to the caller, who releases
 * it with alloc_free. */
sb_status lines_read_rest(lines_reader *reader, size_t limit, char **text, size_t *size,
                          sb_error *err);

#endif
