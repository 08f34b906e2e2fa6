/* A hash of bytes under a secret key: SipHash-1-3 (Aumasson and Bernstein 2012). Tables that are
 * keyed by text from outside use it, so that nobody can choose texts that collide. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
    uint64_t k0, k1;
};

/* Makes a random key. If the system gives no random bytes, the key follows from the time and from
 * addresses in memory, which differ between processes. */
void hash_key_random(struct hash_key *key);

/* Returns the hash. `bytes` may be NULL if size is 0. */
uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t size);

#endif
