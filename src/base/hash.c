/* See hash.h. The state is four words; a round mixes them by additions, rotations and exclusive
 * ors. */
#include "base/hash.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static void mix(struct state *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static struct state begin(const struct hash_key *key)
{
    /* The constants are those of the paper: "somepseudorandomlygeneratedbytes". */
    return (struct state){key->a ^ 0x736f6d6570736575u, key->b ^ 0x646f72616e646f6du,
                          key->a ^ 0x6c7967656e657261u, key->b ^ 0x7465646279746573u};
}

static void take(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    mix(s);
    s->v0 ^= word;
}

static uint64_t finish(struct state *s)
{
    s->v2 ^= 0xff;
    mix(s);
    mix(s);
    mix(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* Returns up to eight bytes as a number, the first byte lowest. */
static uint64_t read_word(const unsigned char *from, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)from[i] << 8 * i;
    return word;
}

uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t size)
{
    const unsigned char *from = data;
    struct state s = begin(key);
    size_t left = size;
    for (; left >= 8; from += 8, left -= 8)
        take(&s, read_word(from, 8)); /* compilers make one load of it */
    take(&s, read_word(from, left) | (uint64_t)(size & 0xff) << 56);
    return finish(&s);
}

uint64_t hash_number(const struct hash_key *key, uint64_t number)
{
    struct state s = begin(key);
    take(&s, number);
    return finish(&s);
}

/* --- the key --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hash_key process_key;

/* Makes a key from values that differ between processes, for systems without /dev/urandom. It can
 * be guessed, but it is better than no key. */
static struct hash_key improvise(void)
{
    struct timespec now = {0};
    const struct hash_key known = {(uint64_t)getpid(), (uint64_t)(uintptr_t)&now};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t a = hash_bytes(&known, &now, sizeof now);
    clock_gettime(CLOCK_REALTIME, &now);
    return (struct hash_key){a, hash_bytes(&known, &now, sizeof now)};
}

static void make_key(void)
{
    const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;
    if (fd >= 0) {
        n = read(fd, &process_key, sizeof process_key);
        close(fd);
    }
    if (n != (ssize_t)sizeof process_key)
        process_key = improvise();
}

struct hash_key hash_process_key(void)
{
    pthread_once(&once, make_key);
    return process_key;
}
