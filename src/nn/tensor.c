/* Reads elements of weight files as floats.
 *
 * A half-precision number has a sign, 5 bits of exponent e and 10 bits of fraction m:
 *
 *     e in 1 .. 30: (1 + m / 2^10) 2^(e - 15)     e = 31: infinity (m = 0) or NaN
 *     e = 0:        m 2^-24, zero and the subnormal numbers
 *
 * Shifted up by 13 bits, exponent and fraction are where a float has them; the exponent then lacks
 * the difference of the biases, 127 - 15 = 112. Subnormal numbers have no leading one to shift:
 * with the exponent of 2^-14, the fraction m gives 2^-14 + m 2^-24, and subtracting 2^-14 is exact.
 * All three cases are computed and masks choose one, so that compilers vectorise the loop.
 * Multiplying a float by 2^112 would be shorter, but is slow on subnormal numbers, and gives zero
 * if they are flushed. */
#include "nn/tensor.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { BLOCK = 256 }; /* number of halves copied to aligned memory at a time */

size_t tensor_element_size(tensor_type type)
{
    switch (type) {
    case TENSOR_F32:
    case TENSOR_I32: return 4;
    case TENSOR_F16: return 2;
    case TENSOR_U8: return 1;
    }
    return 1;
}

/* Returns whether this machine is big-endian. Compilers replace the call by a constant. */
static bool is_big_endian(void)
{
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static uint32_t swap_32(uint32_t x)
{
    return x >> 24 | (x >> 8 & 0xff00u) | (x << 8 & 0xff0000u) | x << 24;
}

/* Returns the bits of the float that equals a half. */
static uint32_t widen(uint16_t half)
{
    const uint32_t smallest_normal = 113u << 23; /* 2^-14 */
    const uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13;
    const uint32_t shifted = smallest_normal | magnitude;
    float offset, with_offset;
    memcpy(&offset, &smallest_normal, sizeof offset);
    memcpy(&with_offset, &shifted, sizeof with_offset);
    const float small = with_offset - offset;
    uint32_t small_bits;
    memcpy(&small_bits, &small, sizeof small_bits);
    const uint32_t is_small = 0u - (uint32_t)((half & 0x7c00u) == 0);
    const uint32_t is_special = 0u - (uint32_t)((half & 0x7c00u) == 0x7c00u);
    /* Infinity and NaN need the exponent 255: 31 + 112 and another 112. */
    const uint32_t large_bits = magnitude + (112u << 23) + (is_special & 112u << 23);
    return (uint32_t)(half & 0x8000u) << 16 | (is_small & small_bits) | (~is_small & large_bits);
}

static void read_halves(const uint8_t *from, size_t n, float *to)
{
    uint16_t halves[BLOCK];
    uint32_t bits[BLOCK];
    while (n > 0) {
        const size_t m = n < BLOCK ? n : BLOCK;
        memcpy(halves, from, m * sizeof *halves);
        if (is_big_endian())
            for (size_t i = 0; i < m; i++)
                halves[i] = (uint16_t)(halves[i] >> 8 | halves[i] << 8);
        for (size_t i = 0; i < m; i++)
            bits[i] = widen(halves[i]);
        memcpy(to, bits, m * sizeof *to);
        from += m * sizeof *halves;
        to += m;
        n -= m;
    }
}

static void read_floats(const uint8_t *from, size_t n, float *to)
{
    memcpy(to, from, n * sizeof *to);
    for (size_t i = 0; is_big_endian() && i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &to[i], sizeof bits);
        bits = swap_32(bits);
        memcpy(&to[i], &bits, sizeof bits);
    }
}

void tensor_read(const tensor *t, size_t first, size_t n, float *to)
{
    assert(t->type == TENSOR_F32 || t->type == TENSOR_F16);
    assert(first <= t->n && n <= t->n - first);
    if (n == 0)
        return; /* an empty tensor may have no data */
    const uint8_t *const from = t->data + first * tensor_element_size(t->type);
    if (t->type == TENSOR_F16)
        read_halves(from, n, to);
    else if (t->type == TENSOR_F32)
        read_floats(from, n, to);
}
