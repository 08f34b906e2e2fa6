/* Tests the text layer: UTF-8, words, vocabularies, lines, JSON strings, decimal numbers. */
#include <locale.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/utf8.h"
#include "model_check.h"
#include "sbeam/format.h"
#include "text/lines.h"
#include "text/vocab.h"

static void test_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "a",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(utf8_is_text(good[i], strlen(good[i])));
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\x41",
                                      "\xe0\x9f\xbf",
                                      "\xe1\x80",
                                      "\xe1\x80\x41",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf1\x80\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "a\xfe"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(utf8_is_text(bad[i], strlen(bad[i])));
    assert_false(utf8_is_text("a\0b", 3));
    assert_true(utf8_is_token("\xc3\xa9", 2));
    assert_false(utf8_is_token("", 0));
    assert_false(utf8_is_token("a b", 3));
    assert_false(utf8_is_token("a\n", 2));
}

static void test_excerpt(void **state)
{
    (void)state;
    char text[80];
    memset(text, 'x', sizeof text);
    assert_int_equal(utf8_excerpt(text, 60), 60);
    assert_int_equal(utf8_excerpt(text, 61), 60);
    memcpy(text + 58, "\xe2\x82\xac", 3); /* bytes 58 .. 60 are one character */
    assert_int_equal(utf8_excerpt(text, 80), 58);
    memset(text, '\xbf', sizeof text);
    assert_int_equal(utf8_excerpt(text, 80), 56);
}

static void test_words(void **state)
{
    (void)state;
    static const char text[] = " one\t\ttwo\r\nthree";
    static const char *const words[] = {"one", "two", "three"};
    size_t position = 0, size, n = 0;
    const char *word;
    while (utf8_next_word(text, sizeof text - 1, &position, &word, &size)) {
        assert_true(n < 3 && size == strlen(words[n]));
        assert_memory_equal(word, words[n++], size);
    }
    assert_int_equal(n, 3);
    position = 0;
    assert_false(utf8_next_word(NULL, 0, &position, &word, &size));
}

static void test_vocab(void **state)
{
    (void)state;
    enum { N = 5000 };
    vocab words;
    vocab_init(&words);
    assert_int_equal(vocab_find(&words, "a", 1), -1);
    char text[32];
    for (int32_t i = 0; i < N; i++) {
        int32_t id;
        bool is_new;
        const int size =
            snprintf(text, sizeof text, "%.*s%d", (int)(i % 13), "abcdefghijklm", (int)i);
        assert_int_equal(vocab_add(&words, text, (size_t)size, &id, &is_new), SB_OK);
        assert_int_equal(id, i);
        assert_true(is_new);
        assert_int_equal(vocab_add(&words, text, (size_t)size, &id, &is_new), SB_OK);
        assert_int_equal(id, i);
        assert_false(is_new);
    }
    assert_int_equal(words.n, N);
    for (int32_t i = 0; i < N; i++) {
        const int size =
            snprintf(text, sizeof text, "%.*s%d", (int)(i % 13), "abcdefghijklm", (int)i);
        assert_int_equal(vocab_find(&words, text, (size_t)size), i);
        assert_string_equal(vocab_text(&words, i), text);
        assert_true(vocab_is(&words, i, text, (size_t)size));
        assert_false(vocab_is(&words, i, text, (size_t)size - 1));
        assert_int_equal(vocab_find(&words, text, (size_t)size + 1), -1);
    }
    int32_t id;
    assert_int_equal(vocab_add(&words, "", 0, &id, NULL), SB_OK);
    assert_int_equal(vocab_find(&words, "", 0), N);
    vocab_free(&words);
}

static void check_lines(const char *text, size_t size, const char *const *expected, size_t n)
{
    lines_reader *reader;
    assert_int_equal(lines_open_memory(&reader, "m", text, size, NULL), SB_OK);
    const char *line;
    size_t line_size;
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(lines_next(reader, &line, &line_size, NULL), SB_OK);
        assert_non_null(line);
        assert_int_equal(lines_number(reader), i + 1);
        assert_int_equal(line_size, strlen(expected[i]));
        assert_memory_equal(line, expected[i], line_size);
    }
    assert_int_equal(lines_next(reader, &line, &line_size, NULL), SB_OK);
    assert_null(line);
    lines_close(reader);
}

static void test_lines(void **state)
{
    (void)state;
    check_lines("", 0, NULL, 0);
    check_lines("\n", 1, (const char *[]){""}, 1);
    check_lines("a\nb", 3, (const char *[]){"a", "b"}, 2);
    check_lines("a\r\n\r\nb\r", 7, (const char *[]){"a", "", "b"}, 3);
    check_lines("\xef\xbb\xbf"
                "a\n",
                5, (const char *[]){"a"}, 1);
}

/* Lines longer than the buffer, and one longer than the limit. */
static void test_long_lines(void **state)
{
    (void)state;
    const size_t size = (size_t)LINES_MAX_LINE + 10, half = (size_t)LINES_MAX_LINE / 2;
    char *const text = malloc(size);
    assert_non_null(text);
    memset(text, 'x', size);
    text[0] = text[half] = '\n';
    lines_reader *reader;
    const char *line;
    size_t line_size;
    sb_error err;
    assert_int_equal(lines_open_memory(&reader, "long", text, size, NULL), SB_OK);
    assert_int_equal(lines_peek(reader, &line, &line_size, &err), SB_OK);
    assert_int_equal(line_size, LINES_PEEK_SIZE);
    assert_int_equal(lines_next(reader, &line, &line_size, &err), SB_OK);
    assert_int_equal(lines_next(reader, &line, &line_size, &err), SB_OK);
    assert_int_equal(line_size, half - 1);
    assert_int_equal(lines_next(reader, &line, &line_size, &err), SB_OK);
    assert_int_equal(line_size, size - half - 1);
    lines_close(reader);
    memset(text, 'x', size);
    assert_int_equal(lines_open_memory(&reader, "long", text, size, NULL), SB_OK);
    assert_int_equal(lines_next(reader, &line, &line_size, &err), SB_ERR_LIMIT);
    assert_string_equal(err.message, "long:1: the line is longer than 16777216 bytes");
    lines_close(reader);
    char *rest;
    assert_int_equal(lines_open_memory(&reader, "long", text, size, NULL), SB_OK);
    assert_int_equal(lines_read_rest(reader, size - 1, &rest, &line_size, &err), SB_ERR_LIMIT);
    lines_close(reader);
    assert_int_equal(lines_open_memory(&reader, "long", text, size, NULL), SB_OK);
    assert_int_equal(lines_read_rest(reader, size, &rest, &line_size, &err), SB_OK);
    assert_int_equal(line_size, size);
    assert_memory_equal(rest, text, size);
    alloc_free(rest);
    lines_close(reader);
    free(text);
}

static void check_decimal(const char *text)
{
    double found = 7;
    assert_true(decimal_parse(text, strlen(text), &found));
    const double expected = strtod(text, NULL);
    assert_memory_equal(&found, &expected, sizeof found);
}

static void test_decimal(void **state)
{
    (void)state;
    static const char *const good[] = {"0",
                                       "-0",
                                       "+0.0",
                                       "1",
                                       "-1.25",
                                       ".5",
                                       "5.",
                                       "-0.6931471805599453",
                                       "99.9990",
                                       "1e22",
                                       "1e23",
                                       "9007199254740992",
                                       "9007199254740993",
                                       "9007199254740993e-3",
                                       "123456789012345678",
                                       "1234567890123456789",
                                       "0.000000000000000000000000000001",
                                       "4.9e-324",
                                       "2.4703282292062328e-324",
                                       "2.4703282292062327e-324",
                                       "1.7976931348623157e308",
                                       "1e-400",
                                       "0e999999999999999999999",
                                       "2.2250738585072011e-308",
                                       "1e0000000000000000000000000005",
                                       "3.0e-1",
                                       "1E+2",
                                       "179769313486231580793e288"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        check_decimal(good[i]);
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      ".",
                                      "-.",
                                      "1e",
                                      "1e+",
                                      "1e1.0",
                                      "1.2.3",
                                      " 1",
                                      "1 ",
                                      "0x1",
                                      "inf",
                                      "-inf",
                                      "nan",
                                      "1f",
                                      "--1",
                                      "1e309",
                                      "1e99999999999999999999",
                                      "1,5",
                                      "e5"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double value = 7;
        assert_false(decimal_parse(bad[i], strlen(bad[i]), &value));
        assert_true(value == 7);
    }
    double value;
    assert_true(decimal_parse("12", 1, &value)); /* the size counts, not the terminator */
    assert_true(value == 1);
}

/* Halfway between two doubles, with the digit that decides beyond what is kept; and many zeros. */
static void test_long_decimals(void **state)
{
    (void)state;
    static char text[5000];
    memset(text, '0', sizeof text);
    memcpy(text, "9007199254740993.", 17);
    text[3000] = '1';
    text[3001] = '\0';
    check_decimal(text);
    text[3000] = '0';
    check_decimal(text);
    memset(text, '0', sizeof text);
    memcpy(text, "0.", 2);
    strcpy(text + 4000, "123e4001");
    check_decimal(text);
    memset(text, '9', sizeof text);
    strcpy(text + 2000, "e-2000");
    check_decimal(text);
}

static void test_decimal_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof names / sizeof names[0]; i++)
        found = setlocale(LC_NUMERIC, names[i]) != NULL;
    double value;
    assert_true(decimal_parse("1.5", 3, &value) && value == 1.5);
    assert_true(decimal_parse("1.5000000000000000000000", 24, &value) && value == 1.5);
    char text[SB_NUMBER_SIZE];
    assert_int_equal(sb_number_format(text, -1.5e-300), 9);
    assert_string_equal(text, "-1.5e-300");
    setlocale(LC_NUMERIC, "C");
    if (!found)
        skip(); /* the machine has no locale with a decimal comma */
}

static void test_json_quote(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        const char *quoted;
    } cases[] = {
        {"", 0, "\"\""},
        {"a \"b\\\t\r\n/", 9, "\"a \\\"b\\\\\\t\\r\\n/\""},
        {"\0\x1f\x7f", 3, "\"\\u0000\\u001f\\u007f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\xb2", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\xb2\""},
        {"\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* one U+FFFD for each byte */
        {"a\xffz", 3, "\"a\xef\xbf\xbdz\""},
        /* Characters that a terminal does not show are escaped, those above U+FFFF as a surrogate
         * pair. */
        {"\xc2\x9b\xe2\x80\xae\xe2\x80\xa8", 8, "\"\\u009b\\u202e\\u2028\""},
        {"\xf3\xa0\x80\x81", 4, "\"\\udb40\\udc01\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char quoted[64];
        const size_t n = sb_json_quote(quoted, cases[i].text, cases[i].size);
        assert_true(n <= sb_json_quoted_size(cases[i].size));
        assert_int_equal(n, strlen(cases[i].quoted));
        assert_memory_equal(quoted, cases[i].quoted, n);
    }
    assert_true(sb_json_quoted_size(SIZE_MAX / 2) == SIZE_MAX);
}

static void check_shown(const char *text, size_t size, const char *expected)
{
    char shown[SB_SHOWN_SIZE], all[64] = "";
    for (size_t i = 0, n; i < size;) {
        i += sb_character_show(text + i, size - i, shown, &n);
        assert_true(n <= SB_SHOWN_SIZE && strlen(all) + n < sizeof all);
        strncat(all, shown, n);
    }
    assert_string_equal(all, expected);
}

static void test_show(void **state)
{
    (void)state;
    check_shown("a\\ \xc3\xa9\xe2\x9d\xa4\xef\xb8\x8f", 11, "a\\ \xc3\xa9\xe2\x9d\xa4\xef\xb8\x8f");
    check_shown("\n\t\r\0\x1b\x7f", 6, "\\n\\t\\r\\x00\\x1b\\x7f");
    check_shown("\x9b\xe2\x82", 3, "\\x9b\\xe2\\x82");        /* bytes that are not UTF-8 */
    check_shown("\xc2\x9b\xe2\x80\xae", 5, "\\u009b\\u202e"); /* control codes in UTF-8 */
    check_shown("\xf3\xa0\x80\x81", 4, "\\U000e0001");
}

/* The characters on both sides of each range of the table, and some others. */
static void test_visible(void **state)
{
    (void)state;
    static const uint32_t shown[] = {
        0x20,   0x7e,   0xa0,   0xac,   0xae,    0x34e,   0x350,   0x61b,   0x61d,   0x115e, 0x1161,
        0x180a, 0x1810, 0x200a, 0x200c, 0x200d,  0x2010,  0x2027,  0x202f,  0x205f,  0x2070, 0x3163,
        0xfe0f, 0xfefe, 0xfffc, 0xfffd, 0x10000, 0x1f600, 0xdffff, 0xe1000, 0x10ffff};
    static const uint32_t hidden[] = {
        0,      0x1f,   0x7f,   0x80,   0x9b,   0x9f,    0xad,    0x61c,   0x180e,  0x200b,
        0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e,  0x2060,  0x2066,  0x2069,  0x206f,
        0x3164, 0xfeff, 0xfff9, 0xfffe, 0xffff, 0x1343f, 0x1d173, 0xe0001, 0xe007f, 0xe01ef};
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        assert_true(utf8_is_visible(shown[i]));
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        assert_false(utf8_is_visible(hidden[i]));
}

/* Any bytes are shown as visible UTF-8, and each byte belongs to one character that is shown. */
static void test_show_any(void **state)
{
    (void)state;
    static const char parts[] = "\x1b\x9b\xc2\xe2\x80\xae\xf3\xa0\x81\xffz\0\n";
    uint32_t random = 1;
    for (int round = 0; round < 100000; round++) {
        char text[8], shown[sizeof text * SB_SHOWN_SIZE];
        size_t n_shown = 0, i = 0, n;
        for (size_t j = 0; j < sizeof text; j++) {
            random = random * 1664525 + 1013904223; /* Numerical Recipes */
            text[j] = round % 2 == 0 ? (char)(random >> 24) : parts[(random >> 16) % 13];
        }
        while (i < sizeof text) {
            i += sb_character_show(text + i, sizeof text - i, shown + n_shown, &n);
            n_shown += n;
        }
        assert_int_equal(i, sizeof text);
        for (i = 0; i < n_shown; i += n) {
            n = utf8_character_size(shown + i, n_shown - i);
            assert_true(n > 0 && utf8_is_visible(utf8_code(shown + i, n)));
        }
    }
}

/* A message is cut between characters, and an escape is not cut either. */
static void test_messages(void **state)
{
    (void)state;
    char text[600];
    sb_error err;
    memset(text, 'x', sizeof text);
    strcpy(text + 510, "\xe2\x82\xac");
    sb_error_set(&err, SB_ERR_INPUT, "%s", text);
    assert_int_equal(strlen(err.message), 510);
    text[509] = '\xc3';
    text[510] = '\xa9';
    sb_error_set(&err, SB_ERR_INPUT, "%s", text);
    assert_int_equal(strlen(err.message), 511);
    strcpy(text + 508, "\x1b[2J");
    sb_error_set(&err, SB_ERR_INPUT, "%s", text);
    assert_int_equal(strlen(err.message), 508);
    sb_error_set(&err, SB_ERR_INPUT, "'%s'", "\xe2\x80\xae\x1b]0;\x07");
    assert_string_equal(err.message, "'\\u202e\\x1b]0;\\x07'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),           cmocka_unit_test(test_excerpt),
        cmocka_unit_test(test_words),          cmocka_unit_test(test_vocab),
        cmocka_unit_test(test_lines),          cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_decimal),        cmocka_unit_test(test_long_decimals),
        cmocka_unit_test(test_decimal_locale), cmocka_unit_test(test_json_quote),
        cmocka_unit_test(test_show),           cmocka_unit_test(test_visible),
        cmocka_unit_test(test_show_any),       cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
