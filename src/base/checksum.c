/* XXH64 as its specification defines it: four lanes take 8 bytes each of a stripe of 32; at the end
 * the lanes are merged, the rest of the file is added word by word, and the bits are mixed. */
#include "base/checksum.h"

#include <string.h>

static const uint64_t prime1 = 0x9e3779b185ebca87u, prime2 = 0xc2b2ae3d27d4eb4fu,
                      prime3 = 0x165667b19e3779f9u, prime4 = 0x85ebca77c2b2ae63u,
                      prime5 = 0x27d4eb2f165667c5u;

static uint64_t rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

/* Reads `size` bytes, at most 8, as a little-endian number. Compilers make one load of it. */
static uint64_t read_word(const unsigned char *bytes, int size)
{
    uint64_t word = 0;
    for (int i = 0; i < size; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static uint64_t take_word(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * prime2, 31) * prime1;
}

static void take_stripe(struct checksum *sum, const unsigned char *stripe)
{
    for (int i = 0; i < 4; i++)
        sum->lane[i] = take_word(sum->lane[i], read_word(stripe + 8 * i, 8));
}

void checksum_open(struct checksum *sum)
{
    *sum = (struct checksum){.lane = {prime1 + prime2, prime2, 0, 0 - prime1}};
}

void checksum_add(struct checksum *sum, const void *bytes, size_t size)
{
    const unsigned char *next = bytes;
    const size_t held = sum->n_bytes % CHECKSUM_STRIPE;
    sum->n_bytes += size;
    if (held + size < CHECKSUM_STRIPE) {
        if (size > 0)
            memcpy(sum->tail + held, next, size);
        return;
    }
    if (held > 0) {
        const size_t missing = CHECKSUM_STRIPE - held;
        memcpy(sum->tail + held, next, missing);
        take_stripe(sum, sum->tail);
        next += missing;
        size -= missing;
    }
    for (; size >= CHECKSUM_STRIPE; next += CHECKSUM_STRIPE, size -= CHECKSUM_STRIPE)
        take_stripe(sum, next);
    if (size > 0)
        memcpy(sum->tail, next, size);
}

static uint64_t merge_lanes(const struct checksum *sum)
{
    const uint64_t *const lane = sum->lane;
    uint64_t h =
        rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    for (int i = 0; i < 4; i++)
        h = (h ^ take_word(0, lane[i])) * prime1 + prime4;
    return h;
}

uint64_t checksum_get(const struct checksum *sum)
{
    uint64_t h = sum->n_bytes >= CHECKSUM_STRIPE ? merge_lanes(sum) : prime5;
    const unsigned char *next = sum->tail;
    size_t left = sum->n_bytes % CHECKSUM_STRIPE;
    h += sum->n_bytes;
    for (; left >= 8; next += 8, left -= 8)
        h = rotate(h ^ take_word(0, read_word(next, 8)), 27) * prime1 + prime4;
    for (; left >= 4; next += 4, left -= 4)
        h = rotate(h ^ read_word(next, 4) * prime1, 23) * prime2 + prime3;
    for (; left > 0; next++, left--)
        h = rotate(h ^ *next * prime5, 11) * prime1;
    h = (h ^ h >> 33) * prime2;
    h = (h ^ h >> 29) * prime3;
    return h ^ h >> 32;
}
