/* Writes the records of `sbeam draw` in its three formats. */
#ifndef CLI_DRAW_WRITER_H
#define CLI_DRAW_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/output.h"
#include "common/terminal.h"
#include "sbeam/draw.h"
#include "sbeam/record.h"

/* The formats, as indices of the command's list. */
enum { DRAW_TEXT, DRAW_JSONL, DRAW_TSV };

typedef struct draw_writer {
    const sb_model *model;
    const sb_config *config;
    bool many_draws; /* the text format shows the number of the draw */
    terminal term;
    output out;
    uint64_t n_records;        /* written so far */
    sb_record_writer *records; /* owned; NULL if the format is not jsonl */
} draw_writer;

/* A function that adds one record to writer->out and counts it in n_records. draw_lines.c and
 * draw_text.c define them. */
typedef sb_status (*draw_write_fn)(draw_writer *writer, const sb_input *input,
                                   const sb_result *result, sb_error *err);

sb_status draw_write_text(draw_writer *writer, const sb_input *input, const sb_result *result,
                          sb_error *err);
sb_status draw_write_jsonl(draw_writer *writer, const sb_input *input, const sb_result *result,
                           sb_error *err);
sb_status draw_write_tsv(draw_writer *writer, const sb_input *input, const sb_result *result,
                         sb_error *err);

/* Adds the line of a sequence that is certain before its draw has ended. The format is jsonl. */
sb_status draw_write_partial(draw_writer *writer, const sb_certain *found, sb_error *err);

/* Writes the column names of tsv. The first record writes them itself; call this for a table
 * without records. */
void draw_write_names(draw_writer *writer);

#endif
