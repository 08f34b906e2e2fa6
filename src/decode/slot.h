/* The data of a decoder and its slots, and the functions by which methods change them.
 *
 * A slot holds one job: a beam of entries (prefixes and finished leaves) and the rows that it asks
 * the model for. At each step the loop (loop.c) opens the rows. Then the method chooses the
 * children and finished entries that make up the next beam. The functions below do the work that
 * all methods share: they find how a child ends, and keep paths, log-probabilities and the list of
 * rows to ask for.
 *
 * The rows of a level may come in several chunks, so that not all of them are in memory at once. A
 * chunk is a run of entries of the beam with their rows. After each chunk slot->next holds the best
 * children of all chunks so far. They are made into entries before their rows are freed. Entries of
 * earlier chunks compete as candidates with the children of the next chunk. Paths and the list of
 * rows to ask for are made after the last chunk. */
#ifndef DECODE_SLOT_H
#define DECODE_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "decode/states.h"
#include "math/children.h"
#include "math/logspace.h"
#include "math/noise.h"
#include "math/row.h"
#include "sbeam/decoder.h"

struct entry {
    struct noise_node node;
    double phi;         /* log-probability of the prefix, tempered and masked */
    double log_p_model; /* the same under the model itself */
    double score;       /* the number it is ranked by: G, or the score of a beam search */
    int64_t root;       /* number of the root that it descends from */
    int32_t row;        /* index of its row among the rows of its level, if it grows */
    int32_t path;       /* index of its last step in slot->path, -1: none; while the level is being
                         * expanded, that of its parent */
    int32_t depth;      /* steps from the root, EOS included */
    int32_t parent;     /* index on the previous beam, -1 for the root */
    int32_t token;      /* its last token, -1 for the root */
    int32_t allowed;    /* its node in config.allow; the root is 0 */
    int32_t rest;       /* best-first search: number of the rest that it stands for, -1: none */
    sb_end end;         /* SB_END_NONE while it grows */
    bool is_new;        /* made by the last step */
};

struct beam {
    struct entry *entries;
    size_t n, capacity;
};

static inline void beam_swap(struct beam *a, struct beam *b)
{
    const struct beam c = *a;
    *a = *b;
    *b = c;
}

/* Appends a copy of an entry. */
static inline sb_status beam_append(struct beam *beam, const struct entry *entry)
{
    const sb_status status =
        alloc_reserve(&beam->entries, &beam->capacity, beam->n + 1, sizeof *beam->entries);
    if (status == SB_OK)
        beam->entries[beam->n++] = *entry;
    return status;
}

/* One token of a path. Paths with a common prefix share its steps. */
struct path_step {
    int32_t token;
    int32_t previous; /* index of the step before, -1: none */
};

/* A row that a slot asks for: the child `token` of row `parent` of the level before; both are -1
 * for the root. */
struct wanted_row {
    int32_t parent, token;
    int32_t depth;   /* of its node: steps from the root */
    int32_t allowed; /* its node in config.allow, -1: only the state of the row is needed */
    int32_t from; /* the state that it continues, -1: none, or the decoder does not number states */
};

enum slot_state {
    SLOT_FREE = 0,
    SLOT_RUNNING,
    SLOT_WAITING, /* its result was taken, but its job can be continued */
    SLOT_FINISHED,
    SLOT_FAILED
};

struct slot {
    enum slot_state state;
    struct noise_key key;
    double temperature;
    int32_t step; /* steps taken since the root */
    size_t goal;  /* number of sequences after which the job ends; only for best-first search */
    struct beam now, next;
    struct path_step *path;
    size_t n_path, path_capacity;
    struct wanted_row *wanted; /* (n_wanted) the rows of the level */
    size_t n_wanted, wanted_capacity;
    size_t n_expanded;             /* rows of the level in the chunks so far */
    size_t n_chunk;                /* rows of the chunk that is asked for; 0: none */
    size_t first_entry, end_entry; /* the chunk has entries first_entry .. end_entry - 1 of `now` */
    int32_t *states;               /* (n_numbered) the state of each row of the level */
    size_t n_numbered, state_capacity;
    int32_t first_row, previous_first_row; /* where its rows begin in the rows of the decoder */
    uint64_t model_rows;
    struct logspace_total pruned; /* mass left off the beam; only for methods that use merge.h */
    void *own;                    /* what only the method knows: its own_size bytes */
    sb_result result;
    sb_error error; /* of a failed slot */
};

/* A child or a finished entry that may enter the next beam, or an entry that an earlier chunk has
 * put there. */
struct candidate {
    double score;
    int32_t entry; /* index on slot->now: of the parent, or of the finished entry */
    int32_t token; /* of the child, or -1: the finished entry itself; EARLIER + i: entry i of
                    * decoder->earlier */
};

enum { EARLIER = INT32_MIN };

struct sb_decoder {
    sb_decoder_spec spec;
    sb_config config;
    const struct method *method;
    bool failed;
    struct slot *slots; /* (spec.max_slots) */
    char *own;          /* (spec.max_slots, method->own_size) */
    /* the rows that are asked for now: (n_rows) each */
    int32_t *parent, *token, *input, *from, *to;
    size_t n_rows, request_capacity;
    size_t most_rows;      /* maximum number of rows to ask for at once, or 0: no limit */
    bool is_endless;       /* best-first search that may go on after any number of sequences */
    size_t most_states;    /* maximum number of states that such a search keeps, at least 2 */
    size_t first_children; /* number of children that it takes first from a node */
    int32_t first_slot;    /* whose chunk is the first of those that are asked for */
    struct states states;  /* numbers for `from` and `to`, if spec.keeps_states */
    /* workspace for a chunk of one slot */
    struct beam earlier; /* entries of earlier chunks of the level */
    struct row *rows;    /* (n_row_objects) the first is row slot->n_expanded of the level */
    void **row_scratch;
    size_t n_row_objects, row_capacity, scratch_capacity;
    int32_t row_width;        /* number of members that the scratch of a row has room for */
    struct children *streams; /* (entries) */
    size_t stream_capacity;
    struct candidate *candidates, *leaves; /* heaps */
    size_t candidate_capacity, leaf_capacity;
    int32_t *counts;      /* (vocab_size) diverse: how often earlier groups chose a token */
    int32_t *scratch_ids; /* (row_width) for filter.c */
    int32_t *tokens;      /* the last path that slot_read_path read */
    size_t token_capacity;
};

/* Appends a root entry to slot->now and asks for its row. A method with several roots numbers them;
 * each entry knows the number of its root. */
sb_status slot_push_root(struct slot *slot, double score, int64_t number);

/* Returns the row of an entry of the chunk. */
static inline struct row *slot_row(const sb_decoder *decoder, const struct slot *slot,
                                   const struct entry *entry)
{
    return &decoder->rows[(size_t)entry->row - slot->n_expanded];
}

/* Appends a row to the list of wanted rows. */
sb_status slot_want_row(struct slot *slot, struct wanted_row row);
/* Appends the last token of an entry to the path of its parent. The entry then has its own path. */
sb_status slot_add_step(struct slot *slot, struct entry *entry);

/* Returns whether this is the last chunk of the level. */
static inline bool slot_is_last_chunk(const struct slot *slot)
{
    return slot->n_expanded + slot->n_chunk == slot->n_wanted;
}

/* Moves the entries of earlier chunks from slot->next to decoder->earlier, for a method that
 * chooses among them and the candidates of this chunk. Afterwards slot->next is empty. */
static inline void slot_set_aside(sb_decoder *decoder, struct slot *slot)
{
    beam_swap(&slot->next, &decoder->earlier);
    slot->next.n = 0;
}

/* Returns entry i of decoder->earlier as a candidate. Among equal scores of one parent, the entries
 * keep their order. */
static inline struct candidate slot_earlier(const sb_decoder *decoder, size_t i)
{
    const struct entry *const entry = &decoder->earlier.entries[i];
    return (struct candidate){entry->score, entry->parent, EARLIER + (int32_t)i};
}

/* Makes *child the child `token` of an entry of this chunk. */
sb_status slot_make_child(sb_decoder *decoder, const struct slot *slot, const struct entry *parent,
                          int32_t token, double score, struct entry *child);
/* Appends the child `token` of entry `parent` of slot->now to slot->next. The entry must be of this
 * chunk. */
sb_status slot_push_child(sb_decoder *decoder, struct slot *slot, int32_t parent, int32_t token,
                          double score);
/* Keeps finished entry `i` of slot->now on slot->next. */
sb_status slot_keep(struct slot *slot, int32_t i);
/* Appends any candidate to slot->next, with its score. */
sb_status slot_push(sb_decoder *decoder, struct slot *slot, const struct candidate *candidate);
/* Makes the paths of the new entries of slot->next and the list of the rows to ask for. Call it
 * when the whole level has been expanded. Neighbours that are the same node share one row and one
 * path. */
sb_status slot_complete(struct slot *slot);
/* Returns how the child `token` of an entry ends. If memory is short, *status is SB_ERR_MEMORY;
 * otherwise *status is unchanged. */
sb_end slot_end_of(sb_decoder *decoder, const struct slot *slot, const struct entry *parent,
                   int32_t token, sb_status *status);
/* Reads the last `most` tokens of a path (0: all) into decoder->tokens, which has room for one
 * more. Returns their number, or -1 if memory is short. */
int32_t slot_read_path(sb_decoder *decoder, const struct slot *slot, int32_t path, int32_t most);

#endif
