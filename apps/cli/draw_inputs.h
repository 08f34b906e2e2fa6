/* The inputs of sbeam draw: arguments, files, lines of standard input, or one empty input. */
#ifndef CLI_DRAW_INPUTS_H
#define CLI_DRAW_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/line_reader.h"
#include "common/options.h"
#include "sbeam/draw.h"

typedef enum draw_source { FROM_NOTHING, FROM_COMMAND_LINE, FROM_LINES } draw_source;

/* A file that --file names. */
typedef struct draw_file {
    const char *path;
    int after; /* number of INPUT arguments that precede it */
} draw_file;

/* Set `files` to an array for all that the command line may name, leave the rest zero. */
typedef struct draw_inputs {
    draw_file *files; /* (n_files); the caller's */
    size_t n_files;
    bool is_jsonl; /* lines are JSON objects */
    /* Set by draw_inputs_open. */
    const options *parsed;
    draw_source source;
    int next_argument; /* INPUT arguments given so far */
    size_t next_file;
    line_reader reader; /* FROM_LINES */
} draw_inputs;

/* Take the values of --file and --input. Return the exit code. */
int draw_inputs_add_file(draw_inputs *inputs, const options *parsed);
int draw_inputs_set_form(draw_inputs *inputs, const char *value);

/* Decides where the inputs come from. Returns the exit code. */
int draw_inputs_open(draw_inputs *inputs, const options *parsed, const sb_model *model);
void draw_inputs_close(draw_inputs *inputs);

/* Returns the number of inputs, or 0 if it is not known because they are lines. */
uint64_t draw_inputs_count(const draw_inputs *inputs);

/* Returns whether the inputs arrive over time: whether they are the lines of a file that is not a
 * regular file, such as a pipe or a terminal. */
bool draw_inputs_arrive(const draw_inputs *inputs);

/* Waits until draw_inputs_next can answer without waiting, as line_reader_wait does. */
bool draw_inputs_wait(draw_inputs *inputs, int milliseconds);

/* Fills in the next input and its stream. Returns 1, 0 at the end, or -1 after an error. The text
 * is an argument's, or allocated; then input->user is the same pointer, the caller's to free. */
int draw_inputs_next(draw_inputs *inputs, sb_input *input, sb_error *err);

/* Finds the line of an input that the library's message names by its stream, as in "input 3: ...".
 * Returns false if the inputs are not lines of text. */
bool draw_inputs_find_line(const draw_inputs *inputs, const sb_error *err, uint64_t *line);

#endif
