/* Fuzzes the tokenisers and the counting of n-grams. The input is lines: the first byte picks the
 * tokeniser, the first line is the hypothesis, the others are references. Whatever the bytes, words
 * are well-formed UTF-8 with one blank between them, a score lies between 0 and 100, and a text is
 * its own best reference. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "sbeam/metric.h"
#include "sbeam/model.h"
#include "text/unicode.h"

enum { MOST_TEXTS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void check_words(sb_tokenizer tokenizer, sb_text text)
{
    char *words;
    require(sb_tokenize(tokenizer, text.data, text.size, &words, NULL) == SB_OK);
    const size_t size = strlen(words);
    require(utf8_is_text(words, size));
    require(size == 0 || (words[0] != ' ' && words[size - 1] != ' '));
    require(strstr(words, "  ") == NULL);
    char *again; /* words between blanks are words */
    require(sb_tokenize(SB_TOKENIZER_NONE, words, size, &again, NULL) == SB_OK);
    require(strcmp(words, again) == 0);
    sb_free(again);
    sb_free(words);
}

static double score(const sb_bleu_config *config, sb_text hypothesis, const sb_text *texts,
                    size_t n)
{
    sb_bleu_references *references;
    sb_bleu bleu;
    require(sb_bleu_references_open(&references, config, texts, n, NULL) == SB_OK);
    require(sb_bleu_sentence(references, hypothesis.data, hypothesis.size, &bleu, NULL) == SB_OK);
    sb_bleu_references_close(references);
    require(bleu.brevity_penalty >= 0 && bleu.brevity_penalty <= 1);
    require(bleu.score >= 0 && bleu.score < 100.0001);
    return bleu.score;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    sb_text texts[MOST_TEXTS];
    size_t n = 0;
    const char *line = (const char *)data + 1;
    const char *const end = (const char *)data + size;
    for (; n < MOST_TEXTS && line != NULL; n++) {
        const char *const stop = memchr(line, '\n', (size_t)(end - line));
        texts[n] = (sb_text){line, (size_t)((stop != NULL ? stop : end) - line)};
        line = stop != NULL ? stop + 1 : NULL;
    }
    sb_bleu_config config;
    sb_bleu_config_default(&config);
    config.tokenizer = (sb_tokenizer)(data[0] % 4);
    config.smoothing = (sb_smoothing)(data[0] / 4 % 4);
    if (config.tokenizer == SB_TOKENIZER_INTL && !unicode_is_present())
        return 0;
    check_words(config.tokenizer, (sb_text){(const char *)data, size}); /* with line ends */
    for (size_t i = 0; i < n; i++)
        check_words(config.tokenizer, texts[i]);
    if (n > 1)
        score(&config, texts[0], texts + 1, n - 1);
    const double own = score(&config, texts[0], texts, n);
    require(own == 0 || own > 99.9999 || config.smoothing == SB_SMOOTHING_ADD_K);
    sb_diversity diversity;
    require(sb_diversity_compute(config.tokenizer, texts, n, &diversity, NULL) == SB_OK);
    require(isnan(diversity.mean) || (diversity.mean > 0 && diversity.mean <= 1));
    return 0;
}
