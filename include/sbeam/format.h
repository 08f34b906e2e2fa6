/* Numbers and JSON strings as text, in the form that records have. The functions do not depend on
 * the locale and allocate nothing. */
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
/* Writes `size` bytes of text as a JSON string, with its quotes and without a terminator. Control
 * characters are escaped; each byte that does not belong to valid UTF-8 becomes U+FFFD. `quoted` is
 * the caller's and has room for sb_json_quoted_size(size) bytes. Returns the length. */
SB_API size_t sb_json_quote(char *quoted, const char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
