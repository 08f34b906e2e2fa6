/* Checks everything in a model file that SentencePiece would take on trust. */
#ifndef TEXT_PIECES_CHECK_H
#define TEXT_PIECES_CHECK_H

#include <stddef.h>

#include "sbeam/error.h"

/* Checks a serialized model. On success *clean is a copy without the model's self-tests, whose
 * failures SentencePiece would print; the caller releases it with alloc_free. `name` stands for the
 * file in messages. */
sb_status pieces_check(const char *name, const void *data, size_t size, char **clean,
                       size_t *clean_size, sb_error *err);

#endif
