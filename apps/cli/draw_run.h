/* The work of sbeam draw. */
#ifndef CLI_DRAW_RUN_H
#define CLI_DRAW_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/draw_inputs.h"
#include "common/options.h"
#include "sbeam/model.h"

/* One run of the command. All pointers are the caller's. */
typedef struct draw_task {
    draw_inputs *inputs; /* with the values of --file and --input */
    const options *parsed;
    const sb_model *model;
    bool each;        /* also write each sequence as soon as it is certain; the format is jsonl */
    FILE *stats_file; /* of --cache-stats, open for writing, or NULL */
} draw_task;

/* Draws from all inputs and writes the results. Returns the exit code, after a message if it is not
 * EXIT_FINE. */
int draw_run(const draw_task *task);

#endif
