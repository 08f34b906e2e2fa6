/* Checks a SentencePiece model before SentencePiece reads it. SentencePiece trusts its models: a
 * damaged one can make it read outside its arrays, run out of stack or end the process.
 *
 * A model is a protobuf message. The fields that matter:
 *
 *     1 piece, repeated:  1 text, 3 type (4: user-defined)
 *     3, 5 normalizer and denormalizer:  2 the character map
 *     4 self-tests, left out of the copy
 *
 * Beyond the wire format, a model must fulfil:
 *
 * - Pieces are UTF-8 without zero bytes and not too long, because SentencePiece recurses byte by
 *   byte.
 * - At most MOST_PREFIXES user-defined pieces are prefixes of one another: the size of a fixed
 *   array.
 * - The character map is 4 bytes of size, a double array (a trie in 32-bit units, as darts-clone
 *   writes it) and a pool of terminated replacements. From a unit i the search goes to the units (i
 *   ^ offset) ^ byte and trusts them to exist; values are offsets into the pool; the matches along
 *   one path fill a fixed array of MOST_MATCHES. Every unit is checked, reachable or not. One
 *   depth-first walk checks the paths, and refuses cycles.
 *
 * If a field occurs twice, both are checked here; SentencePiece uses the last. */
#include "text/pieces_check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"

enum {
    MOST_BYTES = 1 << 28,
    MOST_PIECES = 1 << 22,
    MOST_PIECE_BYTES = 1024,
    MOST_PREFIXES = 64,
    MOST_MATCHES = 32,
    MOST_REPLACEMENT_BYTES = 256,
    TYPE_USER_DEFINED = 4
};

typedef struct span {
    const uint8_t *at;
    size_t size;
} span;

/* One field of a message. */
typedef struct field {
    uint32_t number;
    bool is_bytes;  /* wire type 2, with `body`; otherwise `value` is set if it is a varint */
    span body;      /* its content */
    uint64_t value; /* of wire type 0 */
    span whole;     /* including its tag */
} field;

static bool read_varint(span *from, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 70 && from->size > 0; shift += 7) {
        const uint8_t byte = *from->at++;
        from->size--;
        if (shift == 63 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Takes the next field off a message that is not at its end. Returns false if it is malformed. */
static bool next_field(span *from, field *f)
{
    const uint8_t *const start = from->at;
    uint64_t tag, size = 0;
    *f = (field){0};
    if (!read_varint(from, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return false;
    f->number = (uint32_t)(tag >> 3);
    switch (tag & 7) {
    case 0:
        if (!read_varint(from, &f->value))
            return false;
        break;
    case 1: size = 8; break;
    case 2:
        if (!read_varint(from, &size))
            return false;
        f->is_bytes = true;
        break;
    case 5: size = 4; break;
    default: return false; /* groups, which are obsolete */
    }
    if (size > from->size)
        return false;
    f->body = (span){from->at, (size_t)size};
    from->at += size;
    from->size -= (size_t)size;
    f->whole = (span){start, (size_t)(from->at - start)};
    return true;
}

/* --- the character map --- */

/* The array of 32-bit units. The bits of a unit: 31 it is a value, 0 .. 7 its label, 8 it has a
 * value below it, 9 and up its offset. */
typedef struct trie {
    const uint8_t *units;
    uint32_t n; /* a multiple of 256 */
} trie;

static uint32_t read_word(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t get_unit(const trie *t, uint32_t i)
{
    return read_word(t->units + 4 * (size_t)i);
}

static bool is_value(uint32_t unit)
{
    return unit >> 31 != 0;
}

static bool has_value(uint32_t unit)
{
    return (unit >> 8 & 1) != 0;
}

/* Returns the base of unit i. Its children are the units base ^ byte whose label is that byte. */
static uint32_t get_base(const trie *t, uint32_t i)
{
    const uint32_t unit = get_unit(t, i);
    return i ^ (unit >> 10) << ((unit >> 9 & 1) * 8);
}

static const char *check_units(const trie *t, span pool)
{
    if (is_value(get_unit(t, 0)))
        return "it has no root";
    for (uint32_t i = 0; i < t->n; i++) {
        if (is_value(get_unit(t, i)))
            continue;
        const uint32_t base = get_base(t, i);
        if (base >= t->n)
            return "an offset points outside it";
        if (!has_value(get_unit(t, i)))
            continue;
        const uint32_t value = get_unit(t, base) & UINT32_C(0x7fffffff);
        if (value >= pool.size)
            return "a replacement lies outside it";
        const size_t left = pool.size - value;
        const size_t most = left < MOST_REPLACEMENT_BYTES ? left : MOST_REPLACEMENT_BYTES;
        if (memchr(pool.at + value, 0, most) == NULL)
            return "a replacement has no end";
    }
    return NULL;
}

/* The depth-first walk over bases. The children of a base are a list: first[base], next[child]. */
typedef struct walk {
    int32_t *first; /* moves along the list during the walk; -1: no more */
    int32_t *next;
    int32_t *up;      /* the base from which the walk came */
    int32_t *matches; /* the most values on a path from here; -1: not seen yet */
    int32_t *is_open; /* whether it is on the current path */
} walk;

static const char *walk_paths(const trie *t, walk *w)
{
    uint32_t at = get_base(t, 0);
    w->up[at] = -1;
    w->matches[at] = 0;
    w->is_open[at] = 1;
    for (;;) {
        const int32_t child = w->first[at];
        if (child < 0) {
            w->is_open[at] = 0;
            if (w->up[at] < 0)
                return NULL;
            at = (uint32_t)w->up[at];
            continue;
        }
        const uint32_t below = get_base(t, (uint32_t)child);
        if (w->matches[below] < 0) {
            w->matches[below] = 0;
            w->is_open[below] = 1;
            w->up[below] = (int32_t)at;
            at = below;
            continue;
        }
        if (w->is_open[below])
            return "it has a cycle";
        const int32_t matches =
            w->matches[below] + (has_value(get_unit(t, (uint32_t)child)) ? 1 : 0);
        if (matches > MOST_MATCHES)
            return "too many of its entries are prefixes of one another";
        if (matches > w->matches[at])
            w->matches[at] = matches;
        w->first[at] = w->next[child];
    }
}

/* Writes what is wrong to *problem, or NULL. */
static sb_status check_paths(const trie *t, const char **problem, sb_error *err)
{
    const size_t n = t->n;
    int32_t *const memory = alloc_zeroed(5 * n, sizeof *memory);
    if (memory == NULL)
        return status_no_memory(err);
    walk w = {memory, memory + n, memory + 2 * n, memory + 3 * n, memory + 4 * n};
    for (size_t i = 0; i < n; i++)
        w.first[i] = w.matches[i] = -1;
    for (uint32_t i = 0; i < t->n; i++) {
        const uint32_t unit = get_unit(t, i);
        if (is_value(unit))
            continue;
        const uint32_t base = i ^ (unit & 0xff);
        w.next[i] = w.first[base];
        w.first[base] = (int32_t)i;
    }
    *problem = walk_paths(t, &w);
    alloc_free(memory);
    return SB_OK;
}

static sb_status check_character_map(const char *name, span map, sb_error *err)
{
    if (map.size == 0)
        return SB_OK;
    const char *problem = NULL;
    sb_status status = SB_OK;
    const uint32_t trie_size = map.size > 4 ? read_word(map.at) : 0;
    if (trie_size == 0 || trie_size % 1024 != 0 || trie_size >= map.size - 4) {
        problem = "its sizes do not agree";
    } else {
        const trie t = {map.at + 4, trie_size / 4};
        problem = check_units(&t, (span){map.at + 4 + trie_size, map.size - 4 - trie_size});
        if (problem == NULL)
            status = check_paths(&t, &problem, err);
    }
    if (problem != NULL)
        return status_fail(err, SB_ERR_FORMAT,
                           "%s: the SentencePiece model is damaged: in its character map, %s", name,
                           problem);
    return status;
}

/* --- the message --- */

static sb_status fail_wire(const char *name, const char *where, sb_error *err)
{
    return status_fail(err, SB_ERR_FORMAT,
                       "%s: not a SentencePiece model, or a damaged one: %s is malformed", name,
                       where);
}

static sb_status check_normalizer(const char *name, span message, sb_error *err)
{
    field f;
    sb_status status = SB_OK;
    while (status == SB_OK && message.size > 0) {
        if (!next_field(&message, &f))
            return fail_wire(name, "its normalizer", err);
        if (f.number == 2 && f.is_bytes)
            status = check_character_map(name, f.body, err);
    }
    return status;
}

/* Checks piece number `id`. *user_defined is its text if it is user-defined, and empty otherwise.
 */
static sb_status check_piece(const char *name, span message, size_t id, span *user_defined,
                             sb_error *err)
{
    field f;
    span text = {NULL, 0};
    uint64_t type = 1;
    while (message.size > 0) {
        if (!next_field(&message, &f))
            return fail_wire(name, "a piece", err);
        if (f.number == 1 && f.is_bytes) {
            text = f.body;
            if (text.size == 0 || text.size > MOST_PIECE_BYTES ||
                !utf8_is_text((const char *)text.at, text.size))
                return status_fail(
                    err, SB_ERR_FORMAT,
                    "%s: piece %zu of the SentencePiece model has %zu bytes; expected 1 to %d "
                    "bytes of UTF-8 without zero bytes",
                    name, id, text.size, MOST_PIECE_BYTES);
        } else if (f.number == 3 && !f.is_bytes) {
            type = f.value;
        }
    }
    if (text.size == 0)
        return status_fail(err, SB_ERR_FORMAT, "%s: piece %zu of the SentencePiece model is empty",
                           name, id);
    *user_defined = type == TYPE_USER_DEFINED ? text : (span){NULL, 0};
    return SB_OK;
}

static int compare_spans(const void *a, const void *b)
{
    const span *const left = a, *const right = b;
    const size_t common = left->size < right->size ? left->size : right->size;
    const int order = memcmp(left->at, right->at, common);
    return order != 0 ? order : (left->size > right->size) - (left->size < right->size);
}

/* Checks how many texts are prefixes of one another. In sorted order a prefix of a text comes
 * before it, and every text between the two begins with that prefix, too; so `chain` holds the
 * prefixes of the current text. */
static sb_status check_prefixes(const char *name, span *texts, size_t n, sb_error *err)
{
    const span *chain[MOST_PREFIXES];
    size_t depth = 0;
    if (n > 0)
        qsort(texts, n, sizeof *texts, compare_spans);
    for (size_t i = 0; i < n; i++) {
        while (depth > 0 && (chain[depth - 1]->size > texts[i].size ||
                             memcmp(chain[depth - 1]->at, texts[i].at, chain[depth - 1]->size)))
            depth--;
        if (depth == MOST_PREFIXES)
            return status_fail(err, SB_ERR_FORMAT,
                               "%s: more than %d user-defined pieces of the SentencePiece model "
                               "are prefixes of one another",
                               name, MOST_PREFIXES);
        chain[depth++] = &texts[i];
    }
    return SB_OK;
}

static sb_status check_message(const char *name, span message, char *clean, size_t *clean_size,
                               sb_error *err)
{
    span *texts = NULL;
    size_t n_texts = 0, capacity = 0, n_pieces = 0;
    sb_status status = SB_OK;
    field f;
    *clean_size = 0;
    while (status == SB_OK && message.size > 0) {
        if (!next_field(&message, &f)) {
            status = fail_wire(name, "its protobuf message", err);
            break;
        }
        if (f.is_bytes && f.number == 1) {
            span text;
            status = check_piece(name, f.body, n_pieces++, &text, err);
            if (status == SB_OK && n_pieces > MOST_PIECES)
                status = status_fail(err, SB_ERR_LIMIT,
                                     "%s: the SentencePiece model has more than %d pieces", name,
                                     MOST_PIECES);
            if (status == SB_OK && text.size > 0) {
                if (alloc_reserve(&texts, &capacity, n_texts + 1, sizeof *texts) != SB_OK)
                    status = status_no_memory(err);
                else
                    texts[n_texts++] = text;
            }
        } else if (f.is_bytes && (f.number == 3 || f.number == 5)) {
            status = check_normalizer(name, f.body, err);
        }
        if (f.number == 4)
            continue;
        memcpy(clean + *clean_size, f.whole.at, f.whole.size);
        *clean_size += f.whole.size;
    }
    if (status == SB_OK && n_pieces == 0)
        status = status_fail(err, SB_ERR_FORMAT, "%s: the SentencePiece model has no pieces", name);
    if (status == SB_OK)
        status = check_prefixes(name, texts, n_texts, err);
    alloc_free(texts);
    return status;
}

sb_status pieces_check(const char *name, const void *data, size_t size, char **clean,
                       size_t *clean_size, sb_error *err)
{
    if (size > MOST_BYTES)
        return status_fail(err, SB_ERR_LIMIT,
                           "%s: the SentencePiece model has %zu bytes; expected at most %d", name,
                           size, MOST_BYTES);
    char *const copy = alloc_array(size, 1);
    if (copy == NULL)
        return status_no_memory(err);
    const sb_status status = check_message(name, (span){data, size}, copy, clean_size, err);
    if (status != SB_OK) {
        alloc_free(copy);
        return status;
    }
    *clean = copy;
    return SB_OK;
}
