/* How to draw: the method and its settings.
 *
 * sb_config_default fills the struct; sb_config_check names the field that is out of range or that
 * the method refuses. The same settings by name, with types, defaults, bounds and help, are in the
 * table that sb_config_option walks: it drives the command line, the manual and the bindings. */
#ifndef SBEAM_CONFIG_H
#define SBEAM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sb_method {
    SB_METHOD_SBS = 0,        /* Stochastic Beam Search: exact sampling without replacement */
    SB_METHOD_BEAM = 1,       /* deterministic beam search */
    SB_METHOD_SAMPLE = 2,     /* independent ancestral samples, duplicates included */
    SB_METHOD_DIVERSE = 3,    /* Diverse Beam Search (Vijayakumar et al. 2018) */
    SB_METHOD_RESAMPLE = 4,   /* fresh noise at each step: biased, kept to show it */
    SB_METHOD_REJECT = 5,     /* ancestral samples, duplicates rejected */
    SB_METHOD_EXPLICIT = 6,   /* the whole tree, from the same noise as SBS */
    SB_METHOD_COMMIT = 7,     /* k first tokens, one sequence each: biased, kept to show it */
    SB_METHOD_BEAM_SAMPLE = 8 /* the k likeliest of 2k drawn at each step: biased, likewise */
} sb_method;

typedef enum sb_finished {
    SB_FINISHED_STAY = 0, /* a finished hypothesis keeps its slot and competes */
    SB_FINISHED_LEAVE = 1 /* it leaves the beam, and k live ones go on (fairseq) */
} sb_finished;

typedef enum sb_penalty {
    SB_PENALTY_PATH = 0, /* the diversity penalty accumulates along the path */
    SB_PENALTY_STEP = 1  /* it counts for the step alone */
} sb_penalty;

typedef struct sb_config {
    sb_method method;      /* default SBS */
    int32_t k;             /* sequences to return, 1 .. 10^7; default 5 */
    double temperature;    /* 1e-100 .. 1e100; default 1 */
    uint64_t seed;         /* default 0 */
    bool kappa;            /* search one further for the threshold (SBS); default true */
    int32_t max_len;       /* most steps of a sequence, 1 .. 10^6; default 200 */
    int32_t min_len;       /* fewest tokens before EOS, 0 .. max_len; default 0 */
    int32_t top_k;         /* keep the N likeliest tokens of a row, 0: all; default 0 */
    double top_p;          /* keep the smallest likeliest set of this mass, in (0, 1]; default 1 */
    double min_p;          /* keep p >= min_p * (largest p), in [0, 1]; default 0 */
    sb_finished finished;  /* beam; default STAY */
    double length_penalty; /* beam: rank by log_p / length^A, -10 .. 10; default 0 */
    bool early_stop;       /* beam: end when k have finished (leave) or the best has (stay) */
    int32_t groups;        /* diverse: number of groups, a divisor of k, 0: k; default 0 */
    double strength;       /* diverse: penalty for each earlier choice of a token; default 0.5 */
    sb_penalty penalty;    /* diverse; default PATH */
    uint64_t max_samples;  /* reject: give up after so many, >= 1; default 10^6 */
    const int32_t *ban;    /* (n_ban) token ids of probability zero; the caller's; default none */
    size_t n_ban;
    const char *const *stop; /* (n_stop) strings that end a sequence; the caller's; default none */
    size_t n_stop;
} sb_config;

/* Fills in the defaults above. */
SB_API void sb_config_default(sb_config *config);

/* SB_OK, or SB_ERR_ARGUMENT and a sentence that names the field and says why. */
SB_API sb_status sb_config_check(const sb_config *config, sb_error *err);

/* Sets a scalar field from text: ("top-p", "0.9"). Flags take "true" or "false". The config is
 * unchanged on failure. */
SB_API sb_status sb_config_set(sb_config *config, const char *name, const char *value,
                               sb_error *err);

/* The text of a setting, as sb_config_set takes it, terminated and cut at `size` bytes. */
SB_API sb_status sb_config_get(const sb_config *config, const char *name, char *text, size_t size,
                               sb_error *err);

typedef enum sb_option_type {
    SB_OPTION_INT,
    SB_OPTION_REAL,
    SB_OPTION_FLAG,
    SB_OPTION_CHOICE
} sb_option_type;

typedef struct sb_option {
    const char *name; /* as on the command line, without the dashes */
    sb_option_type type;
    const char *metavar;      /* "N", "X", or the choices: "stay|leave"; NULL for flags */
    const char *default_text; /* the default, as sb_config_set would take it */
    double min, max;          /* bounds of numbers, inclusive unless open_min */
    bool open_min;            /* min itself is excluded */
    unsigned methods;         /* bit 1 << sb_method for each method that takes it */
    const char *help;         /* one phrase */
} sb_option;

/* Number i of the table, or NULL past its end. */
SB_API const sb_option *sb_config_option(size_t i);

/* "sbs", "beam", ...; NULL for a value that is no method. */
SB_API const char *sb_method_name(sb_method method);

#ifdef __cplusplus
}
#endif
#endif
