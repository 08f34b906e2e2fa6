/* Lines of a file or of standard input, of any length and any bytes; a UTF-8 byte order mark at the
 * start is skipped. */
#ifndef COMMON_LINE_READER_H
#define COMMON_LINE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sbeam/error.h"

typedef struct line_reader {
    FILE *file;
    char name[208]; /* for messages: the path, of a long one "..." and its end */
    char *line;     /* the last line, without its newline, terminated; owned */
    size_t size, capacity;
    uint64_t number; /* of the last line, from 1 */
} line_reader;

/* Opens the file at `path`, or standard input where it is NULL or "-". */
sb_status line_reader_open(line_reader *reader, const char *path, sb_error *err);
void line_reader_close(line_reader *reader);

/* Reads the next line: 1, 0 at the end, -1 on failure. A last line without newline is a line. */
int line_reader_next(line_reader *reader, sb_error *err);

#endif
