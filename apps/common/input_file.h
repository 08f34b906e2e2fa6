/* Whole files as inputs, and data that waits on standard input. */
#ifndef COMMON_INPUT_FILE_H
#define COMMON_INPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/error.h"

/* Reads the whole file at `path`, or standard input if it is "-". A UTF-8 byte order mark at the
 * start and one line end (\n or \r\n) at the end are left out; all other bytes are kept. More than
 * 2^30 bytes are an error. *text has *size bytes and a terminator, and is the caller's to free;
 * both are written only on success. */
sb_status input_file_read(const char *path, char **text, size_t *size, sb_error *err);

/* Returns whether standard input is a pipe or a regular file with unread data. Never blocks and
 * reads nothing. */
bool input_is_waiting(void);

#endif
