/* The settings of a draw: the method and its options.
 *
 * sb_config_default fills the struct with defaults. sb_config_check names the first field that is
 * out of range or that the method refuses. sb_config_option lists the same settings by name, with
 * type, default, bounds and help: the command line and the bindings use that table. */
#ifndef SBEAM_CONFIG_H
#define SBEAM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "sbeam/method.h"
#include "sbeam/option.h"
#include "sbeam/trie.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum sb_finished {
    SB_FINISHED_STAY = 0, /* a finished hypothesis stays on the beam and competes */
    SB_FINISHED_LEAVE = 1 /* it leaves the beam, and k unfinished ones continue (as in fairseq) */
} sb_finished;

typedef enum sb_penalty {
    SB_PENALTY_PATH = 0, /* the diversity penalties of a sequence add up over its steps */
    SB_PENALTY_STEP = 1  /* a penalty counts only at its own step */
} sb_penalty;

/* The order in which sbs evaluates prefixes. Both give the same sequences, G, kappa and weights. */
typedef enum sb_search {
    SB_SEARCH_AUTO = 0,  /* best-first search if it is possible, else level search */
    SB_SEARCH_LEVEL = 1, /* all prefixes of a length together: k (k + 1 with kappa) at each step */
    SB_SEARCH_BEST_FIRST = 2 /* the prefix of the largest G first: with parallel = 1 only the
                              * prefixes of the returned sequences are evaluated */
} sb_search;

typedef struct sb_config {
    sb_method method;   /* default SBS */
    int32_t k;          /* sequences to return, 1 .. 10^7; default 5 */
    double temperature; /* divides the logits, 1e-100 .. 1e100; default 1 */
    uint64_t seed;      /* keys all noise; default 0 */
    bool kappa;         /* SBS: also find sequence k + 1, whose G is the threshold; default true */
    int32_t max_len;    /* maximum number of steps, EOS included, 1 .. 10^6; default 200 */
    int32_t min_len;    /* minimum number of tokens before EOS or a leaf, 0 .. max_len;
                         * default 0 */
    int32_t top_k;      /* keep the top_k likeliest tokens of a row; default 0: all */
    double top_p;       /* keep the fewest likeliest tokens whose probabilities sum to at least
                         * top_p, in (0, 1]; default 1 */
    double min_p;       /* keep tokens with p >= min_p * (largest p), in [0, 1]; default 0 */
    sb_finished finished;  /* beam; default STAY */
    double length_penalty; /* beam: A in the ranking by log_p / length^A, -10 .. 10; default 0 */
    bool early_stop;       /* beam: end when k hypotheses have finished (LEAVE) or the best one has
                            * (STAY); default false */
    int32_t groups;        /* diverse: number of groups, a divisor of k; default 0: k groups */
    double strength;       /* diverse: penalty, in units of log p, for each time that an earlier
                            * group chose the token, 0 .. 1e300; default 0.5 */
    sb_penalty penalty;    /* diverse; default PATH */
    sb_search search;      /* sbs; default AUTO */
    int32_t parallel; /* best-first search: prefixes of a draw that are evaluated together, 1 ..
                       * 4096; default 0: chosen for the model */
    /* sbs: rules that end a draw before it has k sequences. Such a draw has no kappa and no
     * weights, because weights at a number that depends on the sample are biased. The rules need
     * best-first search. */
    double until_mass;    /* end when the sequences have this total probability, in (0, 1]; default
                           * 0: no such rule */
    int32_t until_texts;  /* end when the sequences have this many different texts, 1 .. 10^7;
                           * default 0: no  such rule */
    uint64_t max_samples; /* reject: maximum number of samples before giving up, 1 .. 2^53;
                           * default 10^6 */
    /* The lists are the caller's and must stay valid while the config is in use. */
    const int32_t *ban; /* (n_ban) ids of tokens that get probability zero; default none */
    size_t n_ban;
    const char *const *stop; /* (n_stop) strings that end a sequence, not empty; default none */
    size_t n_stop;
    const sb_trie *allow; /* the permitted outputs; default NULL: all */
} sb_config;

/* Sets every field to its default. */
SB_API void sb_config_default(sb_config *config);

/* Returns SB_OK, or SB_ERR_ARGUMENT and a message that names the field and the reason. */
SB_API sb_status sb_config_check(const sb_config *config, sb_error *err);

/* Sets the scalar field `name` from text: ("top-p", "0.9"). Flags take "true" or "false". Checks
 * the value against the bounds of the option, but not against the other fields: sb_config_check
 * does that. On failure the config is unchanged. */
SB_API sb_status sb_config_set(sb_config *config, const char *name, const char *value,
                               sb_error *err);

/* Writes the value of a scalar field as text that sb_config_set accepts. `text` is the caller's and
 * has `size` bytes; a longer value is cut. The text is always terminated. */
SB_API sb_status sb_config_get(const sb_config *config, const char *name, char *text, size_t size,
                               sb_error *err);

/* Returns option i of the table, or NULL if i is past its end. The table is static. */
SB_API const sb_option *sb_config_option(size_t i);

/* Returns whether the method has the option of this name. */
SB_API bool sb_method_takes(sb_method method, const char *option);

/* Returns why the config's method refuses the value of this option: with it the method would not
 * keep its promise. Returns NULL if there is no such reason, that is, if the method takes the
 * option, if the option has its default value, or if the option does not concern the method. */
SB_API const char *sb_config_refusal(const sb_config *config, const char *option);

#ifdef __cplusplus
}
#endif
#endif
