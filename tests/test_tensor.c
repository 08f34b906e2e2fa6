/* Tests reading elements of tensors as floats: all half-precision numbers, against their
 * definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nn/tensor.h"

/* The value of a half by its definition. */
static double slow_half(uint32_t half)
{
    const int exponent = (int)(half >> 10 & 31), fraction = (int)(half & 1023);
    const double sign = half >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, -24);
    return sign * ldexp(1024 + fraction, exponent - 25);
}

static void test_halves(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    uint8_t *const memory = malloc(2 * N + 1);
    float *const found = malloc(N * sizeof *found);
    assert_true(memory != NULL && found != NULL);
    uint8_t *const data = memory + 1; /* not aligned */
    for (uint32_t i = 0; i < N; i++) {
        data[2 * i] = (uint8_t)i;
        data[2 * i + 1] = (uint8_t)(i >> 8);
    }
    const tensor t = {.type = TENSOR_F16, .n_dims = 1, .shape = {N}, .n = N, .data = data};
    tensor_read(&t, 0, N, found);
    for (uint32_t i = 0; i < N; i++) {
        const double expected = slow_half(i);
        if (isnan(expected) ? !isnan(found[i]) : (double)found[i] != expected)
            fail_msg("half %04x: expected %.9g, found %.9g", i, expected, (double)found[i]);
        assert_int_equal(signbit(found[i]) != 0, i >> 15);
    }
    /* Parts of any size, at any place. */
    for (size_t first = 0; first < 1500; first += 307) {
        for (size_t n = 1; n < 700; n += 113) {
            float part[700];
            part[n] = 0.317F;
            tensor_read(&t, first, n, part);
            assert_memory_equal(part, found + first, n * sizeof *part);
            assert_true(part[n] == 0.317F);
        }
    }
    free(found);
    free(memory);
}

static void test_floats(void **state)
{
    (void)state;
    const uint8_t bytes_of[] = {0xff, 0, 0, 0x80, 0x3f, 0xdb, 0x0f, 0x49, 0xc0, 0, 0, 0x80, 0xff};
    const tensor t = {.type = TENSOR_F32, .n_dims = 1, .shape = {3}, .n = 3, .data = bytes_of + 1};
    float found[3];
    tensor_read(&t, 0, 3, found);
    assert_true(found[0] == 1 && found[1] == -3.14159274F && found[2] == -INFINITY);
    tensor_read(&t, 1, 1, found);
    assert_true(found[0] == -3.14159274F);
    assert_int_equal(tensor_element_size(TENSOR_F32), 4);
    assert_int_equal(tensor_element_size(TENSOR_I32), 4);
    assert_int_equal(tensor_element_size(TENSOR_F16), 2);
    assert_int_equal(tensor_element_size(TENSOR_U8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_halves),
                                       cmocka_unit_test(test_floats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
