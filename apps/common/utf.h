/* UTF-8 for people's eyes: decoding, display width, cutting to a width. */
#ifndef COMMON_UTF_H
#define COMMON_UTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/output.h"

#define UTF_BAD UINT32_MAX /* the code of a byte that does not belong to valid UTF-8 */

/* Decodes the character at the start of `text` (size > 0) and returns its length. An invalid byte
 * is UTF_BAD with length 1. */
size_t utf_decode(const char *text, size_t size, uint32_t *code);

/* The longest beginning of `text` of at most n bytes that cuts no character in two. */
size_t utf_cut(const char *text, size_t n);

/* Columns that a character takes on a terminal: 0, 1 or 2. */
int utf_width(uint32_t code);

/* Columns that utf_put_cut would use for the whole text. */
size_t utf_text_width(const char *text, size_t size);

/* Writes the text in at most `width` columns, the last of them an ellipsis where it was cut.
 * Control characters become \n, \t or \xNN, invalid bytes U+FFFD ('?' without Unicode). Returns the
 * columns used. */
size_t utf_put_cut(output *out, const char *text, size_t size, size_t width, bool unicode);

/* Whether the locale (LC_ALL, LC_CTYPE, LANG: the first one set) says UTF-8. */
bool utf_is_locale(void);

#endif
