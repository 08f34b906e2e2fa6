/* Doubles as text that reads back to the same double. */
#ifndef COMMON_NUMBER_H
#define COMMON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_SIZE = 32 }; /* room for any number and its terminator */

/* Writes x with the fewest of 15, 16 or 17 significant digits that strtod turns back into x,
 * without trailing zeros; whole numbers below 2^53 have no decimal point, minus zero is "-0.0". The
 * text is a JSON number unless x is not finite ("nan", "inf", "-inf"). Returns its length; it is
 * terminated. */
size_t number_format(char *text, double x);

/* The same for whole numbers. */
size_t number_format_unsigned(char *text, uint64_t n);

/* Reads the whole of a terminated text of `size` bytes: a decimal number, nothing before or after
 * it. False for all else: hexadecimal, "inf", "nan", and what is too large for a double. */
bool number_parse(const char *text, size_t size, double *x);

#endif
