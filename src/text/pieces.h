/* SentencePiece: text to ids of subword pieces, and back.
 *
 * Text may be any bytes. SentencePiece wants UTF-8, so each byte that is not part of a well-formed
 * character is read as U+FFFD; a zero byte is a character like any other. A text is at most 2^24
 * bytes. Pieces are const once open and may be shared by threads.
 *
 * A model file is not trusted (pieces_check.h): for any bytes, opening them either fails with a
 * message or gives pieces that are safe to use.
 *
 * If the library was built without SentencePiece, pieces_open fails with a message that says so. */
#ifndef TEXT_PIECES_H
#define TEXT_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pieces pieces;

/* Reads a serialized SentencePiece model, the content of its .model file. The bytes may be freed
 * afterwards. `name` stands for the file in messages. On success the caller closes *opened; on
 * failure it is not written. */
sb_status pieces_open(pieces **opened, const char *name, const void *data, size_t size,
                      sb_error *err);
/* Frees the pieces. Accepts NULL. */
void pieces_close(pieces *p);

/* Returns the number of pieces: ids are 0 .. pieces_size - 1. */
int32_t pieces_size(const pieces *p);

/* Returns the text of a piece, terminated and owned by p, in which a blank is U+2581, "▁". Returns
 * NULL for an id out of range. */
const char *pieces_text(const pieces *p, int32_t id);
/* Returns the id of a piece's text, or -1. */
int32_t pieces_find(const pieces *p, const char *text, size_t size);

/* Writes the ids of a text. *ids belongs to the caller, who releases it with alloc_free; written
 * only on success. */
sb_status pieces_encode(const pieces *p, const char *text, size_t size, int32_t **ids,
                        int32_t *n_ids, sb_error *err);
/* Writes the text of ids, terminated, with U+FFFD for a zero byte. *text belongs to the caller, who
 * releases it with alloc_free. An id out of range is an error. */
sb_status pieces_decode(const pieces *p, const int32_t *ids, int32_t n_ids, char **text,
                        sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
