/* Tests numbers as text: every double must read back bit for bit.
 *
 * sb_number_format writes ten million random doubles (a share of them under sanitizers), half of
 * them random bits and half log-uniform with random mantissas, and strtod reads them. The value
 * must also be that of %.17g, with at most as many digits. Awkward numbers (powers of two and ten
 * and their neighbours, half-way cases, denormals) are tested one by one. */
#include "sbeam/format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "statistics.h"

enum { N_RANDOM = 10000000 };

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* splitmix64: only to spread test values. */
static uint64_t next_bits(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int count_digits(const char *text)
{
    int n = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text == '0') {
            zeros += n > 0;
        } else if (*text >= '1' && *text <= '9') {
            n += zeros + 1;
            zeros = 0;
        }
    }
    return n;
}

static void check_one(double x)
{
    char text[SB_NUMBER_SIZE], wide[SB_NUMBER_SIZE];
    const size_t length = sb_number_format(text, x);
    if (length != strlen(text) || length >= SB_NUMBER_SIZE)
        fail_msg("length %zu of \"%s\"", length, text);
    if (bits_of(strtod(text, NULL)) != bits_of(x))
        fail_msg("%.17g was written as \"%s\"", x, text);
    if (count_digits(text) > 17)
        fail_msg("\"%s\" has more than 17 digits", text);
    snprintf(wide, sizeof wide, "%.17g", x);
    if (strtod(wide, NULL) != strtod(text, NULL))
        fail_msg("\"%s\" is not \"%s\"", text, wide);
}

static void test_random_bits(void **state)
{
    (void)state;
    const size_t n = share_of(N_RANDOM / 2);
    uint64_t seed = 317;
    for (size_t i = 0; i < n;) {
        const uint64_t bits = next_bits(&seed);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x)) {
            check_one(x);
            i++;
        }
    }
}

static void test_log_uniform(void **state)
{
    (void)state;
    const size_t n = share_of(N_RANDOM / 2);
    uint64_t seed = 20190613;
    for (size_t i = 0; i < n; i++) {
        const double u = (double)(next_bits(&seed) >> 11) * 0x1p-53;
        const double x = exp((u - 0.3) * 40);
        check_one(next_bits(&seed) & 1 ? x : -x);
    }
}

/* A decimal of at most 15 digits must come back as it was, also one that lies exactly between two
 * doubles, such as 7731733e13. */
static void test_short_decimals(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int i = 0; i < 300000; i++) {
        const int n_digits = 1 + (int)(next_bits(&seed) % 15);
        const double ten = pow(10, n_digits);
        const uint64_t digits = next_bits(&seed) % (uint64_t)ten;
        const int e = (int)(next_bits(&seed) % 60) - 30;
        char given[64], text[SB_NUMBER_SIZE], want[SB_NUMBER_SIZE];
        snprintf(given, sizeof given, "%llue%d", (unsigned long long)digits, e);
        const double x = strtod(given, NULL);
        sb_number_format(text, x);
        snprintf(want, sizeof want, "%.15g", x);
        if (strtod(want, NULL) != x || count_digits(text) > count_digits(want))
            fail_msg("%s became \"%s\"", given, text);
    }
}

static void test_edges(void **state)
{
    (void)state;
    for (int e = -1074; e <= 1023; e++) {
        const double x = ldexp(1, e);
        check_one(x);
        check_one(nextafter(x, 0));
        check_one(nextafter(x, INFINITY));
    }
    for (int e = -323; e <= 308; e++) {
        char text[16];
        snprintf(text, sizeof text, "1e%d", e);
        const double x = strtod(text, NULL);
        check_one(x);
        check_one(nextafter(x, 0));
        check_one(nextafter(x, INFINITY));
        check_one(9.5 * x < INFINITY ? 9.5 * x : x);
    }
}

static void test_known(void **state)
{
    (void)state;
    static const struct {
        double x;
        const char *text;
    } known[] = {
        {0, "0"},
        {-0.0, "-0.0"},
        {1, "1"},
        {-3, "-3"},
        {0.1, "0.1"},
        {-0.25, "-0.25"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {123456.789, "123456.789"},
        {9007199254740991.0, "9007199254740991"},
        {9007199254740992.0, "9007199254740992"},
        {1e15, "1000000000000000"},
        {1e16, "10000000000000000"},
        {1e17, "1e+17"},
        {1e22, "1e+22"},
        {0.00001, "0.00001"},
        {0.000001, "1e-6"},
        {1e-300, "1e-300"},
        {-INFINITY, "-inf"},
        {INFINITY, "inf"},
        {NAN, "nan"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char text[SB_NUMBER_SIZE];
        assert_int_equal(sb_number_format(text, known[i].x), strlen(known[i].text));
        assert_string_equal(text, known[i].text);
    }
}

static void test_whole(void **state)
{
    (void)state;
    static const uint64_t whole[] = {0,        9,         10,          99,
                                     100,      101,       4294967295,  4294967296,
                                     99999999, 100000000, 10000000000, UINT64_MAX};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        char text[SB_NUMBER_SIZE], want[SB_NUMBER_SIZE];
        snprintf(want, sizeof want, "%llu", (unsigned long long)whole[i]);
        assert_int_equal(sb_number_format_whole(text, whole[i]), strlen(want));
        assert_string_equal(text, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),       cmocka_unit_test(test_whole),
        cmocka_unit_test(test_edges),       cmocka_unit_test(test_short_decimals),
        cmocka_unit_test(test_log_uniform), cmocka_unit_test(test_random_bits),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
