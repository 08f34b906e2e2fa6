/* Tests BLEU against the output of sacreBLEU (tests/data/bleu): words exactly, scores to 1e-9. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "common/line_reader.h"
#include "common/reference_file.h"
#include "sbeam/metric.h"
#include "sbeam/model.h"
#include "text/unicode.h"

enum { MAX_LINES = 64, MAX_FIELDS = 16 };
#define BLEU_DATA TEST_DATA "/bleu/"

typedef struct corpus {
    const char *name;
    char *hypotheses[MAX_LINES]; /* owned */
    size_t sizes[MAX_LINES], n;
    reference_set *references;
} corpus;

static corpus corpora[] = {{.name = "main"}, {.name = "short"}, {.name = "none"}};

static int open_corpora(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof corpora / sizeof corpora[0]; c++) {
        corpus *const set = &corpora[c];
        char path[512];
        line_reader reader;
        snprintf(path, sizeof path, BLEU_DATA "%s.hyp", set->name);
        if (line_reader_open(&reader, path, NULL) != SB_OK)
            return -1;
        for (set->n = 0; line_reader_next(&reader, NULL) > 0; set->n++) {
            set->sizes[set->n] = reader.size;
            set->hypotheses[set->n] = memcpy(malloc(reader.size + 1), reader.line, reader.size + 1);
        }
        line_reader_close(&reader);
        snprintf(path, sizeof path, BLEU_DATA "%s.ref", set->name);
        const char *const paths[] = {path};
        if (reference_set_open(&set->references, paths, 1, NULL) != SB_OK ||
            reference_set_lines(set->references, 0) != set->n)
            return -1;
    }
    return 0;
}

static int close_corpora(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof corpora / sizeof corpora[0]; c++) {
        for (size_t i = 0; i < corpora[c].n; i++)
            free(corpora[c].hypotheses[i]);
        reference_set_close(corpora[c].references);
    }
    return 0;
}

static const corpus *find_corpus(const char *name)
{
    for (size_t c = 0; c < sizeof corpora / sizeof corpora[0]; c++)
        if (strcmp(corpora[c].name, name) == 0)
            return &corpora[c];
    fail_msg("no corpus %s", name);
    return NULL;
}

/* Calls `check` with the fields of each row of a table. Returns the number of rows. */
static size_t for_each_row(const char *name, void (*check)(char **fields))
{
    char path[512];
    line_reader reader;
    snprintf(path, sizeof path, BLEU_DATA "%s", name);
    assert_int_equal(line_reader_open(&reader, path, NULL), SB_OK);
    assert_true(line_reader_next(&reader, NULL) > 0); /* the names of the columns */
    size_t n = 0;
    for (; line_reader_next(&reader, NULL) > 0; n++) {
        char *fields[MAX_FIELDS] = {reader.line};
        size_t n_fields = 1;
        for (char *tab = reader.line; (tab = strchr(tab, '\t')) != NULL;) {
            *tab++ = '\0';
            assert_true(n_fields < MAX_FIELDS);
            fields[n_fields++] = tab;
        }
        check(fields);
    }
    line_reader_close(&reader);
    return n;
}

static sb_tokenizer find_tokenizer(const char *name)
{
    sb_tokenizer t = SB_TOKENIZER_13A;
    while (strcmp(sb_tokenizer_name(t), name) != 0)
        t++;
    return t;
}

/* Of the columns tokenizer, smoothing, value. */
static sb_bleu_config read_config(char **fields)
{
    sb_bleu_config config;
    sb_bleu_config_default(&config);
    config.tokenizer = find_tokenizer(fields[0]);
    config.smoothing = SB_SMOOTHING_NONE;
    while (strcmp(sb_smoothing_name(config.smoothing), fields[1]) != 0)
        config.smoothing++;
    if (strcmp(fields[2], "default") != 0)
        config.smooth_value = strtod(fields[2], NULL);
    return config;
}

static bool is_offered(const sb_bleu_config *config)
{
    return config->tokenizer != SB_TOKENIZER_INTL || unicode_is_present();
}

static void check_near(double x, const char *expected)
{
    const double y = strtod(expected, NULL);
    if (!(fabs(x - y) <= 1e-9 * fmax(1, fabs(y))))
        fail_msg("%.17g is not %s", x, expected);
}

static sb_bleu_references *open_segment(const corpus *set, size_t i, const sb_bleu_config *config,
                                        size_t *n)
{
    const sb_text *texts;
    sb_bleu_references *references = NULL;
    assert_int_equal(reference_set_get(set->references, i, &texts, n, NULL), SB_OK);
    assert_int_equal(sb_bleu_references_open(&references, config, texts, *n, NULL), SB_OK);
    return references;
}

static void check_corpus(char **fields)
{
    const corpus *const set = find_corpus(fields[0]);
    sb_bleu_config config = read_config(fields + 1);
    config.effective_order = fields[4][0] == '1';
    if (!is_offered(&config))
        return;
    sb_bleu_counts sum = {.hypothesis_size = 0};
    size_t n_refs = 0;
    for (size_t i = 0; i < set->n; i++) {
        size_t n;
        sb_bleu_references *const references = open_segment(set, i, &config, &n);
        sb_bleu_counts counts;
        assert_int_equal(
            sb_bleu_count(references, set->hypotheses[i], set->sizes[i], &counts, NULL), SB_OK);
        sb_bleu_counts_add(&sum, &counts);
        sb_bleu_references_close(references);
        n_refs = i == 0 || n == n_refs ? n : 0;
    }
    sb_bleu bleu;
    sb_bleu_score(&sum, &config, &bleu);
    check_near(bleu.score, fields[5]);
    check_near(bleu.brevity_penalty, fields[6]);
    for (int n = 0; n < SB_NGRAM_ORDERS; n++)
        check_near(bleu.precisions[n], fields[7 + n]);
    assert_int_equal(sum.hypothesis_size, strtoull(fields[11], NULL, 10));
    assert_int_equal(sum.reference_size, strtoull(fields[12], NULL, 10));
    char signature[160];
    sb_bleu_signature(&config, n_refs, signature, sizeof signature);
    const char *const version = strstr(fields[13], "|version:");
    assert_non_null(version);
    assert_memory_equal(signature, fields[13], (size_t)(version - fields[13]));
    assert_non_null(strstr(signature, "|version:sbeam-"));
}

static void test_corpora(void **state)
{
    (void)state;
    assert_int_equal(for_each_row("corpus.tsv", check_corpus), 3 * 4 * 8 * 2);
}

static void check_sentence(char **fields)
{
    const corpus *const set = find_corpus(fields[0]);
    const size_t i = strtoull(fields[1], NULL, 10);
    const sb_bleu_config config = read_config(fields + 2);
    if (!is_offered(&config))
        return;
    size_t n;
    sb_bleu bleu;
    sb_bleu_references *const references = open_segment(set, i, &config, &n);
    assert_int_equal(sb_bleu_sentence(references, set->hypotheses[i], set->sizes[i], &bleu, NULL),
                     SB_OK);
    check_near(bleu.score, fields[5]);
    sb_bleu_references_close(references);
}

static void test_sentences(void **state)
{
    (void)state;
    size_t n = 0;
    for (size_t c = 0; c < sizeof corpora / sizeof corpora[0]; c++)
        n += corpora[c].n;
    assert_int_equal(for_each_row("sentences.tsv", check_sentence), n * 4 * 8);
}

/* Takes the escapes of tokens.txt away, in place. */
static void unescape(char *text)
{
    char *out = text;
    for (; *text != '\0'; text++) {
        if (*text == '\\') {
            text++;
            *out++ = (char)(*text == 'n'   ? '\n'
                            : *text == 't' ? '\t'
                            : *text == 'r' ? '\r'
                                           : *text);
        } else {
            *out++ = *text;
        }
    }
    *out = '\0';
}

static void check_tokens(char **fields)
{
    const sb_tokenizer tokenizer = find_tokenizer(fields[0]);
    if (tokenizer == SB_TOKENIZER_INTL && !unicode_is_present())
        return;
    char *words;
    unescape(fields[1]);
    unescape(fields[2]);
    assert_int_equal(sb_tokenize(tokenizer, fields[1], strlen(fields[1]), &words, NULL), SB_OK);
    assert_string_equal(words, fields[2]);
    sb_free(words);
}

static void test_tokens(void **state)
{
    (void)state;
    assert_int_equal(for_each_row("tokens.tsv", check_tokens) % 4, 0);
}

static void expect_words(sb_tokenizer tokenizer, const char *text, size_t size,
                         const char *expected)
{
    char *words;
    assert_int_equal(sb_tokenize(tokenizer, text, size, &words, NULL), SB_OK);
    assert_string_equal(words, expected);
    sb_free(words);
}

/* sacreBLEU takes no such bytes, so here the answers are our own. */
static void test_malformed(void **state)
{
    (void)state;
    expect_words(SB_TOKENIZER_13A, "a\xff.b", 4, "a\xef\xbf\xbd . b");
    expect_words(SB_TOKENIZER_CHAR, "\xe2\x82", 2, "\xef\xbf\xbd \xef\xbf\xbd");
    expect_words(SB_TOKENIZER_NONE, "a\0b c", 5,
                 "a\xef\xbf\xbd"
                 "b c");
    expect_words(SB_TOKENIZER_NONE, "\xc2\xa0\xc2", 3, "\xef\xbf\xbd");
    expect_words(SB_TOKENIZER_NONE, "x \xed\xa0\x80 ", 6, "x \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect_words(SB_TOKENIZER_13A, NULL, 0, "");
    expect_words(SB_TOKENIZER_CHAR, NULL, 0, "");
    if (unicode_is_present())
        expect_words(SB_TOKENIZER_INTL, "a\xff.b", 4, "a \xef\xbf\xbd . b");
}

/* By hand: the hypothesis has 7 words, the references 6 and 8; equally near, the shorter counts.
 * "the" matches twice, as often as the reference that has it most often. */
static void test_by_hand(void **state)
{
    (void)state;
    const sb_text texts[] = {{"the cat is on the mat", 21}, {"there is a cat on the red mat", 29}};
    const char *const hypothesis = "the the the cat cat on dog";
    sb_bleu_config config;
    sb_bleu_config_default(&config);
    config.smoothing = SB_SMOOTHING_ADD_K;
    sb_bleu_references *references;
    assert_int_equal(sb_bleu_references_open(&references, &config, texts, 2, NULL), SB_OK);
    sb_bleu_counts counts;
    sb_bleu bleu;
    assert_int_equal(sb_bleu_count(references, hypothesis, strlen(hypothesis), &counts, NULL),
                     SB_OK);
    assert_int_equal(counts.hypothesis_size, 7);
    assert_int_equal(counts.reference_size, 6);
    const uint64_t matches[] = {4, 2, 0, 0}, totals[] = {7, 6, 5, 4};
    assert_memory_equal(counts.matches, matches, sizeof matches); /* "the cat", "cat on" */
    assert_memory_equal(counts.totals, totals, sizeof totals);
    assert_int_equal(sb_bleu_sentence(references, hypothesis, strlen(hypothesis), &bleu, NULL),
                     SB_OK);
    const double product = 4.0 / 7 * 3 / 7 * 1 / 6 * 1 / 5;
    assert_true(fabs(bleu.score - 100 * pow(product, 0.25)) < 1e-12);
    sb_bleu_references_close(references);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(sb_tokenizer_name(SB_TOKENIZER_13A), "13a");
    assert_null(sb_tokenizer_name((sb_tokenizer)4));
    assert_null(sb_smoothing_name((sb_smoothing)4));
    assert_null(sb_smoothing_name((sb_smoothing)-1));
    sb_bleu_config config;
    char signature[160];
    sb_bleu_config_default(&config);
    sb_bleu_signature(&config, 2, signature, sizeof signature);
    assert_memory_equal(signature, "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:sbeam-",
                        59);
    sb_bleu_signature(&config, 0, signature, 8);
    assert_string_equal(signature, "nrefs:v");
}

static void check_refused(const sb_bleu_config *config, const char *message)
{
    const sb_text text = {"a", 1};
    sb_error err = {.message = ""};
    sb_bleu_references *references = NULL;
    assert_int_equal(sb_bleu_config_check(config, &err), SB_ERR_ARGUMENT);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, message);
    assert_int_equal(sb_bleu_references_open(&references, config, &text, 1, NULL), SB_ERR_ARGUMENT);
    assert_null(references);
}

static void test_refusals(void **state)
{
    (void)state;
    sb_bleu_config config;
    sb_bleu_config_default(&config);
    assert_int_equal(sb_bleu_config_check(&config, NULL), SB_OK);
    sb_bleu_references *references = NULL;
    assert_int_equal(sb_bleu_references_open(&references, &config, NULL, 0, NULL), SB_ERR_ARGUMENT);
    config.tokenizer = (sb_tokenizer)7;
    check_refused(&config, "tokenizer is 7; expected one of sb_tokenizer");
    char *words = NULL;
    assert_int_equal(sb_tokenize(config.tokenizer, "a", 1, &words, NULL), SB_ERR_ARGUMENT);
    sb_diversity diversity;
    assert_int_equal(sb_diversity_compute(config.tokenizer, NULL, 0, &diversity, NULL),
                     SB_ERR_ARGUMENT);
    sb_bleu_config_default(&config);
    config.smoothing = (sb_smoothing)-1;
    check_refused(&config, "smoothing is -1; expected one of sb_smoothing");
    sb_bleu_config_default(&config);
    config.smooth_value = 0.5;
    check_refused(&config, "needs the smoothing floor or add-k, not exp");
    config.smoothing = SB_SMOOTHING_FLOOR;
    assert_int_equal(sb_bleu_config_check(&config, NULL), SB_OK);
    config.smooth_value = -0.1;
    check_refused(&config, "smooth-value is -0.1; expected 0 to 1e+09");
    config.smooth_value = INFINITY;
    check_refused(&config, "smooth-value is inf; expected");
    config.smooth_value = 1e308; /* precisions and the score would be infinite */
    check_refused(&config, "smooth-value is 1e+308; expected");
    if (!unicode_is_present()) {
        sb_bleu_config_default(&config);
        config.tokenizer = SB_TOKENIZER_INTL;
        check_refused(&config, "needs utf8proc");
    }
}

static void test_missing_arguments(void **state)
{
    (void)state;
    const sb_text text = {"a", 1}, none = {NULL, 1};
    sb_bleu_references *references = NULL;
    sb_bleu_config config;
    sb_diversity diversity;
    char *words;
    sb_bleu_config_default(&config);
    assert_int_equal(sb_bleu_config_check(NULL, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_bleu_references_open(NULL, &config, &text, 1, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_bleu_references_open(&references, &config, NULL, 1, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_bleu_references_open(&references, &config, &none, 1, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_bleu_references_open(&references, &config, &text, 1, NULL), SB_OK);
    assert_int_equal(sb_bleu_count(references, "a", 1, NULL, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_bleu_sentence(references, "a", 1, NULL, NULL), SB_ERR_ARGUMENT);
    sb_bleu_references_close(references);
    assert_int_equal(sb_tokenize(config.tokenizer, "a", 1, NULL, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_tokenize(config.tokenizer, NULL, 1, &words, NULL), SB_ERR_ARGUMENT);
    assert_int_equal(sb_tokenize(config.tokenizer, NULL, 0, &words, NULL), SB_OK);
    sb_free(words);
    assert_int_equal(sb_diversity_compute(config.tokenizer, NULL, 1, &diversity, NULL),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_diversity_compute(config.tokenizer, &text, 1, NULL, NULL), SB_ERR_ARGUMENT);
}

/* Fails each allocation of a whole computation in turn. */
static void test_memory(void **state)
{
    (void)state;
    const sb_text texts[] = {{"one, two & three.", 17}, {"four five six seven", 19}};
    sb_bleu_config config;
    sb_bleu_config_default(&config);
    if (unicode_is_present())
        config.tokenizer = SB_TOKENIZER_INTL;
    for (int tokenizers = 0; tokenizers < 2; tokenizers++, config.tokenizer = SB_TOKENIZER_13A) {
        bool failed = true;
        for (long at = 1; failed; at++) {
            sb_bleu_references *references = NULL;
            sb_bleu bleu = {.score = 7};
            sb_diversity diversity = {.mean = 7};
            sb_error err = {.status = SB_OK};
            alloc_fail_at(at);
            sb_status status = sb_bleu_references_open(&references, &config, texts, 2, &err);
            if (status == SB_OK)
                status = sb_bleu_sentence(references, "two six", 7, &bleu, &err);
            if (status == SB_OK)
                status = sb_diversity_compute(config.tokenizer, texts, 2, &diversity, &err);
            failed = alloc_has_failed();
            alloc_fail_at(0);
            assert_int_equal(status, failed ? SB_ERR_MEMORY : SB_OK);
            assert_int_equal(err.status, status);
            if (failed)
                assert_true(diversity.mean == 7);
            sb_bleu_references_close(references);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpora),  cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_tokens),   cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_by_hand),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_missing_arguments),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, open_corpora, close_corpora);
}
