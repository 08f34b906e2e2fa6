/* Tests n-gram diversity against examples worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sbeam/metric.h"

enum { MOST_TEXTS = 4 };

typedef struct example {
    sb_tokenizer tokenizer;
    const char *texts[MOST_TEXTS];
    double d[SB_NGRAM_ORDERS]; /* NaN: there are none of that order */
} example;

static const example examples[] = {
    /* 9 words, 5 of them distinct; 7 pairs, all but one "a b" distinct; 5 triples; 3 of four. */
    {SB_TOKENIZER_NONE, {"a b c a", "a b d e b"}, {5.0 / 9, 6.0 / 7, 1, 1}},
    /* The same text k times: 1 / k. */
    {SB_TOKENIZER_NONE, {"w x y z", "w x y z", "w x y z"}, {1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3}},
    /* One text: only its own repetitions count. No n-gram goes across texts. */
    {SB_TOKENIZER_NONE, {"a a a a a"}, {1.0 / 5, 1.0 / 4, 1.0 / 3, 1.0 / 2}},
    {SB_TOKENIZER_NONE, {"p q", "q p"}, {2.0 / 4, 1, NAN, NAN}},
    {SB_TOKENIZER_NONE, {"p", "q", "p"}, {2.0 / 3, NAN, NAN, NAN}},
    {SB_TOKENIZER_NONE, {"", "a b c", "   "}, {1, 1, 1, NAN}},
    {SB_TOKENIZER_NONE, {"", ""}, {NAN, NAN, NAN, NAN}},
    {SB_TOKENIZER_NONE, {NULL}, {NAN, NAN, NAN, NAN}},
    /* The tokeniser decides what a word is: "oui", "," and "." here. */
    {SB_TOKENIZER_13A, {"oui, oui.", "oui."}, {3.0 / 6, 3.0 / 4, 1, 1}},
    {SB_TOKENIZER_CHAR, {"aab", "a b"}, {2.0 / 5, 2.0 / 3, 1, NAN}},
};

static void check_same(double x, double expected)
{
    if (isnan(expected))
        assert_true(isnan(x));
    else if (!(fabs(x - expected) < 1e-15))
        fail_msg("%.17g is not %.17g", x, expected);
}

static void test_examples(void **state)
{
    (void)state;
    for (size_t e = 0; e < sizeof examples / sizeof examples[0]; e++) {
        const example *const ex = &examples[e];
        sb_text texts[MOST_TEXTS];
        size_t n = 0;
        for (; n < MOST_TEXTS && ex->texts[n] != NULL; n++)
            texts[n] = (sb_text){ex->texts[n], strlen(ex->texts[n])};
        sb_diversity diversity;
        assert_int_equal(sb_diversity_compute(ex->tokenizer, texts, n, &diversity, NULL), SB_OK);
        double sum = 0;
        int n_orders = 0;
        for (int order = 0; order < SB_NGRAM_ORDERS; order++) {
            check_same(diversity.d[order], ex->d[order]);
            sum += isnan(ex->d[order]) ? 0 : ex->d[order];
            n_orders += !isnan(ex->d[order]);
        }
        check_same(diversity.mean, n_orders > 0 ? sum / n_orders : NAN);
    }
}

/* Enough words for the hash tables to grow many times: n distinct words, twice. */
static void test_many(void **state)
{
    (void)state;
    enum { N = 20000 };
    static char text[N * 8];
    size_t size = 0;
    for (int i = 0; i < N; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%d ", i);
    const sb_text texts[] = {{text, size}, {text, size}};
    sb_diversity diversity;
    assert_int_equal(sb_diversity_compute(SB_TOKENIZER_NONE, texts, 1, &diversity, NULL), SB_OK);
    check_same(diversity.mean, 1);
    assert_int_equal(sb_diversity_compute(SB_TOKENIZER_NONE, texts, 2, &diversity, NULL), SB_OK);
    for (int order = 0; order < SB_NGRAM_ORDERS; order++)
        check_same(diversity.d[order], 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
