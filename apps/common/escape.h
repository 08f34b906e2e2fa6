/* Escapes in arguments, because a newline is hard to write in a shell. */
#ifndef COMMON_ESCAPE_H
#define COMMON_ESCAPE_H

#include "sbeam/error.h"

/* Copies `text` with \n, \t and \\ replaced by newline, tab and backslash. Any other escape, and a
 * backslash at the end, is an error. *plain is the caller's to free, and written only on success.
 */
sb_status escape_undo(const char *text, char **plain, sb_error *err);

#endif
