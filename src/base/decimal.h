/* Turns decimal text into a double, correctly rounded, in the same way in every locale. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the whole of text[0 .. size) as a number: an optional sign, digits with an optional point
 * (at least one digit), an optional exponent. Returns false, and leaves *value unchanged, for
 * anything else: blanks, "inf", "nan", hexadecimal, and numbers too large for a finite double. */
bool decimal_parse(const char *text, size_t size, double *value);

#endif
