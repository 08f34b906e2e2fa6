/* What SentencePiece takes on trust in a model file, checked before it sees the file. */
#ifndef TEXT_PIECES_CHECK_H
#define TEXT_PIECES_CHECK_H

#include <stddef.h>

#include "sbeam/error.h"

/* Checks a serialized model. On success *clean is a copy without its self-tests, whose failures
 * SentencePiece would print, the caller's to release with alloc_free. `name` stands for the file in
 * messages. */
sb_status pieces_check(const char *name, const void *data, size_t size, char **clean,
                       size_t *clean_size, sb_error *err);

#endif
