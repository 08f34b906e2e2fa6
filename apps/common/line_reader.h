/* Reads the lines of a file or of standard input. Lines may have any length and hold any bytes. A
 * UTF-8 byte order mark at the start is skipped. */
#ifndef COMMON_LINE_READER_H
#define COMMON_LINE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sbeam/error.h"

typedef struct line_reader {
    FILE *file;
    char name[208]; /* for messages: the path, or "..." and the end of a long path */
    char *line;     /* the last line, without its newline, terminated; owned */
    size_t size, capacity;
    uint64_t number; /* number of the last line, from 1 */
} line_reader;

/* Opens the file at `path`, or standard input if it is NULL or "-". */
sb_status line_reader_open(line_reader *reader, const char *path, sb_error *err);
/* Closes the file, unless it is standard input, and frees the line. */
void line_reader_close(line_reader *reader);

/* Reads the next line. Returns 1, 0 at the end, or -1 on failure. A last line without a newline is
 * a line, too. */
int line_reader_next(line_reader *reader, sb_error *err);

#endif
