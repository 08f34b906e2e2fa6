/* Filling in an sb_error. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "sbeam/error.h"

#if defined(__GNUC__)
#define STATUS_FORMAT __attribute__((format(printf, 3, 4)))
#else
#define STATUS_FORMAT
#endif

/* Writes the message (err may be NULL) and returns `status`. */
sb_status status_fail(sb_error *err, sb_status status, const char *format, ...) STATUS_FORMAT;

/* The one message for a failed allocation. */
sb_status status_no_memory(sb_error *err);

#endif
