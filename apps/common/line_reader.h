/* Reads the lines of a file or of standard input. Lines may have any length and hold any bytes.
 * They end in a newline, or in a carriage return and a newline. A UTF-8 byte order mark at the
 * start is skipped. */
#ifndef COMMON_LINE_READER_H
#define COMMON_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

typedef struct line_reader {
    char name[208]; /* for messages: the path, or "..." and the end of a long path */
    char *line;     /* the last line, without its line end, terminated; the reader's, and valid
                     * until the next call */
    size_t size;
    bool has_return; /* its line end had a carriage return */
    uint64_t number; /* number of the last line, from 1 */
    /* Private. */
    int file;          /* a file descriptor */
    char *buffer;      /* (capacity); owned */
    size_t capacity;   /* at least 1 byte more than `end` */
    size_t begin, end; /* the bytes that were read and are not in a line yet */
    size_t searched;   /* number of them that are known to hold no newline */
    bool has_newline;  /* a newline follows the first `searched` bytes */
    bool at_end;       /* there is no more to read */
    int problem;       /* the errno of a read that failed, or 0 */
} line_reader;

/* Opens the file at `path`, or standard input if it is NULL or "-". */
sb_status line_reader_open(line_reader *reader, const char *path, sb_error *err);
/* Closes the file, unless it is standard input, and frees the line. Accepts a reader that is all
 * zeros. */
void line_reader_close(line_reader *reader);

/* Waits until line_reader_next can answer without waiting: until there is a whole line, the end of
 * the file or an error. Waits about `milliseconds` at most; 0 does not wait, and -1 waits without a
 * limit. Returns whether line_reader_next can answer. With a limit it may return false early. */
bool line_reader_wait(line_reader *reader, int milliseconds);

/* Reads the next line, and waits for it. Returns 1, 0 at the end, or -1 on failure. A last line
 * without a newline is a line, too. */
int line_reader_next(line_reader *reader, sb_error *err);

/* Fails if the last line has a zero byte; the message names the line and the byte. For callers that
 * would take the zero byte for the end of the line. */
sb_status line_reader_check(const line_reader *reader, sb_error *err);

#endif
