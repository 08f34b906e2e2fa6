#include "base/hash.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

void hash_key_random(struct hash_key *key)
{
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const ssize_t n = file >= 0 ? read(file, key, sizeof *key) : -1;
    if (file >= 0)
        close(file);
    if (n == (ssize_t)sizeof *key)
        return;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    const int on_stack = 0;
    key->k0 = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&on_stack;
    key->k1 = (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)key << 17;
}

static uint64_t rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

/* Reads `size` bytes, at most 8, as a little-endian number. */
static uint64_t read_word(const unsigned char *bytes, size_t size)
{
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void take_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v);
    v[0] ^= word;
}

uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t size)
{
    /* "somepseudorandomlygeneratedbytes" */
    uint64_t v[4] = {key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du,
                     key->k0 ^ 0x6c7967656e657261u, key->k1 ^ 0x7465646279746573u};
    const unsigned char *next = bytes;
    size_t left = size;
    for (; left >= 8; next += 8, left -= 8)
        take_word(v, read_word(next, 8));
    take_word(v, (left > 0 ? read_word(next, left) : 0) | (uint64_t)size << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
