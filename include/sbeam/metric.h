/* BLEU and n-gram diversity.
 *
 * BLEU follows sacreBLEU: the same tokenisers, smoothings, names, defaults and numbers. Scores are
 * from 0 to 100. Texts are UTF-8; each byte that is not valid UTF-8 or is zero counts as U+FFFD.
 *
 *     sb_bleu_config config;
 *     sb_bleu_config_default(&config);
 *     sb_bleu_references_open(&refs, &config, texts, n_texts, &err);      once per segment
 *     sb_bleu_sentence(refs, hypothesis, size, &bleu, &err);
 *     sb_bleu_references_close(refs);
 *
 * For a corpus, add up the counts of all segments (sb_bleu_count) and call sb_bleu_score. */
#ifndef SBEAM_METRIC_H
#define SBEAM_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "sbeam/memory.h"
#include "sbeam/option.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SB_NGRAM_ORDERS = 4 }; /* BLEU and diversity use 1- to 4-grams */

typedef enum sb_tokenizer {
    SB_TOKENIZER_13A = 0,  /* mteval-v13a, the default */
    SB_TOKENIZER_INTL = 1, /* mteval-v14, by Unicode classes; needs a build with utf8proc */
    SB_TOKENIZER_CHAR = 2, /* every character is a word */
    SB_TOKENIZER_NONE = 3  /* the text is tokenised already: words between blanks */
} sb_tokenizer;

typedef enum sb_smoothing {
    SB_SMOOTHING_NONE = 0,
    SB_SMOOTHING_FLOOR = 1, /* smooth_value replaces a zero count; default 0.1 */
    SB_SMOOTHING_ADD_K = 2, /* smooth_value is added to the counts from order 2 on; default 1 */
    SB_SMOOTHING_EXP = 3    /* the j-th order without a match gets 1 / 2^j matches; the default */
} sb_smoothing;

typedef struct sb_bleu_config {
    sb_tokenizer tokenizer; /* default 13a */
    sb_smoothing smoothing; /* default exp */
    double smooth_value;    /* 0 .. 1e9, only for floor and add-k; default NaN: their own default */
    bool effective_order;   /* true: leaves out orders without n-grams; default false. It is always
                             * on in sb_bleu_sentence */
} sb_bleu_config;

/* Sets every field to its default. */
SB_API void sb_bleu_config_default(sb_bleu_config *config);
/* Returns SB_OK, or SB_ERR_ARGUMENT and a message that names the field. */
SB_API sb_status sb_bleu_config_check(const sb_bleu_config *config, sb_error *err);

/* Sets a field from text, by the name of its option: "tokenize", "smooth" or "smooth-value". On
 * failure the config is unchanged. */
SB_API sb_status sb_bleu_config_set(sb_bleu_config *config, const char *name, const char *value,
                                    sb_error *err);
/* Returns option i of the table, or NULL if i is past its end. The table is static. */
SB_API const sb_option *sb_bleu_option(size_t i);

/* Returns "13a", "intl", "char" or "none", or NULL if the value is not a tokeniser. */
SB_API const char *sb_tokenizer_name(sb_tokenizer tokenizer);
/* Returns "none", "floor", "add-k" or "exp", or NULL if the value is not a smoothing. */
SB_API const char *sb_smoothing_name(sb_smoothing smoothing);

/* Tokenises a text: *tokens gets its words with one blank between them, terminated. On success
 * *tokens is the caller's, to be released with sb_free. */
SB_API sb_status sb_tokenize(sb_tokenizer tokenizer, const char *text, size_t size, char **tokens,
                             sb_error *err);

/* A text of `size` bytes; the caller's. */
typedef struct sb_text {
    const char *data;
    size_t size;
} sb_text;

/* The references of one segment, tokenised and counted. Threads may share them. */
typedef struct sb_bleu_references sb_bleu_references;

/* Counts the n-grams of n >= 1 texts; config and texts are not needed afterwards. On success
 * *references is the caller's to close. */
SB_API sb_status sb_bleu_references_open(sb_bleu_references **references,
                                         const sb_bleu_config *config, const sb_text *texts,
                                         size_t n, sb_error *err);
/* Frees the references. Accepts NULL. */
SB_API void sb_bleu_references_close(sb_bleu_references *references);

/* The counts that BLEU is computed from; the counts of a corpus are sums over its segments. */
typedef struct sb_bleu_counts {
    uint64_t matches[SB_NGRAM_ORDERS], totals[SB_NGRAM_ORDERS];
    uint64_t hypothesis_size; /* words */
    uint64_t reference_size;  /* words of the reference nearest in length, of two equally near the
                                 shorter */
} sb_bleu_counts;

typedef struct sb_bleu {
    double score; /* 0 .. 100 */
    double brevity_penalty;
    double precisions[SB_NGRAM_ORDERS]; /* in percent, smoothed */
} sb_bleu;

/* Counts the n-grams of a hypothesis of `size` bytes and their matches in the references. Writes
 * *counts only on success. */
SB_API sb_status sb_bleu_count(const sb_bleu_references *references, const char *hypothesis,
                               size_t size, sb_bleu_counts *counts, sb_error *err);
/* Adds counts to sum, which you set to zero first. */
SB_API void sb_bleu_counts_add(sb_bleu_counts *sum, const sb_bleu_counts *counts);
/* Computes BLEU from counts. sb_bleu_config_check must accept the config. */
SB_API void sb_bleu_score(const sb_bleu_counts *counts, const sb_bleu_config *config,
                          sb_bleu *bleu);
/* Computes the BLEU of one sentence: sb_bleu_count and sb_bleu_score with effective_order on. */
SB_API sb_status sb_bleu_sentence(const sb_bleu_references *references, const char *hypothesis,
                                  size_t size, sb_bleu *bleu, sb_error *err);

/* Writes sacreBLEU's signature of a score, such as
 * "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:sbeam-0.1.0". Pass n_references 0 if the
 * number varies ("nrefs:var"). sb_bleu_config_check must accept the config. `text` is the caller's
 * and has `size` bytes; a longer signature is cut. The text is always terminated. */
SB_API void sb_bleu_signature(const sb_bleu_config *config, size_t n_references, char *text,
                              size_t size);

/* The share of distinct n-grams among all n-grams of a set of texts, 0 to 1 (section 5.1 of the
 * paper). */
typedef struct sb_diversity {
    double d[SB_NGRAM_ORDERS]; /* for each order; NaN if the texts have no n-grams of it */
    double mean;               /* over the orders that are not NaN; NaN if all are */
} sb_diversity;

/* Computes the diversity of n texts. Writes *diversity only on success. */
SB_API sb_status sb_diversity_compute(sb_tokenizer tokenizer, const sb_text *texts, size_t n,
                                      sb_diversity *diversity, sb_error *err);

#ifdef __cplusplus
}
#endif
#endif
