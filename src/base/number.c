/* Writes doubles as text, fast: a record of a small draw is mostly numbers, and printf would take
 * longer than the search.
 *
 * x = m * 2^(b-52) with a mantissa m of 53 bits, and x = d * 10^e with 1 <= d < 10. With p = 16 -
 * e, y = x * 10^p lies in [10^16, 10^17). For p = 0 .. 27, 5^p fits into 64 bits, so m * 5^p is a
 * product of two whole numbers; its upper 64 bits are y in fixed point, with f = 6 to 10 bits of
 * fraction, rounded down. Half the gap between x and its nearer neighbour is at least 2^-54 x,
 * which is more than 0.55 for y, so y rounded to a whole number (off by at most 0.5 + 2^-6) reads
 * back to x: that makes 17 digits. A rounding to 15 or 16 digits is used if it is certainly nearer
 * to x than half the gap. The distance and half the gap are known to one unit of the last place,
 * and half the gap is 256 to 1024 units, so this is seldom uncertain.
 *
 * If it is uncertain, and for magnitudes outside 1e-11 .. 1e17, decimal_print does the same work
 * slowly. */
#include "sbeam/format.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/decimal.h"

enum { N_DIGITS = 17, MAX_POWER = 27 };

static const int64_t TEN_TO_17 = INT64_C(100000000000000000);

/* 5^p shifted left until its highest bit is set, and the number of bits it was shifted by. */
static const struct {
    uint64_t value;
    int shift;
} powers_of_5[MAX_POWER + 1] = {
    {UINT64_C(0x8000000000000000), 63}, {UINT64_C(0xa000000000000000), 61},
    {UINT64_C(0xc800000000000000), 59}, {UINT64_C(0xfa00000000000000), 57},
    {UINT64_C(0x9c40000000000000), 54}, {UINT64_C(0xc350000000000000), 52},
    {UINT64_C(0xf424000000000000), 50}, {UINT64_C(0x9896800000000000), 47},
    {UINT64_C(0xbebc200000000000), 45}, {UINT64_C(0xee6b280000000000), 43},
    {UINT64_C(0x9502f90000000000), 40}, {UINT64_C(0xba43b74000000000), 38},
    {UINT64_C(0xe8d4a51000000000), 36}, {UINT64_C(0x9184e72a00000000), 33},
    {UINT64_C(0xb5e620f480000000), 31}, {UINT64_C(0xe35fa931a0000000), 29},
    {UINT64_C(0x8e1bc9bf04000000), 26}, {UINT64_C(0xb1a2bc2ec5000000), 24},
    {UINT64_C(0xde0b6b3a76400000), 22}, {UINT64_C(0x8ac7230489e80000), 19},
    {UINT64_C(0xad78ebc5ac620000), 17}, {UINT64_C(0xd8d726b7177a8000), 15},
    {UINT64_C(0x878678326eac9000), 12}, {UINT64_C(0xa968163f0a57b400), 10},
    {UINT64_C(0xd3c21bcecceda100), 8},  {UINT64_C(0x84595161401484a0), 5},
    {UINT64_C(0xa56fa5b99019a5c8), 3},  {UINT64_C(0xcecb8f27f4200f3a), 1},
};

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

static char *put_pair(char *end, uint32_t pair)
{
    memcpy(end - 2, digit_pairs + 2 * (size_t)pair, 2);
    return end - 2;
}

/* Writes the value with exactly n digits, including leading zeros. */
static void put_digits(char *text, int n, uint64_t value)
{
    char *end = text + n;
    while (value > UINT32_MAX) {
        const uint32_t low = (uint32_t)(value % 100000000);
        value /= 100000000;
        const uint32_t a = low / 10000, b = low % 10000;
        end = put_pair(put_pair(put_pair(put_pair(end, b % 100), b / 100), a % 100), a / 100);
    }
    uint32_t rest = (uint32_t)value;
    while (end - text >= 2) {
        end = put_pair(end, rest % 100);
        rest /= 100;
    }
    if (end > text)
        *text = (char)('0' + rest);
}

size_t sb_number_format_whole(char *text, uint64_t n)
{
    int n_digits = 1;
    for (uint64_t bound = 10; n >= bound; bound *= 10) {
        n_digits++;
        if (bound > UINT64_MAX / 10)
            break;
    }
    put_digits(text, n_digits, n);
    text[n_digits] = '\0';
    return (size_t)n_digits;
}

/* Writes digits[0..n) * 10^(e+1-n), that is d.ddd * 10^e, as %g would. Returns the length. */
static size_t lay_out(char *text, const char *digits, int n, int e)
{
    char *p = text;
    if (e < -5 || e >= N_DIGITS) {
        *p++ = digits[0];
        if (n > 1) {
            *p++ = '.';
            memcpy(p, digits + 1, (size_t)n - 1);
            p += n - 1;
        }
        *p++ = 'e';
        *p++ = e < 0 ? '-' : '+';
        p += sb_number_format_whole(p, (uint64_t)(e < 0 ? -e : e));
    } else if (e < 0) {
        memcpy(p, "0.0000", 6);
        p += 1 - e;
        memcpy(p, digits, (size_t)n);
        p += n;
    } else {
        const int whole = e + 1 < n ? e + 1 : n;
        memcpy(p, digits, (size_t)whole);
        p += whole;
        memset(p, '0', (size_t)(e + 1 - whole));
        p += e + 1 - whole;
        if (whole < n) {
            *p++ = '.';
            memcpy(p, digits + whole, (size_t)(n - whole));
            p += n - whole;
        }
    }
    *p = '\0';
    return (size_t)(p - text);
}

/* Returns the upper 64 bits of the product of 128 bits. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    const uint64_t a0 = a & UINT32_MAX, a1 = a >> 32, b0 = b & UINT32_MAX, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & UINT32_MAX);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* Writes x, which is finite and above 0. Returns the length, or 0 if the fast way is uncertain. */
static size_t format_quickly(char *text, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const uint64_t mantissa = (fraction | UINT64_C(1) << 52) << 11;
    const int binary = (int)(bits >> 52) - 1023; /* 2^binary <= x < 2^(binary + 1) */
    int e = (binary * 78913) >> 18; /* floor(binary * log10(2)): right or one too low */
    uint64_t y;
    int f;
    for (;; e++) {
        if (16 - e < 0 || 16 - e > MAX_POWER)
            return 0;
        y = multiply_high(mantissa, powers_of_5[16 - e].value);
        f = powers_of_5[16 - e].shift - (16 - e) - binary - 1;
        if ((int64_t)(y >> f) < TEN_TO_17)
            break;
    }
    /* Half a unit of the mantissa, in units of y. Below a power of two the neighbour is twice as
     * near. */
    const int64_t half_gap = (int64_t)(powers_of_5[16 - e].value >> (fraction == 0 ? 55 : 54));
    int64_t n = (int64_t)((y + (UINT64_C(1) << (f - 1))) >> f);
    for (int64_t unit = 100; unit > 1; unit /= 10) {
        const int64_t rounded = (n + unit / 2) / unit * unit;
        const int64_t difference = (int64_t)(((uint64_t)rounded << f) - y);
        const int64_t distance = difference < 0 ? -difference : difference;
        if (distance + 1 < half_gap) {
            n = rounded;
            break;
        }
        if (distance <= half_gap + 2)
            return 0;
    }
    if (n >= TEN_TO_17) { /* 9.99..95 rounded up to 10 */
        n /= 10;
        e++;
    }
    char digits[N_DIGITS];
    put_digits(digits, N_DIGITS, (uint64_t)n);
    int n_digits = N_DIGITS;
    while (n_digits > 1 && digits[n_digits - 1] == '0')
        n_digits--;
    return lay_out(text, digits, n_digits, e);
}

size_t sb_number_format(char *text, double x)
{
    if (isnan(x)) {
        memcpy(text, "nan", 4);
        return 3;
    }
    if (x == 0) {
        const bool negative = signbit(x);
        memcpy(text, negative ? "-0.0" : "0", negative ? 5 : 2);
        return negative ? 4 : 1;
    }
    size_t sign = 0;
    if (x < 0) {
        *text = '-';
        x = -x;
        sign = 1;
    }
    char *body = text + sign;
    if (isinf(x)) {
        memcpy(body, "inf", 4);
        return sign + 3;
    }
    if (x < 0x1p53 && x == (double)(int64_t)x)
        return sign + sb_number_format_whole(body, (uint64_t)x);
    size_t length = format_quickly(body, x);
    if (length == 0)
        length = decimal_print(body, x);
    return sign + length;
}

bool sb_number_parse(const char *text, size_t size, double *x)
{
    return decimal_parse(text, size, x);
}
