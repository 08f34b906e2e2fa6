/* Filling in an sb_error: sb_error_set under the name that the sources use. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "sbeam/error.h"

#define status_fail sb_error_set

/* The one message for a failed allocation. */
sb_status status_no_memory(sb_error *err);

enum { STATUS_NAME_SIZE = 204 };

/* A path for messages: of a long one "..." and its last 200 bytes, so that there is room for what
 * is wrong with it. */
void status_name(char name[STATUS_NAME_SIZE], const char *path);

#endif
