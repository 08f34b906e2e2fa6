/* Reads the lines of a file or of standard input. Lines may have any length and hold any bytes.
 * They end in a newline, or in a carriage return and a newline. A UTF-8 byte order mark at the
 * start is skipped. */
#ifndef COMMON_LINE_READER_H
#define COMMON_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sbeam/error.h"

typedef struct line_reader {
    FILE *file;
    char name[208]; /* for messages: the path, or "..." and the end of a long path */
    char *line;     /* the last line, without its line end, terminated; owned */
    size_t size, capacity;
    bool has_return; /* its line end had a carriage return */
    uint64_t number; /* number of the last line, from 1 */
} line_reader;

/* Opens the file at `path`, or standard input if it is NULL or "-". */
sb_status line_reader_open(line_reader *reader, const char *path, sb_error *err);
/* Closes the file, unless it is standard input, and frees the line. */
void line_reader_close(line_reader *reader);

/* Reads the next line. Returns 1, 0 at the end, or -1 on failure. A last line without a newline is
 * a line, too. */
int line_reader_next(line_reader *reader, sb_error *err);

/* Refuses a zero byte in the last line, for readers that would take the line to end there: an error
 * that names the place. */
sb_status line_reader_check(const line_reader *reader, sb_error *err);

#endif
