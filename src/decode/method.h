/* What every method of drawing gives to the loop. Each method defines one `struct method`; the list
 * of all methods is SB_METHOD_LIST in sbeam/method.h. */
#ifndef DECODE_METHOD_H
#define DECODE_METHOD_H

#include "decode/slot.h"

/* How many rows a draw asks for at once. */
enum row_use {
    ROWS_BOUNDED,    /* at most the rows that it needs */
    ROWS_FLEXIBLE,   /* more than it needs if the model has room for more */
    ROWS_WHOLE_LEVEL /* a whole level of the tree; such a method refuses a model with a limit */
};

struct method {
    sb_method_info info;
    enum row_use row_use;
    bool ranks_by_noise; /* it orders entries of different prefixes by log p plus noise */
    /* Optional. Returns the number of rows that a draw needs at once; NULL: k. */
    int64_t (*needed_rows)(const sb_config *config);
    size_t own_size; /* bytes of slot->own, which are zero when the decoder opens; 0: none */
    /* Optional. Frees the memory that slot->own refers to, but not slot->own. */
    void (*close)(void *own);
    /* Required. Resets slot->own. Puts the root, or several entries that share it, on slot->now. */
    sb_status (*start)(sb_decoder *decoder, struct slot *slot);
    /* Required. Called for each chunk of a level, with its rows open. Adds children of this chunk
     * of slot->now to slot->next. After the last chunk slot->next is the next beam. */
    sb_status (*expand)(sb_decoder *decoder, struct slot *slot);
    /* Optional. Called after the last chunk, when the entries of slot->next have their paths and
     * rows. May take finished entries off slot->next; ends the search by setting n_wanted to 0. */
    sb_status (*settle)(sb_decoder *decoder, struct slot *slot, sb_error *err);
    /* Optional; for a search that does not go level by level. Called instead of `settle` when all
     * wanted rows have been expanded. Makes the next list of wanted rows; an empty list ends the
     * search. */
    sb_status (*complete)(sb_decoder *decoder, struct slot *slot, sb_error *err);
    /* Optional. Gives back the states that slot->own refers to, when the job of a slot has ended.
     */
    void (*drop_states)(sb_decoder *decoder, struct slot *slot);
    /* Required. Called when no entry of slot->now grows. Puts the sequences on slot->now in the
     * order in which they are returned, or starts again (reject) by putting roots there. Sets kappa
     * and exhausted of slot->result if the method has them. */
    sb_status (*finish)(sb_decoder *decoder, struct slot *slot);
};

#define METHOD_DECLARE(suffix, c_name, name) extern const struct method method_##c_name;
SB_METHOD_LIST(METHOD_DECLARE)
#undef METHOD_DECLARE

/* sbs by best-first search (best_first.c). */
extern const struct method method_best_first;

/* Returns a method, or NULL if the value is not a method. */
const struct method *method_get(sb_method method);
/* Returns the method of valid settings: method_best_first if the search is best-first. */
const struct method *method_of(const sb_config *config);
/* Returns the number of rows that a draw needs at once. The method must be valid. */
int64_t method_needed_rows(const sb_config *config);

#endif
