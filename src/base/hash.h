/* Hashes for tables whose keys come from files and inputs.
 *
 * If anyone can compute the hash, a file can be made whose words all have the same hash, and
 * reading it takes quadratic time. So the hash has a key, which is random in each process. No
 * result may depend on the key: tables are searched, never read in the order of their elements.
 *
 * The hash is SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), with
 * the number of rounds that Python, Ruby and Rust use for their tables. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
    uint64_t a, b;
};

/* Returns the key of this process. Any thread may call it. */
struct hash_key hash_process_key(void);

/* Returns the hash of `size` bytes. `data` may be NULL if there are none. */
uint64_t hash_bytes(const struct hash_key *key, const void *data, size_t size);

/* Returns the hash of a number. It is faster than hash_bytes of the eight bytes, and gives another
 * value, because the length need not be mixed in. */
uint64_t hash_number(const struct hash_key *key, uint64_t number);

#endif
