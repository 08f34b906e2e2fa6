/* The method reject (section 4.2): ancestral samples, from which duplicates are rejected.
 *
 * It draws samples in rounds, until k distinct sequences have been found or max_samples have been
 * drawn. Rounds only serve to evaluate many samples together; the result is the same as if the
 * samples were drawn one by one. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "decode/method.h"
#include "decode/sample.h"

enum { LARGEST_ROUND = 4096 };

struct rejection {
    struct samples samples; /* of this round */
    uint64_t round_first, round_size;
    struct beam found; /* the distinct sequences so far */
    int32_t *table;    /* (table_size) hash table: indices into found, -1: empty */
    size_t table_size; /* a power of two, at least 2 k */
    struct hash_key key;
};

static struct rejection *get_rejection(const struct slot *slot)
{
    return slot->own;
}

static void close_reject(void *own)
{
    struct rejection *const rejection = own;
    sample_close(&rejection->samples);
    alloc_free(rejection->found.entries);
    alloc_free(rejection->table);
}

static sb_status start_round(const sb_decoder *decoder, struct slot *slot, uint64_t size)
{
    struct rejection *const rejection = get_rejection(slot);
    const uint64_t left = decoder->config.max_samples - rejection->round_first;
    rejection->round_size = size < left ? size : left;
    slot->step = 0;
    slot->now.n = 0;
    return sample_start(slot, rejection->round_first, rejection->round_size);
}

static sb_status start_reject(sb_decoder *decoder, struct slot *slot)
{
    struct rejection *const rejection = get_rejection(slot);
    size_t size = 16;
    while (size < 2 * (size_t)decoder->config.k)
        size *= 2;
    if (rejection->table_size < size) {
        int32_t *const table = alloc_resize(rejection->table, size, sizeof *table);
        if (table == NULL)
            return SB_ERR_MEMORY;
        rejection->table = table;
        rejection->table_size = size;
    }
    rejection->key = hash_process_key();
    memset(rejection->table, -1, rejection->table_size * sizeof *rejection->table);
    rejection->found.n = 0;
    rejection->round_first = 0;
    return start_round(decoder, slot, (uint64_t)decoder->config.k);
}

/* Frees the paths of a round. slot->path holds the paths of the sequences found before, up to
 * kept_path, then all paths of the round. This moves the paths of the new sequences, from `first`
 * on, to the index after kept_path and drops the rest of the round. */
static sb_status pack_paths(sb_decoder *decoder, struct slot *slot, size_t first, size_t kept_path)
{
    struct beam *const found = &get_rejection(slot)->found;
    int32_t *tokens = NULL;
    size_t n = 0, capacity = 0;
    sb_status status = SB_OK;
    for (size_t i = first; i < found->n && status == SB_OK; i++) {
        const int32_t length = slot_read_path(decoder, slot, found->entries[i].path, 0);
        status = length < 0
                     ? SB_ERR_MEMORY
                     : alloc_reserve(&tokens, &capacity, n + (size_t)length + 1, sizeof *tokens);
        if (status != SB_OK)
            break;
        tokens[n++] = length;
        for (int32_t j = 0; j < length; j++)
            tokens[n++] = decoder->tokens[j];
    }
    slot->n_path = kept_path;
    const int32_t *from = tokens;
    for (size_t i = first; i < found->n && status == SB_OK; i++) {
        const int32_t length = *from++;
        status = slot->n_path + (size_t)length > INT32_MAX
                     ? SB_ERR_MEMORY
                     : alloc_reserve(&slot->path, &slot->path_capacity,
                                     slot->n_path + (size_t)length, sizeof *slot->path);
        int32_t previous = -1;
        for (int32_t j = 0; j < length && status == SB_OK; j++) {
            slot->path[slot->n_path] = (struct path_step){*from++, previous};
            previous = (int32_t)slot->n_path++;
        }
        found->entries[i].path = previous;
    }
    alloc_free(tokens);
    return status;
}

/* Adds a sample to `found`, unless its sequence is there. The node is already a hash, but anyone
 * can compute it, so a model could be made whose sequences collide. The table therefore hashes it
 * again, with a key. */
static sb_status add_if_new(struct rejection *rejection, const struct entry *sample)
{
    const size_t mask = rejection->table_size - 1;
    size_t i = (size_t)hash_number(&rejection->key, sample->node.a) & mask;
    for (; rejection->table[i] >= 0; i = (i + 1) & mask)
        if (noise_same_node(rejection->found.entries[rejection->table[i]].node, sample->node))
            return SB_OK;
    rejection->table[i] = (int32_t)rejection->found.n;
    return beam_append(&rejection->found, sample);
}

/* Looks at the samples of a round in their order, until k distinct sequences have been found. */
static sb_status inspect_round(sb_decoder *decoder, struct slot *slot)
{
    struct rejection *const rejection = get_rejection(slot);
    const size_t first_new = rejection->found.n;
    size_t kept_path = 0;
    for (size_t i = 0; i < first_new; i++)
        if (rejection->found.entries[i].path >= (int32_t)kept_path)
            kept_path = (size_t)rejection->found.entries[i].path + 1;

    sample_sort(&rejection->samples);
    const struct beam *const done = &rejection->samples.done;
    for (size_t i = 0; i < done->n && rejection->found.n < (size_t)decoder->config.k; i++) {
        slot->result.samples++;
        slot->result.sampled_rows += (uint64_t)done->entries[i].depth;
        if (add_if_new(rejection, &done->entries[i]) != SB_OK)
            return SB_ERR_MEMORY;
    }
    return pack_paths(decoder, slot, first_new, kept_path);
}

static sb_status finish_reject(sb_decoder *decoder, struct slot *slot)
{
    struct rejection *const rejection = get_rejection(slot);
    const size_t k = (size_t)decoder->config.k;
    const sb_status status = inspect_round(decoder, slot);
    if (status != SB_OK)
        return status;
    rejection->round_first += rejection->round_size;
    if (rejection->found.n < k && rejection->round_first < decoder->config.max_samples) {
        uint64_t most = k > LARGEST_ROUND ? k : LARGEST_ROUND;
        if (decoder->spec.max_rows > 0 && most > (uint64_t)decoder->spec.max_rows)
            most = (uint64_t)decoder->spec.max_rows;
        const uint64_t size = 2 * rejection->round_size;
        return start_round(decoder, slot, size < most ? size : most);
    }
    slot->result.complete = rejection->found.n == k;
    beam_swap(&slot->now, &rejection->found);
    return SB_OK;
}

const struct method method_reject = {
    .info = {.law = SB_LAW_WITHOUT_REPLACEMENT,
             .counts_samples = true,
             .has_rounds = true,
             .why_no_estimate =
                 "its draws have no kappa; method sbs draws by the same law and has one"},
    .row_use = ROWS_FLEXIBLE,
    .own_size = sizeof(struct rejection),
    .close = close_reject,
    .start = start_reject,
    .expand = sample_expand,
    .settle = sample_settle,
    .finish = finish_reject,
};
