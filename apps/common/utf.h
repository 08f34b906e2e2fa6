/* Shows UTF-8 text on a terminal: decoding, display width, cutting to a width. */
#ifndef COMMON_UTF_H
#define COMMON_UTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/output.h"

#define UTF_BAD UINT32_MAX /* the code of a byte that does not belong to valid UTF-8 */

/* Decodes the character at the start of `text` (size > 0) and returns its length in bytes. For an
 * invalid byte *code is UTF_BAD and the length 1. */
size_t utf_decode(const char *text, size_t size, uint32_t *code);

/* Returns the size of the longest beginning of `text` that has at most n bytes and does not end
 * inside a character. */
size_t utf_cut(const char *text, size_t n);

/* Returns the number of bytes of `text` to quote in a message ("%.*s"): at most 60, without cutting
 * a character in two. */
int utf_excerpt(const char *text);

/* Returns the number of columns of a character on a terminal: 0, 1 or 2. */
int utf_width(uint32_t code);

/* Returns the number of columns that utf_put_cut needs for the whole text. */
size_t utf_text_width(const char *text, size_t size);

/* Appends the text in at most `width` columns; if it is cut, it ends in an ellipsis. Control
 * codes, invisible characters and invalid bytes are escaped (sb_character_show). Returns the number
 * of columns used. */
size_t utf_put_cut(output *out, const char *text, size_t size, size_t width, bool unicode);

/* Returns whether the locale, the first that is set of LC_ALL, LC_CTYPE and LANG, is one of UTF-8.
 */
bool utf_is_locale(void);

#endif
