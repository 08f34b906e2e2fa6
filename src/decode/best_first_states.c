#include "decode/best_first_states.h"

#include "base/alloc.h"

/* Returns the path of the parent. That of an unexpanded node is still the path of its parent. */
static int32_t parent_path(const struct slot *slot, const struct entry *node)
{
    return node->rest < 0 || node->path < 0 ? node->path : slot->path[node->path].previous;
}

static bool is_root(const struct entry *node)
{
    return node->token < 0;
}

void best_first_clear(struct best_first *own)
{
    for (size_t i = 0; i < own->n_rests; i++)
        alloc_free(own->rests[i].taken);
    own->n_nodes = own->n_rests = own->n_unused = own->n_kept = own->first_kept = 0;
    own->is_climbing = false;
}

/* Makes room for the nodes of all paths. */
static sb_status reserve_nodes(struct slot *slot)
{
    struct best_first *const own = best_first_of(slot);
    const size_t n = slot->n_path + 1;
    if (alloc_reserve(&own->state_of, &own->state_capacity, n, sizeof *own->state_of) != SB_OK)
        return SB_ERR_MEMORY;
    while (own->n_nodes < n)
        own->state_of[own->n_nodes++] = -1;
    return SB_OK;
}

/* Returns a pointer to the number of the state of the node with this path. */
static int32_t *state_at(const struct slot *slot, int32_t path)
{
    return &best_first_of(slot)->state_of[path + 1];
}

void best_first_hold_parent(sb_decoder *decoder, struct slot *slot, const struct entry *entry)
{
    if (!decoder->is_endless)
        states_hold(&decoder->states, *state_at(slot, entry->path));
}

void best_first_drop_parent(sb_decoder *decoder, struct slot *slot, const struct entry *entry)
{
    if (!decoder->is_endless)
        states_drop(&decoder->states, *state_at(slot, entry->path));
}

bool best_first_has_parent(const struct slot *slot, const struct entry *node)
{
    return is_root(node) || *state_at(slot, parent_path(slot, node)) >= 0;
}

sb_status best_first_want(sb_decoder *decoder, struct slot *slot, const struct entry *node)
{
    const int32_t from = is_root(node) ? -1 : *state_at(slot, parent_path(slot, node));
    if (decoder->is_endless && from >= 0)
        states_hold(&decoder->states, from);
    return slot_want_row(slot,
                         (struct wanted_row){-1, node->token, node->depth, node->allowed, from});
}

/* --- states that a cursor keeps --- */

/* Keeps the state of a node. Gives back the oldest one if there are too many. */
static sb_status keep(sb_decoder *decoder, struct slot *slot, int32_t path, int32_t state)
{
    struct best_first *const own = best_first_of(slot);
    if (*state_at(slot, path) >= 0) { /* a node that was evaluated again for its rest */
        states_drop(&decoder->states, state);
        return SB_OK;
    }
    if (own->n_kept - own->first_kept >= decoder->most_states) {
        int32_t *const oldest = state_at(slot, own->kept[own->first_kept++]);
        states_drop(&decoder->states, *oldest);
        *oldest = -1;
    }
    if (own->first_kept > own->n_kept / 2) { /* the list begins again at index 0 */
        for (size_t i = own->first_kept; i < own->n_kept; i++)
            own->kept[i - own->first_kept] = own->kept[i];
        own->n_kept -= own->first_kept;
        own->first_kept = 0;
    }
    if (alloc_reserve(&own->kept, &own->kept_capacity, own->n_kept + 1, sizeof *own->kept) != SB_OK)
        return SB_ERR_MEMORY;
    own->kept[own->n_kept++] = path;
    *state_at(slot, path) = state;
    return SB_OK;
}

sb_status best_first_keep_state(sb_decoder *decoder, struct slot *slot, size_t i)
{
    if (reserve_nodes(slot) != SB_OK)
        return SB_ERR_MEMORY;
    const int32_t path = slot->next.entries[i].path;
    if (decoder->is_endless)
        return keep(decoder, slot, path, slot->states[i]);
    *state_at(slot, path) = slot->states[i];
    return SB_OK;
}

void best_first_drop_leaf(sb_decoder *decoder, struct slot *slot, size_t i)
{
    if (decoder->is_endless) /* otherwise best_first_drop_expanded gives it back */
        states_drop(&decoder->states, slot->states[i]);
}

void best_first_drop_kept(sb_decoder *decoder, struct slot *slot)
{
    struct best_first *const own = best_first_of(slot);
    for (size_t i = own->first_kept; i < own->n_kept; i++) {
        int32_t *const state = state_at(slot, own->kept[i]);
        states_drop(&decoder->states, *state);
        *state = -1;
    }
    own->n_kept = own->first_kept = 0;
}

void best_first_drop_expanded(sb_decoder *decoder, struct slot *slot)
{
    for (size_t i = 0; i < slot->n_numbered && !decoder->is_endless; i++)
        states_drop(&decoder->states, slot->states[i]);
    slot->n_numbered = 0;
}

sb_status best_first_climb(sb_decoder *decoder, struct slot *slot, const struct entry *node)
{
    struct best_first *const own = best_first_of(slot);
    int32_t path = parent_path(slot, node), depth = 1;
    while (path >= 0 && *state_at(slot, slot->path[path].previous) < 0)
        path = slot->path[path].previous;
    for (int32_t p = path; p >= 0 && slot->path[p].previous >= 0; p = slot->path[p].previous)
        depth++;
    own->is_climbing = true;
    own->climbed = path;
    if (path < 0)
        return slot_want_row(slot, (struct wanted_row){-1, -1, 0, -1, -1});
    const int32_t from = *state_at(slot, slot->path[path].previous);
    states_hold(&decoder->states, from);
    return slot_want_row(slot, (struct wanted_row){-1, slot->path[path].token, depth, -1, from});
}

sb_status best_first_climbed(sb_decoder *decoder, struct slot *slot)
{
    struct best_first *const own = best_first_of(slot);
    own->is_climbing = false;
    return keep(decoder, slot, own->climbed, slot->states[0]);
}
