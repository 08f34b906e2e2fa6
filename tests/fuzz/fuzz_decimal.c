/* Fuzzes decimal_parse against the C library: what it accepts has strtod's value to the bit, and it
 * accepts whatever strtod takes whole, but for spellings that it refuses on purpose. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const text = malloc(size + 1);
    if (text == NULL)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    double found = 0;
    const bool accepted = decimal_parse(text, size, &found);
    char *end;
    const double expected = strtod(text, &end);
    /* Of these characters alone, strtod reads what we read. */
    const bool plain = strspn(text, "0123456789+-.eE") == size && size > 0;
    const bool should = plain && end == text + size && isfinite(expected);
    if (accepted != should || (accepted && memcmp(&found, &expected, sizeof found) != 0))
        abort();
    free(text);
    return 0;
}
