/* The inside of the decoder: what decode.c, the one loop, shares with the methods.
 *
 * A slot holds one job: a beam of entries (prefixes and finished leaves) and the rows that the
 * model is asked for. At each step decode.c opens the rows, the method says which children and
 * which finished entries make the next beam, and decode.c does the rest: ends, paths,
 * log-probabilities, rows to ask for. */
#ifndef DECODE_DECODE_H
#define DECODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/children.h"
#include "math/logspace.h"
#include "math/noise.h"
#include "math/row.h"
#include "sbeam/decoder.h"

struct entry {
    struct noise_node node;
    double phi;         /* log-probability of the prefix, tempered and masked */
    double log_p_model; /* the same under the model itself */
    double score;       /* what it is ranked by: G, or a beam's score */
    int64_t tag;        /* the method's: number of a sample, or of a group */
    int32_t row;        /* its row among the slot's rows, if it grows */
    int32_t path;       /* last step of its path in the slot's arena, -1: none */
    int32_t depth;      /* steps from the root, that of EOS included */
    int32_t parent;     /* place on the previous beam, -1 for the root */
    int32_t token;      /* the token that made it */
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

struct path_step {
    int32_t token;
    int32_t previous; /* index of the step before, -1: none */
};

/* A row that a slot asks for: child `token` of its row `parent`; -1 and -1: the root. */
struct wanted_row {
    int32_t parent, token;
};

enum slot_state { SLOT_FREE = 0, SLOT_RUNNING, SLOT_FINISHED, SLOT_FAILED };

struct slot {
    enum slot_state state;
    struct noise_key key;
    double temperature;
    int32_t step; /* steps taken since the root */
    struct beam now, next;
    struct beam done; /* finished entries that left the beam */
    struct path_step *path;
    size_t n_path, path_capacity;
    struct wanted_row *wanted;
    size_t n_wanted, wanted_capacity;
    int32_t first_row, previous_first_row; /* of this slot in the decoder's rows */
    uint64_t model_rows;
    struct logspace_total pruned; /* mass left off the beam, by the methods that merge */
    uint64_t count; /* nodes made (explicit) or entries finished (beam, finished leave) so far */
    /* reject */
    struct beam found;
    int32_t *found_table; /* (table_size) places in found by node, -1: empty */
    size_t table_size;    /* a power of two, at least 2 k */
    uint64_t round_first, round_size, samples, sampled_rows;
    sb_result result;
    sb_error error; /* of a failed slot */
};

/* A child or a finished entry that may go on, for methods that rank by score. */
struct candidate {
    double score;
    int32_t entry; /* place on the beam now */
    int32_t token; /* -1: the entry itself, finished */
};

struct sb_decoder {
    sb_decoder_spec spec;
    sb_config config;
    const struct method *method;
    bool failed;
    struct slot *slots; /* (spec.max_slots) */
    /* the request: (n_rows) each */
    int32_t *parent, *token, *input;
    size_t n_rows, request_capacity;
    /* workspace of one slot's step */
    struct row *rows; /* (n_row_objects) */
    void **row_scratch;
    size_t n_row_objects, row_capacity, scratch_capacity;
    struct children *streams; /* (entries) */
    size_t stream_capacity;
    struct candidate *candidates, *leaves; /* heaps */
    size_t candidate_capacity, leaf_capacity;
    int32_t *counts;      /* (vocab_size) diverse: choices of the earlier groups */
    int32_t *scratch_ids; /* (vocab_size) filters */
    int32_t *tokens;      /* a path being read */
    size_t token_capacity;
};

/* One member of the family. */
struct method {
    const char *name;
    /* Required. Puts the root, or several entries that share it, on slot->now. */
    sb_status (*start)(sb_decoder *decoder, struct slot *slot);
    /* Required. Fills slot->next from slot->now and the decoder's opened rows. */
    sb_status (*expand)(sb_decoder *decoder, struct slot *slot, sb_error *err);
    /* Required. Called when no entry of slot->now grows: puts the sequences on slot->now, in the
     * order in which they are returned, or starts again (reject) by putting roots there. Sets kappa
     * and exhausted of slot->result where the method has them. */
    sb_status (*finish)(sb_decoder *decoder, struct slot *slot);
    bool has_g;          /* score is the G that is reported */
    bool has_log_p_draw; /* the result is an ordered sample without replacement */
};

extern const struct method method_sbs, method_beam, method_sample, method_diverse, method_resample,
    method_reject, method_explicit, method_commit, method_beam_sample;

/* For methods: appends a root entry to slot->now. */
sb_status decode_push_root(struct slot *slot, double score, int64_t tag);
/* Appends the child `token` of slot->now entry `parent` to slot->next. A child that grows shares
 * the row of the entry before it when that is the same node. */
sb_status decode_push_child(sb_decoder *decoder, struct slot *slot, int32_t parent, int32_t token,
                            double score);
/* Keeps finished entry `i` of slot->now on slot->next. */
sb_status decode_keep(struct slot *slot, int32_t i);
/* Appends a copy of an entry. */
sb_status decode_append(struct beam *beam, const struct entry *entry);
/* How the child `token` of an entry would end. */
sb_end decode_end_of(sb_decoder *decoder, const struct slot *slot, const struct entry *parent,
                     int32_t token, sb_status *status);
/* Reads the last `most` tokens of a path (0: all) into decoder->tokens, with room for one more;
 * returns their number, -1: no memory. */
int32_t decode_read_path(sb_decoder *decoder, const struct slot *slot, int32_t path, int32_t most);
/* Says in words why row_open refused a row. */
sb_status decode_refuse_row(const struct row *row, int32_t step, size_t place, sb_error *err);

/* Lists the rows that all running slots want. */
sb_status decode_build_request(sb_decoder *decoder, sb_error *err);
/* Marks the decoder as failed, and finds words where whoever failed had none. */
sb_status decode_fail(sb_decoder *decoder, sb_status status, sb_error *err);

/* Whether a temperature is within the bounds of the option table (config.c). */
sb_status config_check_temperature(double temperature, sb_error *err);

/* Restricts an opened row to what the config leaves (filter.c). False: nothing is left. */
bool filter_row(sb_decoder *decoder, const struct slot *slot, int32_t row);

/* Fills slot->result from slot->now (result.c). */
sb_status result_build(sb_decoder *decoder, struct slot *slot);
void result_clear(sb_result *result);
/* A deep copy; *to keeps its memory. */
sb_status result_copy(sb_result *to, const sb_result *from);
void result_release(sb_result *result);

#endif
