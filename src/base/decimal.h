/* Turns decimal text into a double, correctly rounded, and back, in the same way in every locale.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/format.h"

/* Reads the whole of text[0 .. size) as a number: an optional sign, digits with an optional point
 * (at least one digit), an optional exponent. Returns false, and leaves *value unchanged, for
 * anything else: blanks, "inf", "nan", hexadecimal, and numbers too large for a finite double. */
bool decimal_parse(const char *text, size_t size, double *value);

/* Writes a finite number as printf's %g does, with 15, 16 or 17 digits, the fewest of these that
 * read back to the same double. Returns the length. sb_number_format is faster and writes 1e-7 if
 * this function writes 1e-07. */
size_t decimal_print(char text[SB_NUMBER_SIZE], double x);

#endif
