/* Numbers and JSON strings as text, in the form that records have, and text that is safe to print.
 * The functions do not depend on the locale and allocate nothing. */
#ifndef SBEAM_FORMAT_H
#define SBEAM_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SB_NUMBER_SIZE = 32 }; /* room for any number and its terminator */

/* Writes x, terminated, with 15, 16 or 17 significant digits, the fewest of these that read back to
 * the same double, without trailing zeros. Whole numbers below 2^53 have no decimal point; minus
 * zero is "-0.0". The text is a JSON number unless x is not finite ("nan", "inf", "-inf"). `text`
 * is the caller's and has room for SB_NUMBER_SIZE bytes. Returns the length. */
SB_API size_t sb_number_format(char *text, double x);
/* Writes a whole number in the same way. */
SB_API size_t sb_number_format_whole(char *text, uint64_t n);

/* Reads the whole of text[0 .. size) as a decimal number. Returns false, and leaves *x unchanged,
 * for anything else: blanks, hexadecimal, "inf", "nan", or a number that is too large for a double.
 */
SB_API bool sb_number_parse(const char *text, size_t size, double *x);

/* Returns the room that sb_json_quote needs for `size` bytes. */
SB_API size_t sb_json_quoted_size(size_t size);
/* Writes `size` bytes of text as a JSON string, with its quotes and without a terminator. The
 * characters that sb_character_show escapes are written as \uXXXX, which reads back to the same
 * character; each byte that does not belong to valid UTF-8 becomes U+FFFD. `quoted` is the caller's
 * and has room for sb_json_quoted_size(size) bytes. Returns the length. */
SB_API size_t sb_json_quote(char *quoted, const char *text, size_t size);

enum { SB_SHOWN_SIZE = 12 }; /* room for any character that sb_character_show writes */

/* Writes the character at the start of `text`, which has size >= 1 bytes, in a form that does no
 * harm to a terminal or a table. Visible characters stay as they are. Line feed, tab and carriage
 * return become \n, \t and \r; other ASCII control codes and each byte that is not UTF-8 become
 * \xNN; other control codes and invisible characters, such as those that turn the direction of text
 * around, become \uNNNN or \UNNNNNNNN. `shown` is the caller's, has room for SB_SHOWN_SIZE bytes
 * and gets *n_shown of them, without a terminator. Returns the number of bytes of `text` that they
 * stand for. */
SB_API size_t sb_character_show(const char *text, size_t size, char *shown, size_t *n_shown);

#ifdef __cplusplus
}
#endif
#endif
