/* Writes records to standard output in time, even if no other record follows for long.
 *
 * A thread writes what has waited for half a second, so that a record that was finished a second
 * ago is in the file if the process is killed. The process itself writes when 64 KiB have come
 * together. */
#ifndef COMMON_FLUSHER_H
#define COMMON_FLUSHER_H

#include <stdbool.h>

struct output;
typedef struct flusher flusher;

/* Returns NULL if the thread cannot be made. */
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
