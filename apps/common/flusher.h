/* Writes records to standard output within a second, even if no other record follows.
 *
 * A thread writes records that have waited for half a second. So if the process is killed, a record
 * that was finished a second before is in the file. The callers write when the records have 64
 * KiB. */
#ifndef COMMON_FLUSHER_H
#define COMMON_FLUSHER_H

#include <stdbool.h>

struct output;
typedef struct flusher flusher;

/* Starts the thread. Returns NULL if that fails. */
flusher *flusher_open(void);
/* Ends the thread and frees the flusher. What has not been written is lost. Accepts NULL. */
void flusher_close(flusher *late);

/* Moves the content of `out` to the flusher, which writes it within half a second. Returns false if
 * a write has failed, after a message. */
bool flusher_add(flusher *late, struct output *out);
/* Moves the content of `out` to the flusher and writes everything at once. Returns false if a write
 * has failed, after a message. */
bool flusher_flush(flusher *late, struct output *out);

#endif
