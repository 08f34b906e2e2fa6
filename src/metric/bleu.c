/* BLEU (Papineni et al., 2002) with the smoothings of Chen and Cherry (2014), as sacreBLEU has it:
 *
 *     100 bp exp(mean over n of log p_n),  p_n = matches_n / totals_n,  n = 1..4,
 *     bp = exp(1 - r / c) if the hypothesis (c words) is shorter than the reference (r), else 1.
 *
 * An n-gram of a hypothesis matches at most as often as it occurs in the reference that has it most
 * often. r is the length of the reference nearest to c, the shorter one of two equally near.
 * Without any match the score is 0 for every smoothing. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/settings.h"
#include "base/status.h"
#include "metric/ngrams.h"
#include "metric/tokenize.h"
#include "sbeam/version.h"

struct sb_bleu_references {
    sb_bleu_config config;
    ngrams grams;
    uint64_t *sizes; /* (n) lengths in words */
    size_t n;
};

/* Each smoothing with its name and its default value; NaN: the smoothing takes no value. */
#define SMOOTHINGS(X)                                                                              \
    X(NONE, "none", NAN) X(FLOOR, "floor", 0.1) X(ADD_K, "add-k", 1) X(EXP, "exp", NAN)

#define SMOOTHING_ENTRY(id, name, value)  [SB_SMOOTHING_##id] = {name, value},
#define SMOOTHING_CHOICE(id, name, value) "|" name

/* The names as choices of an option: "none|floor|...", without the first bar. */
#define SMOOTHING_CHOICES (&(SMOOTHINGS(SMOOTHING_CHOICE))[1])

static const struct {
    const char *name;
    double value;
} smoothings[] = {SMOOTHINGS(SMOOTHING_ENTRY)};

#define SETTING(name, type, field, member, metavar, text, max, help)                               \
    {                                                                                              \
        {name, type, metavar, text, 0, max, false, 0, help}, field,                                \
            offsetof(sb_bleu_config, member)                                                       \
    }

/* The table has no upper bound for the value: sb_bleu_config_check has it, together with the check
 * that the smoothing takes a value. */
static const struct setting settings[] = {
    SETTING("tokenize", SB_OPTION_CHOICE, FIELD_ENUM, tokenizer, TOKENIZE_CHOICES, "13a", 0,
            "how BLEU splits texts into words"),
    SETTING("smooth", SB_OPTION_CHOICE, FIELD_ENUM, smoothing, SMOOTHING_CHOICES, "exp", 0,
            "how BLEU treats counts of zero"),
    SETTING("smooth-value", SB_OPTION_REAL, FIELD_DOUBLE, smooth_value, "X", NULL, INFINITY,
            "value of floor (default: 0.1) or add-k (default: 1)"),
};

static const struct settings table = {settings, sizeof settings / sizeof *settings};

/* A larger value is of no use, and precisions would overflow. */
static const double most_smooth_value = 1e9;

const char *sb_smoothing_name(sb_smoothing smoothing)
{
    return (size_t)smoothing < sizeof smoothings / sizeof smoothings[0] ? smoothings[smoothing].name
                                                                        : NULL;
}

void sb_bleu_config_default(sb_bleu_config *config)
{
    *config = (sb_bleu_config){.smooth_value = NAN};
    settings_default(&table, config);
}

const sb_option *sb_bleu_option(size_t i)
{
    return settings_option(&table, i);
}

sb_status sb_bleu_config_set(sb_bleu_config *config, const char *name, const char *value,
                             sb_error *err)
{
    if (config == NULL || name == NULL || value == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_bleu_config_set: config, name or value is NULL");
    return settings_set(&table, config, name, value, err);
}

sb_status sb_bleu_config_check(const sb_bleu_config *config, sb_error *err)
{
    if (config == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_bleu_config_check: config is NULL");
    const sb_status status = tokenize_check(config->tokenizer, err);
    if (status != SB_OK)
        return status;
    const char *const name = sb_smoothing_name(config->smoothing);
    if (name == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "smoothing is %d; expected one of sb_smoothing",
                           (int)config->smoothing);
    if (isnan(config->smooth_value))
        return SB_OK;
    if (isnan(smoothings[config->smoothing].value))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "smooth-value needs the smoothing floor or add-k, not %s", name);
    if (!(config->smooth_value >= 0 && config->smooth_value <= most_smooth_value))
        return status_fail(err, SB_ERR_ARGUMENT, "smooth-value is %g; expected 0 to %g",
                           config->smooth_value, most_smooth_value);
    return SB_OK;
}

static double smooth_value(const sb_bleu_config *config)
{
    return isnan(config->smooth_value) ? smoothings[config->smoothing].value : config->smooth_value;
}

static sb_status add_references(sb_bleu_references *refs, const sb_text *texts, sb_error *err)
{
    tokenize_text words = {0};
    sb_status status = SB_OK;
    for (size_t i = 0; i < refs->n && status == SB_OK; i++) {
        status = tokenize(refs->config.tokenizer, texts[i].data, texts[i].size, &words, err);
        if (status == SB_OK)
            status = ngrams_add(&refs->grams, &words, &refs->sizes[i], err);
    }
    tokenize_free(&words);
    return status;
}

sb_status sb_bleu_references_open(sb_bleu_references **references, const sb_bleu_config *config,
                                  const sb_text *texts, size_t n, sb_error *err)
{
    sb_status status = sb_bleu_config_check(config, err);
    if (status != SB_OK)
        return status;
    if (references == NULL || texts == NULL || n == 0)
        return status_fail(err, SB_ERR_ARGUMENT, "BLEU needs at least one reference");
    sb_bleu_references *const opened = alloc_zeroed(1, sizeof *opened);
    if (opened == NULL)
        return status_no_memory(err);
    ngrams_init(&opened->grams);
    opened->config = *config;
    opened->n = n;
    opened->sizes = alloc_array(n, sizeof *opened->sizes);
    status = opened->sizes != NULL ? add_references(opened, texts, err) : status_no_memory(err);
    if (status != SB_OK) {
        sb_bleu_references_close(opened);
        return status;
    }
    *references = opened;
    return SB_OK;
}

void sb_bleu_references_close(sb_bleu_references *references)
{
    if (references == NULL)
        return;
    ngrams_free(&references->grams);
    alloc_free(references->sizes);
    alloc_free(references);
}

static uint64_t nearest_size(const sb_bleu_references *references, uint64_t size)
{
    uint64_t nearest = references->sizes[0];
    for (size_t i = 1; i < references->n; i++) {
        const uint64_t other = references->sizes[i];
        const uint64_t distance = other > size ? other - size : size - other;
        const uint64_t least = nearest > size ? nearest - size : size - nearest;
        if (distance < least || (distance == least && other < nearest))
            nearest = other;
    }
    return nearest;
}

sb_status sb_bleu_count(const sb_bleu_references *references, const char *hypothesis, size_t size,
                        sb_bleu_counts *counts, sb_error *err)
{
    if (references == NULL || counts == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_bleu_count: references or counts is NULL");
    tokenize_text words = {0};
    sb_bleu_counts counted;
    sb_status status = tokenize(references->config.tokenizer, hypothesis, size, &words, err);
    if (status == SB_OK)
        status = ngrams_match(&references->grams, &words, &counted.hypothesis_size, counted.totals,
                              counted.matches, err);
    tokenize_free(&words);
    if (status != SB_OK)
        return status;
    counted.reference_size = nearest_size(references, counted.hypothesis_size);
    *counts = counted;
    return SB_OK;
}

void sb_bleu_counts_add(sb_bleu_counts *sum, const sb_bleu_counts *counts)
{
    for (int n = 0; n < SB_NGRAM_ORDERS; n++) {
        sum->matches[n] += counts->matches[n];
        sum->totals[n] += counts->totals[n];
    }
    sum->hypothesis_size += counts->hypothesis_size;
    sum->reference_size += counts->reference_size;
}

static double brevity_penalty(const sb_bleu_counts *counts)
{
    const double c = (double)counts->hypothesis_size, r = (double)counts->reference_size;
    if (c >= r)
        return 1;
    return c > 0 ? exp(1 - r / c) : 0;
}

/* Computes the smoothed precisions, in percent. Returns the number of orders that count. */
static int compute_precisions(const sb_bleu_counts *counts, const sb_bleu_config *config,
                              double precisions[SB_NGRAM_ORDERS])
{
    const double value = smooth_value(config);
    double halving = 1; /* exp: each order without a match counts half as much as the one before */
    for (int n = 0; n < SB_NGRAM_ORDERS; n++) {
        const double added = config->smoothing == SB_SMOOTHING_ADD_K && n > 0 ? value : 0;
        const double matches = (double)counts->matches[n] + added;
        const double total = (double)counts->totals[n] + added;
        if (total == 0)
            return config->effective_order ? n : SB_NGRAM_ORDERS;
        if (matches > 0) {
            precisions[n] = 100 * matches / total;
        } else if (config->smoothing == SB_SMOOTHING_EXP) {
            halving *= 2;
            precisions[n] = 100 / (halving * total);
        } else if (config->smoothing == SB_SMOOTHING_FLOOR) {
            precisions[n] = 100 * value / total;
        }
    }
    return SB_NGRAM_ORDERS;
}

void sb_bleu_score(const sb_bleu_counts *counts, const sb_bleu_config *config, sb_bleu *bleu)
{
    *bleu = (sb_bleu){.brevity_penalty = brevity_penalty(counts)};
    uint64_t n_matches = 0;
    for (int n = 0; n < SB_NGRAM_ORDERS; n++)
        n_matches += counts->matches[n];
    if (n_matches == 0 || counts->totals[0] == 0)
        return;
    const int n_orders = compute_precisions(counts, config, bleu->precisions);
    double sum = 0;
    for (int n = 0; n < n_orders; n++)
        sum += log(bleu->precisions[n]); /* a precision of 0 gives -inf, and the score 0 */
    bleu->score = bleu->brevity_penalty * exp(sum / n_orders);
}

sb_status sb_bleu_sentence(const sb_bleu_references *references, const char *hypothesis,
                           size_t size, sb_bleu *bleu, sb_error *err)
{
    if (bleu == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_bleu_sentence: bleu is NULL");
    sb_bleu_counts counts;
    const sb_status status = sb_bleu_count(references, hypothesis, size, &counts, err);
    if (status != SB_OK)
        return status;
    sb_bleu_config config = references->config;
    config.effective_order = true;
    sb_bleu_score(&counts, &config, bleu);
    return SB_OK;
}

void sb_bleu_signature(const sb_bleu_config *config, size_t n_references, char *text, size_t size)
{
    char n_text[24] = "var", value[40] = "";
    if (n_references > 0)
        snprintf(n_text, sizeof n_text, "%zu", n_references);
    if (!isnan(smoothings[config->smoothing].value))
        snprintf(value, sizeof value, "[%.2f]", smooth_value(config));
    snprintf(text, size, "nrefs:%s|case:mixed|eff:%s|tok:%s|smooth:%s%s|version:sbeam-%s", n_text,
             config->effective_order ? "yes" : "no", sb_tokenizer_name(config->tokenizer),
             sb_smoothing_name(config->smoothing), value, sb_version());
}
