/* Tests ARPA models: rows worked out by hand, the variants of the format that writers produce, and
 * the errors. */
#include <unistd.h>
#include <zlib.h>

#include "model_check.h"

enum { BOS, EOS, UNK, A, B, C, N_WORDS }; /* of small.arpa */

static const double ln_10 = 2.302585092994045684;

/* Rows of small.arpa in log10, as sums of what the file lists: with b(h) the back-off weight of h,
 * p(w | u v) is the trigram, else b(u v) + the bigram, else b(u v) + b(v) + the unigram; a context
 * that is not listed has weight 0. */
static const struct {
    const char *prefix;
    double log10_p[N_WORDS];
} known_rows[] = {
    /* <s>: the bigram <s> a; b(<s>) = -0.3 for the rest. <s> itself is never predicted. */
    {"", {-INFINITY, -0.3 - 0.7, -0.3 - 2.1, -0.2, -0.3 - 0.5, -0.3 - 1.3}},
    /* <s> a: the trigram <s> a b; b(<s> a) = -0.15 on the bigram a </s>; with b(a) = -0.4 below. */
    {"a", {-INFINITY, -0.15 - 1.1, -0.15 - 0.4 - 2.1, -0.15 - 0.4 - 0.9, -0.1, -0.15 - 0.4 - 1.3}},
    /* a b: the trigram a b c; b(a b) = -0.35, b(b) = -0.25. */
    {"a b",
     {-INFINITY, -0.35 - 0.25 - 0.7, -0.35 - 0.25 - 2.1, -0.35 - 0.25 - 0.9, -0.35 - 0.25 - 0.5,
      -0.45}},
    /* b c: the trigram b c </s>; both back-offs are missing, hence 0; the bigram c a is -99. */
    {"a b c", {-INFINITY, -0.33, -2.1, -INFINITY, -0.5, -1.3}},
    /* <s> c is not listed; c b is only a context, not a bigram: its b comes from the unigrams. */
    {"c", {-INFINITY, -0.7, -2.1, -INFINITY, -0.5, -1.3}},
    /* c b, not listed but leading to the trigram c b a: b(c b) = 0. The bigram b c; b(b) = -0.25.
     */
    {"c b", {-INFINITY, -0.25 - 0.7, -0.25 - 2.1, -0.05, -0.25 - 0.5, -0.6}},
    /* b a, not listed: b(a) = -0.4, and the bigrams of a. */
    {"c b a", {-INFINITY, -1.1, -0.4 - 2.1, -0.4 - 0.9, -0.8, -0.4 - 1.3}},
    /* An unknown word is <unk>: b(<unk>) = -0.2. */
    {"a zebra", {-INFINITY, -0.2 - 0.7, -0.2 - 2.1, -0.2 - 0.9, -0.2 - 0.5, -0.2 - 1.3}},
};

static void check_known_rows(const sb_model *model)
{
    for (size_t i = 0; i < sizeof known_rows / sizeof known_rows[0]; i++) {
        double row[N_WORDS];
        row_after(model, known_rows[i].prefix, row);
        for (int w = 0; w < N_WORDS; w++)
            check_near(row[w], known_rows[i].log10_p[w] * ln_10);
    }
}

static void test_known_rows(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/small.arpa");
    const sb_model_info *const info = sb_model_get_info(model);
    assert_string_equal(info->kind, "arpa");
    assert_int_equal(info->vocab_size, N_WORDS);
    assert_int_equal(info->eos, EOS);
    assert_int_equal(info->row_type, SB_ROW_DOUBLE);
    check_known_rows(model);
    sb_model_close(model);
}

/* Rows reached by steps, in any order of parents, are those reached by prefixes, to the bit. */
static void test_steps(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/small.arpa");
    sb_session *s;
    double rows[3 * N_WORDS], expected[N_WORDS];
    assert_int_equal(sb_session_open(&s, model, &(sb_session_spec){.max_inputs = 2}, NULL), SB_OK);
    assert_int_equal(sb_session_begin(s, 1, "a", 1, NULL), SB_OK);
    assert_int_equal(
        session_rows(s, 2, (int32_t[]){-1, -1}, (int32_t[]){-1, -1}, (int32_t[]){1, 0}, rows, NULL),
        SB_OK);
    assert_int_equal(session_rows(s, 3, (int32_t[]){1, 0, 1}, (int32_t[]){C, B, A},
                                  (int32_t[]){0, 1, 0}, rows, NULL),
                     SB_OK);
    static const char *const prefixes[] = {"c", "a b", "a"};
    for (int i = 0; i < 3; i++) {
        row_after(model, prefixes[i], expected);
        assert_memory_equal(rows + i * N_WORDS, expected, sizeof expected);
    }
    assert_int_equal(session_rows(s, 3, (int32_t[]){1, 0, 0}, (int32_t[]){C, B, A},
                                  (int32_t[]){1, 0, 0}, rows, NULL),
                     SB_OK);
    static const char *const longer[] = {"a b c", "c b", "c a"};
    for (int i = 0; i < 3; i++) {
        row_after(model, longer[i], expected);
        assert_memory_equal(rows + i * N_WORDS, expected, sizeof expected);
    }
    sb_session_close(s);
    sb_model_close(model);
}

static void test_prefixes_refused(void **state)
{
    (void)state;
    sb_model *model = open_file(TEST_DATA "/small.arpa");
    check_prefix_refused(model, "a </s>", "prefix: nothing can follow the end token '</s>'");
    check_prefix_refused(model, "<s> a",
                         "prefix: every sequence begins with '<s>' already; leave it out");
    sb_model_close(model);
    model = open_text("m", "\\data\\\nngram 1=3\n\\1-grams:\n-1 a\n-99 <UNK>\n-1 </s>\n\\end\\\n");
    check_prefix_refused(model, "a b",
                         "prefix: the model has no word 'b' and no probability for unknown words");
    sb_model_close(model);
}

static char *read_small(void)
{
    static char text[2000];
    FILE *const file = fopen(TEST_DATA "/small.arpa", "rb");
    assert_non_null(file);
    const size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* The file with every `from` replaced by `to`. */
static void replace_all(const char *text, const char *from, const char *to, char *out)
{
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        memcpy(out, text, (size_t)(at - text));
        out += at - text;
        out = strcpy(out, to) + strlen(to);
    }
    strcpy(out, text);
}

static void test_spellings(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\n", "\r\n"},
        {"\t", " "},
        {" ", "\t"},
        {"\n", "  \n\n"},
        {"\n", "\n "},
        {"ngram 1=6", "ngram  1 =  6 "},
        {"\\end\\\n", "\\end\\"},
        {"\\end\\\n", "\\end\\\nanything \\1-grams:\n\xff\n"},
        {"-0.9\t", "-9.0e-1\t"},
        {"-99\t", "-1e300\t"},
        {"A trigram", "\xef\xbb\xbf"},
        {"-0.05\tc b a", "-0.05\tc b a\t0.7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4000];
        replace_all(read_small(), cases[i][0], cases[i][1], text);
        sb_model *const model = open_text("spelling", text);
        check_known_rows(model);
        sb_model_close(model);
    }
}

/* The order of the lines does not matter, the ids aside. */
static void test_unsorted(void **state)
{
    (void)state;
    char text[2000];
    replace_all(read_small(), "-0.2\t<s> a\t-0.15\n-0.8\ta b\t-0.35\n",
                "-0.8\ta b\t-0.35\n-0.2\t<s> a\t-0.15\n", text);
    char *const third = strstr(text, "\\3-grams:\n");
    strcpy(third, "\\3-grams:\n-0.05 c b a\n-0.33 b c </s>\n-0.45 a b c\n-0.1 <s> a b\n\\end\\\n");
    sb_model *const model = open_text("unsorted", text);
    check_known_rows(model);
    sb_model_close(model);
}

/* Contexts of two lengths that no line lists, one inside the other. */
static void test_implicit_contexts(void **state)
{
    (void)state;
    sb_model *const model =
        open_text("implicit",
                  "\\data\\\nngram 1=4\nngram 2=1\nngram 3=0\nngram 4=2\n\\1-grams:\n-1 <s> -0.5\n"
                  "-0.4 </s> 0\n-0.6 x -0.1\n-0.7 y -0.2\n\\2-grams:\n-0.3 y y -0.25\n\\3-grams:\n"
                  "\\4-grams:\n-0.11 x y x y\n-0.12 <s> x y x\n\\end\\\n");
    double row[4];
    row_after(model, "x y x", row);
    check_near(row[3], -0.11 * ln_10);
    check_near(row[2], (-0.1 - 0.6) * ln_10);
    row_after(model, "x y", row);
    check_near(row[2], -0.12 * ln_10);
    check_near(row[3], -0.3 * ln_10); /* b(<s> x y) = b(x y) = 0, then the bigram y y */
    check_near(row[0], -INFINITY);
    row_after(model, "x", row);
    check_near(row[3], (-0.1 - 0.7) * ln_10); /* x y leads on, but is no bigram */
    row_after(model, "y y", row);
    check_near(row[1], (-0.25 - 0.2 - 0.4) * ln_10);
    sb_model_close(model);
}

/* Every context listed, and several n-grams in one: as most files are. */
static void test_complete(void **state)
{
    (void)state;
    sb_model *const model = open_text(
        "complete", "\\data\\\nngram 1=3\nngram 2=2\nngram 3=3\n\\1-grams:\n-0.9 <s> -0.5\n"
                    "-0.4 </s>\n-0.6 x -0.1\n\\2-grams:\n-0.3 <s> x -0.25\n-0.7 x x -0.35\n"
                    "\\3-grams:\n-0.21 <s> x </s>\n-0.22 <s> x x\n-0.23 x x x\n\\end\\\n");
    double row[3];
    row_after(model, "x", row);
    check_near(row[1], -0.21 * ln_10);
    check_near(row[2], -0.22 * ln_10);
    row_after(model, "x x x", row);
    check_near(row[1], (-0.35 - 0.1 - 0.4) * ln_10);
    check_near(row[2], -0.23 * ln_10);
    assert_int_equal(token_of(model, "x"), 2);
    sb_model_close(model);
}

static void test_special_words(void **state)
{
    (void)state;
    /* Upper case, no <s>, order 1. */
    sb_model *model = open_text(
        "m", "\\data\\\nngram 1=3\n\\1-grams:\n-0.5 </S>\n-0.6 word\n-0.7 <Unk>\n\\end\\\n");
    assert_int_equal(sb_model_get_info(model)->eos, 0);
    double row[3];
    row_after(model, "unseen word", row);
    check_near(row[0], -0.5 * ln_10);
    check_near(row[2], -0.7 * ln_10);
    sb_model_close(model);
    /* Without <s> the history begins empty: a bigram model starts with the unigrams. */
    model = open_text("m", "\\data\\\nngram 1=2\nngram 2=1\n\\1-grams:\n-0.5 </s>\n-0.6 w -0.1\n"
                           "\\2-grams:\n-0.2 w w\n\\end\\\n");
    row_after(model, "", row);
    check_near(row[1], -0.6 * ln_10);
    row_after(model, "w", row);
    check_near(row[0], (-0.1 - 0.5) * ln_10);
    check_near(row[1], -0.2 * ln_10);
    sb_model_close(model);
}

static void test_large_backoff(void **state)
{
    (void)state;
    /* Sphinx writes +99.999; probability zero stays zero, and a row stays finite. A probability may
     * exceed 1 by rounding. */
    sb_model *const model = open_text(
        "m",
        "\\data\\\nngram 1=4\nngram 2=1\n\\1-grams:\n-99 <s> 99.999\n-0.5 </s> 99.999\n-99.0 z\n"
        "0.0001 w 99.9990\n\\2-grams:\n-0.2 w w\n\\end\\\n");
    double row[4];
    row_after(model, "", row);
    check_near(row[0], -INFINITY);
    check_near(row[1], (99.999 - 0.5) * ln_10);
    check_near(row[2], -INFINITY);
    check_near(row[3], (99.999 + 0.0001) * ln_10);
    sb_model_close(model);
}

#define HEADER "\\data\\\nngram 1=2\nngram 2=1\n\n\\1-grams:\n"
#define WORDS  "-0.5\t</s>\n-0.6\tw\t-0.1\n"

static void test_refused(void **state)
{
    (void)state;
    static const refusal refusals[] = {
        {"\\data\\\n", SB_ERR_FORMAT, "m:1: expected ngram 1=COUNT, found the end of the file"},
        {"\\data\\\nngram 2=1\n", SB_ERR_FORMAT,
         "m:2: expected the count of 1-grams, found 'ngram 2=1'"},
        {"\\data\\\nngram x=1\n", SB_ERR_FORMAT, "m:2: expected ngram 1=COUNT, found 'ngram x=1'"},
        {"\\data\\\nngram 1 1\n", SB_ERR_FORMAT, "m:2: expected ngram 1=COUNT, found 'ngram 1 1'"},
        {"\\data\\\nngram 1\n", SB_ERR_FORMAT, "m:2: expected ngram 1=COUNT, found 'ngram 1'"},
        {"\\data\\\nngram 1=x\n", SB_ERR_FORMAT, "m:2: expected ngram 1=COUNT, found 'ngram 1=x'"},
        {"\\data\\\nngram 1=1\nngram 3=1\n", SB_ERR_FORMAT, "m:3: expected the count of 2-grams"},
        {"\\data\\\nngram 1=1\nngram 33=1\n", SB_ERR_LIMIT,
         "m:3: models above order 32 are not supported"},
        {"\\data\\\nngram 1=1\n", SB_ERR_FORMAT, "m:2: expected \\1-grams:, found the end of the"},
        {"\\data\\\nngram 1=1\n\\2-grams:\n", SB_ERR_FORMAT,
         "m:3: expected \\1-grams:, found '\\2-grams:'"},
        {HEADER "-0.5\t</s>\n\\2-grams:\n", SB_ERR_FORMAT,
         "m:7: expected 2 1-grams, as the header says, found 1"},
        {HEADER WORDS "-0.7\tx\n", SB_ERR_FORMAT,
         "m:8: expected 2 1-grams, as the header says, found one more: '-0.7\\tx'"},
        {HEADER WORDS, SB_ERR_FORMAT, "m:7: expected \\2-grams:, found the end of the file"},
        {HEADER WORDS "\\end\\\n", SB_ERR_FORMAT, "m:8: expected \\2-grams:, found '\\end\\'"},
        {HEADER WORDS "\\2-grams:\n-1 w w\n", SB_ERR_FORMAT,
         "m:9: expected \\end\\, found the end of the file"},
        {HEADER WORDS "\\2-grams:\n-1 w w\n\\3-grams:\n", SB_ERR_FORMAT,
         "m:10: expected \\end\\, found '\\3-grams:'"},
        {HEADER "-0.5\n", SB_ERR_FORMAT,
         "m:6: expected a log-probability, 1 words and an optional back-off weight, found '-0.5'"},
        {HEADER "-0.5 </s> 0 0\n", SB_ERR_FORMAT, "m:6: expected a log-probability, 1 words"},
        {HEADER "-0.5 w\n-0.5 w\n", SB_ERR_FORMAT, "m:7: duplicate 1-gram 'w', first on line 6"},
        {HEADER WORDS "\\2-grams:\n-1 w x\n", SB_ERR_FORMAT,
         "m:9: expected a word listed among the 1-grams, found 'x'"},
        {HEADER WORDS "\\2-grams:\n-1 w\n", SB_ERR_FORMAT,
         "m:9: expected a log-probability, 2 words"},
        {HEADER "-0.5 \xc3\x28\n", SB_ERR_FORMAT, "m:6: the word is not UTF-8 text"},
        {HEADER "x w\n", SB_ERR_FORMAT, "m:6: expected a log-probability, found 'x'"},
        {HEADER "nan w\n", SB_ERR_FORMAT, "m:6: expected a log-probability, found 'nan'"},
        {HEADER "-inf w\n", SB_ERR_FORMAT, "m:6: expected a log-probability, found '-inf'"},
        {HEADER "-1e999 w\n", SB_ERR_FORMAT, "m:6: expected a log-probability, found '-1e999'"},
        {HEADER "0.1 w\n", SB_ERR_FORMAT,
         "m:6: expected a log-probability of at most 0, found 0.1"},
        {HEADER "-0.1 w inf\n", SB_ERR_FORMAT, "m:6: expected a back-off weight, found 'inf'"},
        {HEADER "-0.1 w 1e300\n", SB_ERR_FORMAT, "m:6: expected a back-off weight, found '1e300'"},
        {"\\data\\\nngram 1=1\n\\1-grams:\n-0.5 w\n\\end\\\n", SB_ERR_FORMAT,
         "m:5: the 1-grams lack '</s>', the token that ends a sequence"},
        {"\\data\\\nngram 1=0\n\\1-grams:\n\\end\\\n", SB_ERR_FORMAT,
         "m:4: the 1-grams lack '</s>'"},
        {"\\data\\\nngram 1=99999999999999999999999\n\\1-grams:\n-0.5 w\n\\end\\\n", SB_ERR_FORMAT,
         "m:5: expected 18446744073709551615 1-grams, as the header says, found 1"},
        {"\\data\\\nngram 1=2\nngram 2=3\n\\1-grams:\n" WORDS "\\2-grams:\n-1 w w\n-1 w </s>\n"
         "-2 w w\n\\end\\\n",
         SB_ERR_FORMAT, "m:10: duplicate 2-gram, first on line 8"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_refusal("m", &refusals[i]);
}

/* A gzip file, every truncation of it, and a damaged one. */
static void test_gzip(void **state)
{
    (void)state;
    char folder[] = "/tmp/sbeam-test-XXXXXX", path[64], bytes[2000];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/small.arpa.gz", folder);
    gzFile packed = gzopen(path, "wb");
    assert_non_null(packed);
    assert_true(gzputs(packed, read_small()) > 0);
    assert_int_equal(gzclose(packed), Z_OK);
    sb_model *model = open_file(path);
    check_known_rows(model);
    sb_model_close(model);

    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t cut = 4; cut < size; cut++) {
        file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, cut, file), cut);
        fclose(file);
        sb_error err = {.message = ""};
        assert_int_equal(sb_model_open(&model, path, &err), SB_ERR_FORMAT);
        if (strstr(err.message, ": the gzip data end too early") == NULL)
            fail_msg("cut at %zu: %s", cut, err.message);
    }
    bytes[size - 6] ^= 1; /* in the checksum */
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    sb_error err = {.message = ""};
    assert_int_equal(sb_model_open(&model, path, &err), SB_ERR_FORMAT);
    assert_non_null(strstr(err.message, ": the gzip data are damaged"));
    unlink(path);
    rmdir(folder);
}

static void test_memory_failures(void **state)
{
    (void)state;
    check_allocation_failures(TEST_DATA "/small.arpa");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_rows),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_prefixes_refused),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_unsorted),
        cmocka_unit_test(test_implicit_contexts),
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_special_words),
        cmocka_unit_test(test_large_backoff),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
