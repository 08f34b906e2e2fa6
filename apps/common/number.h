/* Writes doubles as text that reads back to the same double. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_SIZE = 32 }; /* room for any number and its terminator */

/* Writes x, terminated, with 15, 16 or 17 significant digits, the fewest that strtod turns back
 * into x, without trailing zeros. Whole numbers below 2^53 have no decimal point; minus zero is
 * "-0.0". The text is a JSON number unless x is not finite ("nan", "inf", "-inf"). `text` has room
 * for NUMBER_SIZE bytes. Returns the length. */
size_t number_format(char *text, double x);

/* Writes a whole number in the same way. */
size_t number_format_unsigned(char *text, uint64_t n);

/* Reads a decimal number from a terminated text of `size` bytes, all of which must belong to it.
 * Returns false, and leaves *x unchanged, for anything else: hexadecimal, "inf", "nan", or a number
 * that is too large for a double. */
bool number_parse(const char *text, size_t size, double *x);

#endif
