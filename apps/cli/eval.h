/* sbeam eval in its two modes: files of text, and draws. */
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
    const reference_set *references; /* NULL: none were given */
    size_t n_files;                  /* of references */
    sb_bleu_config bleu;
    bool is_sentence, is_text;
} eval_options;

/* What is measured of the sequences of one draw; NaN where there is no such thing. */
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
    uint64_t n_inputs;
    double values[EVAL_VALUES]; /* means over inputs */
} eval_setting;

/* Each returns the exit code, after a message where it failed. */
int eval_text(const eval_options *options);
int eval_draws(const eval_options *options);

/* Writes the settings (n) to standard output, as a table or as JSON lines. */
int eval_write_settings(const eval_setting *settings, size_t n, bool is_text);

#endif
