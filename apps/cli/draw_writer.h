/* The records of `sbeam draw`, in its three forms. */
#ifndef CLI_DRAW_WRITER_H
#define CLI_DRAW_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/output.h"
#include "common/terminal.h"
#include "sbeam/draw.h"

typedef struct draw_writer {
    const sb_model *model;
    const sb_config *config;
    bool many_draws; /* then the text form shows the number of the draw */
    terminal term;
    output out;
    uint64_t n_records; /* written so far */
    output settings;    /* what a JSON record says of them, the same for all */
} draw_writer;

/* Gathers writer->settings: what changes the law and is not at its default. */
void draw_gather_settings(draw_writer *writer);

/* The text of a sequence, cut before the first of its stop strings. *text is the caller's, for
 * sb_free. */
sb_status draw_decode(const draw_writer *writer, const sb_sequence *sequence, char **text,
                      sb_error *err);

/* Each adds one record to writer->out. */
typedef sb_status (*draw_write_fn)(draw_writer *writer, const sb_input *input,
                                   const sb_result *result, sb_error *err);

sb_status draw_write_text(draw_writer *writer, const sb_input *input, const sb_result *result,
                          sb_error *err);
sb_status draw_write_jsonl(draw_writer *writer, const sb_input *input, const sb_result *result,
                           sb_error *err);
sb_status draw_write_tsv(draw_writer *writer, const sb_input *input, const sb_result *result,
                         sb_error *err);

/* The names of the columns of tsv. The first record brings them; this is for a table without any.
 */
void draw_write_names(draw_writer *writer);

#endif
