/* Fills in an sb_error; status_fail is the sources' name for sb_error_set. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stddef.h>

#include "sbeam/error.h"

#define status_fail sb_error_set

/* Fills in the message for a failed allocation. Returns SB_ERR_MEMORY. */
sb_status status_no_memory(sb_error *err);

/* Fails if a text has a zero byte (NUL), because a message that quotes the text would end there.
 * `what` names the text, such as "the prompt" in "byte 3 of the prompt". Returns SB_OK if there is
 * no zero byte. */
sb_status status_refuse_zero(const char *what, const char *text, size_t size, sb_error *err);

enum { STATUS_NAME_SIZE = 204 };

/* Writes a path as it appears in messages. A path of more than 200 bytes is cut to "..." and its
 * last 200 bytes, so that the message has room for the error itself. */
void status_name(char name[STATUS_NAME_SIZE], const char *path);

#endif
