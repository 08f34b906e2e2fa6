/* The parts of `sbeam estimate`: the function f, the true expectation, the estimates of one draw,
 * the summary over draws, and the output. */
#ifndef CLI_ESTIMATE_H
#define CLI_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/line_reader.h"
#include "common/output.h"
#include "common/reference_file.h"
#include "common/terminal.h"
#include "sbeam/estimate.h"
#include "sbeam/metric.h"
#include "sbeam/model.h"
#include "sbeam/record.h"
#include "sbeam/result.h"

/* --- f --- */

#define FUNCTION_NAMES "bleu|entropy|length"
typedef enum estimate_function {
    FUNCTION_NONE = -1,
    FUNCTION_BLEU,
    FUNCTION_ENTROPY,
    FUNCTION_LENGTH,
    FUNCTION_FILE /* the numbers of --values */
} estimate_function;

typedef struct estimate_values {
    estimate_function function;
    sb_bleu_config bleu;
    reference_set *references;
    sb_bleu_references *segment; /* the references of `stream`, or NULL; owned */
    uint64_t stream;
    line_reader reader; /* of --values */
    double *f;          /* (n_sequences) of the last record; owned */
} estimate_values;

/* Opens the file of --values at `path`, or the files of references, whichever the function needs.
 * Close `values` even if this fails. */
sb_status estimate_values_open(estimate_values *values, const char *path,
                               const char *const *references, size_t n_references, sb_error *err);
void estimate_values_close(estimate_values *values);

/* Fills values->f with f of each sequence of a draw. */
sb_status estimate_values_fill(estimate_values *values, const sb_record *record, sb_error *err);
/* Computes f of one sequence; the function must not be FUNCTION_FILE. */
sb_status estimate_values_get(estimate_values *values, uint64_t stream,
                              const sb_record_sequence *sequence, double *f, sb_error *err);
/* Fails if the file of --values has numbers left after the last draw. */
sb_status estimate_values_finish(estimate_values *values, sb_error *err);

/* --- the truth --- */

typedef struct truth_entry truth_entry;

typedef struct estimate_truth {
    sb_model *model;      /* to enumerate (--truth exact), else NULL */
    int32_t max_len;      /* for records without a length limit */
    double value;         /* --truth X, the same for all draws; NaN: not given */
    truth_entry *entries; /* (n_entries), one for each stream and temperature; owned */
    size_t n_entries, capacity;
    size_t last; /* the entry found last */
    sb_result *result;
} estimate_truth;

void estimate_truth_close(estimate_truth *truth);

/* Computes E[f] for a draw's input, temperature and settings, unless it is known already or there
 * is no model. Fails if an earlier draw of the stream had another input or other settings. */
sb_status estimate_truth_learn(estimate_truth *truth, sb_record *record, estimate_values *values,
                               sb_error *err);
/* Returns E[f] for a stream and temperature; NaN if it is not known. */
double estimate_truth_get(estimate_truth *truth, uint64_t stream, double temperature);

/* --- estimates of one draw --- */

typedef struct estimate_request {
    bool sacrifice, has_curve;
    uint64_t first_k, last_k; /* of the curve */
    /* Receives each estimate, in increasing order of k. */
    void (*take)(void *user, const sb_record *record, sb_estimator estimator, int32_t k,
                 const sb_estimate *estimate);
    void *user;
} estimate_request;

/* Fails if there is no estimator for the draw, or nothing to estimate from. */
sb_status estimate_record_check(const sb_record *record, sb_error *err);
/* Passes the estimates of a draw to request->take. The draw must have passed the check above; f has
 * the value of each sequence. */
sb_status estimate_record(const estimate_request *request, const sb_record *record, const double *f,
                          sb_error *err);

/* --- the summary over draws --- */

typedef struct estimate_row {
    uint64_t stream, draw, seed, line;
    size_t settings; /* number of the settings text in estimate_summary.settings */
    double temperature, value;
    sb_estimator estimator;
    int32_t k;
} estimate_row;

/* The estimates that share stream, temperature, estimator and k, over n_draws draws. */
typedef struct estimate_group {
    uint64_t stream;
    double temperature;
    sb_estimator estimator;
    int32_t k;
    size_t n_draws;
    double mean, p025, p975; /* mean and percentiles of the estimates */
    double sd, se_mean;      /* their standard deviation, sd / sqrt(n_draws); NaN for one draw */
    double truth;            /* E[f]; NaN if unknown, and so are bias and rmse */
    double bias, rmse;
} estimate_group;

typedef struct estimate_summary {
    estimate_row *rows; /* (n_rows); owned */
    size_t n_rows, capacity;
    estimate_group *groups; /* (n_groups) in order; owned */
    size_t n_groups;
    char **settings; /* (n_settings) those that occur; owned */
    size_t n_settings, settings_capacity;
} estimate_summary;

void estimate_summary_close(estimate_summary *summary);
void estimate_summary_add(estimate_summary *summary, const estimate_row *row);
/* Returns the number of a settings text, which is added if it is new. */
size_t estimate_summary_settings(estimate_summary *summary, const char *settings);
/* Sorts the rows and reduces them to summary->groups. Fails, and makes no groups, if draws of one
 * group have different settings or if one draw gave the same estimate twice. */
sb_status estimate_summary_reduce(estimate_summary *summary, estimate_truth *truth, sb_error *err);

/* --- the output --- */

typedef struct estimate_writer {
    bool is_text, has_curve;
    uint64_t last_k; /* of the curve */
    terminal term;   /* of the text format */
    output f;        /* the function as the headers of the text format show it, terminated */
    output out;
    bool has_blocks; /* a table has been written */
    bool in_block;   /* the table of the present draw has its header */
} estimate_writer;

void estimate_writer_close(estimate_writer *writer);

/* Declares that the estimates that follow belong to another draw. */
void estimate_writer_start_draw(estimate_writer *writer);
/* Adds one estimate to writer->out. */
void estimate_writer_add(estimate_writer *writer, const sb_record *record, sb_estimator estimator,
                         int32_t k, const sb_estimate *estimate);
/* Adds the groups of a summary to writer->out. */
void estimate_writer_add_groups(estimate_writer *writer, const estimate_group *groups, size_t n);

/* The text format of the two functions above (estimate_text.c). */
void estimate_text_add(estimate_writer *writer, const sb_record *record, sb_estimator estimator,
                       int32_t k, const sb_estimate *estimate);
void estimate_text_add_groups(estimate_writer *writer, const estimate_group *groups, size_t n);

/* A 95 % interval of an estimate with standard error se; NaN without one. */
typedef struct estimate_interval {
    double low, high;
} estimate_interval;
estimate_interval estimate_get_interval(const sb_estimate *estimate);

#endif
