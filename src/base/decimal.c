/* Reads and writes decimal numbers. Model files have millions of short numbers, for which strtod is
 * slow.
 *
 * A number is m * 10^e with integers m and e. If m <= 2^53 and |e| <= 22, then m and 10^|e| are
 * exact as doubles, so that one multiplication or division rounds once and gives the nearest double
 * (Clinger 1990). All other numbers go to strtod as "<digits>e<exponent>", without a decimal point,
 * so that the locale has no effect.
 *
 * The rounding of a double depends on at most 767 significant digits and on whether anything but
 * zeros follows. So a longer number keeps 800 digits, and a final 1 if anything but zeros follows.
 */
#include "base/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAST_DIGITS = 18, FAST_EXPONENT = 22, KEPT_DIGITS = 800 };

/* No number of digits can compensate for a larger exponent. */
static const int64_t huge_exponent = 1000000000000000;

static const double power_of_ten[FAST_EXPONENT + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The parts of a number: (-)digits * 10^exponent. */
struct parts {
    const char *start, *end; /* the digits, with at most one point among them */
    bool negative;
    int64_t exponent; /* as written, or at least huge_exponent in magnitude */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_exponent(const char *p, const char *end, int64_t *exponent)
{
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end)
        return false;
    int64_t value = 0;
    for (; p < end; p++) {
        if (!is_digit(*p))
            return false;
        if (value < huge_exponent)
            value = value * 10 + (*p - '0');
    }
    *exponent = negative ? -value : value;
    return true;
}

/* Reads any number, by strtod. */
static bool parse_slowly(const struct parts *number, double *value)
{
    char copy[KEPT_DIGITS + 32];
    size_t n = 0;
    int64_t exponent = number->exponent;
    bool after_point = false, rest = false;
    for (const char *p = number->start; p < number->end; p++) {
        if (*p == '.') {
            after_point = true;
            continue;
        }
        const bool dropped = n >= KEPT_DIGITS;
        if (dropped)
            rest = rest || *p != '0';
        else if (n > 0 || *p != '0')
            copy[n++] = *p;
        exponent += (int64_t)dropped - (int64_t)after_point;
    }
    if (n == 0) {
        *value = number->negative ? -0.0 : 0.0;
        return true;
    }
    if (rest) {
        copy[n++] = '1';
        exponent--;
    }
    snprintf(copy + n, sizeof copy - n, "e%lld", (long long)exponent);
    const double magnitude = strtod(copy, NULL);
    if (!isfinite(magnitude))
        return false;
    *value = number->negative ? -magnitude : magnitude;
    return true;
}

bool decimal_parse(const char *text, size_t size, double *value)
{
    const char *p = text, *const end = text + size;
    struct parts number = {.negative = size > 0 && *p == '-'};
    if (size > 0 && (*p == '-' || *p == '+'))
        p++;
    number.start = p;
    uint64_t mantissa = 0;
    size_t n_digits = 0, n_after_point = 0;
    bool after_point = false;
    for (; p < end; p++) {
        if (is_digit(*p)) {
            if (n_digits < FAST_DIGITS)
                mantissa = mantissa * 10 + (uint64_t)(*p - '0');
            n_digits++;
            n_after_point += after_point;
        } else if (*p == '.' && !after_point) {
            after_point = true;
        } else {
            break;
        }
    }
    number.end = p;
    if (n_digits == 0)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        if (!read_exponent(p + 1, end, &number.exponent))
            return false;
    } else if (p < end) {
        return false;
    }
    const int64_t exponent = number.exponent - (int64_t)n_after_point;
    if (n_digits > FAST_DIGITS || mantissa > (uint64_t)1 << 53 || exponent < -FAST_EXPONENT ||
        exponent > FAST_EXPONENT)
        return parse_slowly(&number, value);
    const double magnitude = exponent < 0 ? (double)mantissa / power_of_ten[-exponent]
                                          : (double)mantissa * power_of_ten[exponent];
    *value = number.negative ? -magnitude : magnitude;
    return true;
}

/* Replaces the decimal separator of the locale, which may have several bytes, by a point. Returns
 * the length. */
static size_t use_point(char *text)
{
    char *end = text;
    bool is_separator = false;
    for (const char *c = text; *c != '\0'; c++) {
        const bool is_kept = strchr("0123456789+-e", *c) != NULL;
        if (is_kept || !is_separator)
            *end++ = is_kept ? *c : '.';
        is_separator = !is_kept;
    }
    *end = '\0';
    return (size_t)(end - text);
}

size_t decimal_print(char text[SB_NUMBER_SIZE], double x)
{
    for (int n = 15;; n++) {
        double back;
        snprintf(text, SB_NUMBER_SIZE, "%.*g", n, x);
        const size_t length = use_point(text);
        if (n == 17 || (decimal_parse(text, length, &back) && back == x))
            return length;
    }
}
