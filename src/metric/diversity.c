/* n-gram diversity (section 5.1 of the paper): d_n is the number of distinct n-grams of the texts,
 * divided by the number of all their n-grams. */
#include <math.h>

#include "base/status.h"
#include "metric/ngrams.h"
#include "metric/tokenize.h"

static sb_diversity compute(const ngrams *grams)
{
    sb_diversity diversity = {.mean = 0};
    int n_orders = 0;
    for (int n = 0; n < SB_NGRAM_ORDERS; n++) {
        diversity.d[n] = NAN;
        if (grams->totals[n] == 0)
            continue;
        diversity.d[n] = (double)grams->unique[n] / (double)grams->totals[n];
        diversity.mean += diversity.d[n];
        n_orders++;
    }
    diversity.mean = n_orders > 0 ? diversity.mean / n_orders : NAN;
    return diversity;
}

sb_status sb_diversity_compute(sb_tokenizer tokenizer, const sb_text *texts, size_t n,
                               sb_diversity *diversity, sb_error *err)
{
    if (diversity == NULL || (texts == NULL && n > 0))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_diversity_compute: texts or diversity is NULL");
    sb_status status = tokenize_check(tokenizer, err);
    ngrams grams;
    tokenize_text words = {0};
    ngrams_init(&grams);
    for (size_t i = 0; i < n && status == SB_OK; i++) {
        uint64_t n_words;
        status = tokenize(tokenizer, texts[i].data, texts[i].size, &words, err);
        if (status == SB_OK)
            status = ngrams_add(&grams, &words, &n_words, err);
    }
    if (status == SB_OK)
        *diversity = compute(&grams);
    tokenize_free(&words);
    ngrams_free(&grams);
    return status;
}
