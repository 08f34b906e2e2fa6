/* A cursor draws one sequence after the other, without replacement, for as long as the caller wants
 * more.
 *
 *     sb_cursor_open(&cursor, model, &spec, &config, &err);
 *     while (... more sequences are wanted ... && sb_cursor_next(cursor, &sequence, &err) == 1)
 *         ... use sequence ...
 *     sb_cursor_close(cursor);
 *
 * The first k sequences are those of a draw of k with the same settings, for every k, bit for bit.
 * So a cursor continues a draw instead of repeating it. The search is best-first. If `parallel` is
 * above 1, the cursor evaluates prefixes ahead; if the model fails for one of them, the cursor
 * fails a few sequences earlier than a draw does. */
#ifndef SBEAM_CURSOR_H
#define SBEAM_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/draw.h"
#include "sbeam/error.h"
#include "sbeam/model.h"
#include "sbeam/result.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sb_cursor sb_cursor;

/* The input of a cursor. All zeros: the empty input, as stream 0 and draw 0. */
typedef struct sb_cursor_spec {
    const char *text; /* (size) the input; the caller's, and needed only while the cursor opens */
    size_t size;
    uint64_t stream, draw; /* the number of the input, and of the draw from it */
} sb_cursor_spec;

/* The work and the memory of a cursor so far. */
typedef struct sb_cursor_use {
    uint64_t sequences;  /* given by sb_cursor_next */
    uint64_t model_rows; /* rows that the search asked the model for */
    size_t entries;      /* prefixes and sequences that wait in the queue of the search */
    size_t bytes;        /* memory of the search; the states of the model come on top of it */
} sb_cursor_use;

/* Opens a cursor. The method must be sbs, the search must not be level, and the rules until_mass
 * and until_texts must be off. k and kappa are ignored. The lists of the config, and the model,
 * must stay valid while the cursor is open. `spec` may be NULL. On success *cursor is the caller's
 * to close. */
SB_API sb_status sb_cursor_open(sb_cursor **cursor, const sb_model *model,
                                const sb_cursor_spec *spec, const sb_config *config, sb_error *err);
/* Frees the cursor. Accepts NULL. */
SB_API void sb_cursor_close(sb_cursor *cursor);

/* Makes the cursor check an interrupt before each step of the model; NULL: none. The interrupt is
 * the caller's and must stay open while the cursor uses it. */
SB_API void sb_cursor_set_interrupt(sb_cursor *cursor, const sb_interrupt *interrupt);

/* Writes the next sequence to *sequence. Returns 1, or 0 if the model has no other sequences, or -1
 * after an error. The sequence has no log_weight; its tokens are the cursor's and valid until the
 * next call. After SB_ERR_STOPPED, which an interrupt causes, the next call continues the search.
 * If the search itself has failed, all later calls fail with the same error. */
SB_API int sb_cursor_next(sb_cursor *cursor, sb_sequence *sequence, sb_error *err);

/* Returns the G of the next sequence, which is kappa of all sequences so far; -inf if there is
 * none. */
SB_API double sb_cursor_threshold(const sb_cursor *cursor);

/* Fills *result, which the caller opened, with all sequences so far, as a draw of that many: with
 * kappa and weights. On failure *result is empty. The weights are right only if the number of
 * sequences was chosen without looking at them. If you stop when the sequences please you, choose
 * the number with one cursor, and estimate from a draw of that many sequences with another draw
 * number. */
SB_API sb_status sb_cursor_get_result(sb_cursor *cursor, sb_result *result, sb_error *err);

/* Returns the work and the memory of the cursor so far. */
SB_API sb_cursor_use sb_cursor_get_use(const sb_cursor *cursor);

#ifdef __cplusplus
}
#endif
#endif
