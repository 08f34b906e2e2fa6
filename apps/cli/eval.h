/* sbeam eval in its two modes: lines of text, and draws. */
#ifndef CLI_EVAL_H
#define CLI_EVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/reference_file.h"
#include "sbeam/config.h"
#include "sbeam/metric.h"

typedef struct eval_options {
    const char *hypotheses;          /* a path; NULL: draws are read from standard input */
    const reference_set *references; /* NULL: no --ref was given */
    size_t n_references;             /* files of references */
    sb_bleu_config bleu;
    bool is_sentence, is_text;
} eval_options;

/* Indices of the measures of one draw. A measure that does not exist is NaN. */
enum {
    EVAL_BLEU_MIN,
    EVAL_BLEU_MEAN,
    EVAL_BLEU_MAX,
    EVAL_D1, /* .. D4 */
    EVAL_DIVERSITY = EVAL_D1 + SB_NGRAM_ORDERS,
    EVAL_VALUES
};

/* The draws of one setting. */
typedef struct eval_setting {
    sb_method method;
    int32_t k;
    double temperature;
    double strength; /* NaN: none */
    char *settings;  /* the others, as sb_record.settings; owned */
    uint64_t line;   /* of the first draw */
    uint64_t n_inputs;
    double values[EVAL_VALUES]; /* means over inputs */
} eval_setting;

/* Each prints a message if it fails, and returns the exit code. */
int eval_text(const eval_options *options);
int eval_draws(const eval_options *options);

/* Writes n settings to standard output, as a table or as JSON lines. Returns the exit code. */
int eval_write_settings(const eval_setting *settings, size_t n, bool is_text);

#endif
