/* BLEU and n-gram diversity.
 *
 * BLEU is that of sacreBLEU: its tokenisers, smoothings, names and defaults, and its figures.
 * Scores are from 0 to 100. Texts are UTF-8; each byte that is not, or is zero, counts as U+FFFD.
 *
 *     sb_bleu_config config;
 *     sb_bleu_config_default(&config);
 *     sb_bleu_references_open(&refs, &config, texts, n_texts, &err);      once per segment
 *     sb_bleu_sentence(refs, hypothesis, size, &bleu, &err);
 *     sb_bleu_references_close(refs);
 *
 * For a corpus, add up what sb_bleu_count gives for each segment and call sb_bleu_score. */
#ifndef SBEAM_METRIC_H
#define SBEAM_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SB_NGRAM_ORDERS = 4 }; /* BLEU and diversity look at 1- to 4-grams */

typedef enum sb_tokenizer {
    SB_TOKENIZER_13A = 0,  /* mteval-v13a, the default */
    SB_TOKENIZER_INTL = 1, /* mteval-v14 by Unicode classes; needs a build with utf8proc */
    SB_TOKENIZER_CHAR = 2, /* every character is a word */
    SB_TOKENIZER_NONE = 3  /* the text is tokenised already: words between blanks */
} sb_tokenizer;

typedef enum sb_smoothing {
    SB_SMOOTHING_NONE = 0,
    SB_SMOOTHING_FLOOR = 1, /* value: what replaces a zero count, default 0.1 */
    SB_SMOOTHING_ADD_K = 2, /* value: what is added from order 2 on, default 1 */
    SB_SMOOTHING_EXP = 3    /* the default */
} sb_smoothing;

typedef struct sb_bleu_config {
    sb_tokenizer tokenizer; /* default 13a */
    sb_smoothing smoothing; /* default exp */
    double smooth_value;    /* default NaN: that of the smoothing; else >= 0 */
    bool effective_order;   /* orders without n-gram do not count; default false. sb_bleu_sentence
                             * always has it on */
} sb_bleu_config;

SB_API void sb_bleu_config_default(sb_bleu_config *config);
SB_API sb_status sb_bleu_config_check(const sb_bleu_config *config, sb_error *err);

/* "13a|intl|char|none" and "none|floor|add-k|exp" by place; NULL past the last. */
SB_API const char *sb_tokenizer_name(sb_tokenizer tokenizer);
SB_API const char *sb_smoothing_name(sb_smoothing smoothing);

/* The text as the tokeniser leaves it: words with one blank between them, terminated; *tokens is
 * the caller's, to be released with sb_free. */
SB_API sb_status sb_tokenize(sb_tokenizer tokenizer, const char *text, size_t size, char **tokens,
                             sb_error *err);

typedef struct sb_text {
    const char *data;
    size_t size;
} sb_text;

/* The references of one segment, tokenised and counted. Const once open. */
typedef struct sb_bleu_references sb_bleu_references;

/* n >= 1 texts, which are not kept. On success *references is the caller's to close. */
SB_API sb_status sb_bleu_references_open(sb_bleu_references **references,
                                         const sb_bleu_config *config, const sb_text *texts,
                                         size_t n, sb_error *err);
/* Accepts NULL. */
SB_API void sb_bleu_references_close(sb_bleu_references *references);

/* What BLEU is computed from; those of a corpus are the sums. */
typedef struct sb_bleu_counts {
    uint64_t matches[SB_NGRAM_ORDERS], totals[SB_NGRAM_ORDERS];
    uint64_t hypothesis_size, reference_size; /* words; of the reference nearest in length */
} sb_bleu_counts;

typedef struct sb_bleu {
    double score; /* 0 .. 100 */
    double brevity_penalty;
    double precisions[SB_NGRAM_ORDERS]; /* in percent, smoothed */
} sb_bleu;

SB_API sb_status sb_bleu_count(const sb_bleu_references *references, const char *hypothesis,
                               size_t size, sb_bleu_counts *counts, sb_error *err);
SB_API void sb_bleu_counts_add(sb_bleu_counts *sum, const sb_bleu_counts *counts);
/* The config is one that sb_bleu_config_check accepts, here and in sb_bleu_signature. */
SB_API void sb_bleu_score(const sb_bleu_counts *counts, const sb_bleu_config *config,
                          sb_bleu *bleu);
/* Sentence BLEU: count and score in one, effective order on. */
SB_API sb_status sb_bleu_sentence(const sb_bleu_references *references, const char *hypothesis,
                                  size_t size, sb_bleu *bleu, sb_error *err);

/* sacreBLEU's line on how a score was made, such as
 * "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:sbeam-0.1.0". n_references 0: it varies
 * ("nrefs:var"). Truncated to `size`, terminated. */
SB_API void sb_bleu_signature(const sb_bleu_config *config, size_t n_references, char *text,
                              size_t size);

/* The share of unique n-grams among all n-grams of a set of texts (section 5.1 of the paper). An
 * order without n-grams is NaN and does not count in the mean; the mean of none is NaN. */
typedef struct sb_diversity {
    double d[SB_NGRAM_ORDERS];
    double mean;
} sb_diversity;

SB_API sb_status sb_diversity_compute(sb_tokenizer tokenizer, const sb_text *texts, size_t n,
                                      sb_diversity *diversity, sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
