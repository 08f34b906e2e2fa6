/* Reads the lines of sbeam score, spreads them over threads, and writes the records in order. */
#ifndef CLI_SCORE_POOL_H
#define CLI_SCORE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/output.h"
#include "sbeam/model.h"
#include "sbeam/record.h"

/* How to read and score a line. */
typedef struct score_work {
    const sb_model *model;
    bool is_jsonl, no_eos;
    int32_t max_len; /* 0: no limit was given */
} score_work;

/* A line and its score. */
typedef struct score_item {
    uint64_t line; /* its number, from 1 */
    char *text;    /* (size) and a terminator; owned */
    size_t size;
    bool is_ready; /* it has been scored, or has failed */
    sb_status status;
    sb_error err; /* if the status is not SB_OK */
    sb_input_record record;
    int32_t n_scored;    /* tokens and EOS */
    double *token_log_p; /* (n_scored); owned */
} score_item;

/* Scores the line of the item: fills in its record and token_log_p, or its err. Threads may call it
 * at once for different items. cmd_score.c defines it and the next function. */
sb_status score_line(const score_work *work, score_item *item);
/* Appends the record of an item that was scored. */
void score_write(const score_item *item, output *out);

/* Scores all lines of standard input. Returns the exit code. */
int score_lines(const score_work *work, size_t n_threads);

#endif
