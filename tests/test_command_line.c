/* What the command line does before a model is opened: suggestions, escapes and input files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/escape.h"
#include "common/input_file.h"
#include "common/suggest.h"
#include "sbeam/version.h"

static void test_distance(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t distance;
    } cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"abc", "abc", 0},
        {"temprature", "temperature", 1}, /* a missing letter */
        {"seeed", "seed", 1},             /* an extra one */
        {"beem", "beam", 1},              /* a wrong one */
        {"drwa", "draw", 1},              /* two swapped */
        {"wadr", "draw", 4},              /* not a swap of neighbours */
        {"kitten", "sitting", 3},         /* Levenshtein's example */
        {"ca", "abc", 3},                 /* optimal string alignment, not Damerau: 3, not 2 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(suggest_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(suggest_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
    char word[65];
    memset(word, 'x', 64);
    word[64] = '\0';
    assert_true(suggest_distance(word, "x") == SIZE_MAX);
    word[63] = '\0';
    assert_int_equal(suggest_distance(word, "x"), 62);
    assert_int_equal(suggest_distance("x", word), 62);
}

static const char *choose(const char *word, const char *choices)
{
    static char buffer[64];
    return suggest_choice(word, choices, buffer, sizeof buffer);
}

static void test_choice(void **state)
{
    (void)state;
    assert_string_equal(choose("json", "text|jsonl|tsv"), "jsonl");
    assert_string_equal(choose("samlpe", "sbs|sample|resample"), "sample");  /* the closest */
    assert_string_equal(choose("temp", "top-k|temperature"), "temperature"); /* its beginning */
    assert_string_equal(choose("bean", "beam|beak"), "beam"); /* the first of equals */
    assert_null(choose("xml", "text|jsonl|tsv"));
    assert_null(choose("k", "x|y")); /* every letter is one edit away from every other */
    assert_null(choose("", "text|jsonl"));
    assert_null(choose("text", ""));
    char small[4];
    assert_null(suggest_choice("json", "jsonl", small, sizeof small)); /* it does not fit */
}

static void test_habits(void **state)
{
    (void)state;
    const char *name = "unchanged";
    assert_null(suggest_for_habit("--temperature", &name));
    assert_string_equal(name, "unchanged");
    assert_non_null(suggest_for_habit("--temp", &name));
    assert_string_equal(name, "temperature");
    assert_non_null(suggest_for_habit("-o", &name));
    assert_null(name);
}

static void test_escapes(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"", ""},       {"plain", "plain"}, {"\\n", "\n"},      {"a\\tb", "a\tb"},
        {"\\\\", "\\"}, {"\\\\n", "\\n"},   {"\\n\\n", "\n\n"}, {"\n", "\n"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char *plain;
        assert_int_equal(escape_undo(good[i][0], &plain, NULL), SB_OK);
        assert_string_equal(plain, good[i][1]);
        free(plain);
    }
    static const char *const bad[][2] = {
        {"\\x41", "'\\x' is not"}, {"a\\", "'\\' is not"}, {"\\\xc3\xa9", "'\\\xc3\xa9' is not"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *plain = NULL;
        sb_error err;
        assert_int_equal(escape_undo(bad[i][0], &plain, &err), SB_ERR_ARGUMENT);
        assert_null(plain);
        assert_non_null(strstr(err.message, bad[i][1]));
    }
}

static void write_file(const char *path, const char *bytes, size_t n)
{
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void test_input_file(void **state)
{
    (void)state;
    char path[] = "/tmp/sbeam-test-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
        size_t size;
    } cases[] = {
        {"", 0, "", 0},
        {"\n", 1, "", 0},
        {"a\nb\n", 4, "a\nb", 3},
        {"a\n\n", 3, "a\n", 2},
        {"a\0b", 3, "a\0b", 3},
        {"\xef\xbb\xbf\xef\xbb\xbfx", 7, "\xef\xbb\xbfx", 4},
        {"\xef\xbb", 2, "\xef\xbb", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(path, cases[i].bytes, cases[i].n);
        char *text;
        size_t size;
        assert_int_equal(input_file_read(path, &text, &size, NULL), SB_OK);
        assert_int_equal(size, cases[i].size);
        assert_memory_equal(text, cases[i].text, size + 1);
        free(text);
    }
    /* Sizes around those of the buffer, which starts with 2^16 bytes. */
    for (size_t n = 65535; n <= 65537; n++) {
        char *const bytes = malloc(n);
        memset(bytes, 'x', n);
        write_file(path, bytes, n);
        char *text;
        size_t size;
        assert_int_equal(input_file_read(path, &text, &size, NULL), SB_OK);
        assert_int_equal(size, n);
        assert_memory_equal(text, bytes, n);
        assert_int_equal(text[n], '\0');
        free(text);
        free(bytes);
    }
    remove(path);
    sb_error err;
    char *text = NULL;
    size_t size = 7;
    assert_int_equal(input_file_read(path, &text, &size, &err), SB_ERR_IO);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(input_file_read("/tmp", &text, &size, &err), SB_ERR_IO);
    assert_null(text);
    assert_int_equal(size, 7);
}

static void test_build_info(void **state)
{
    (void)state;
    const char *name, *value = NULL;
    size_t n = 0;
    bool has_kernels = false;
    while ((name = sb_build_info(n, &value)) != NULL) {
        assert_non_null(value);
        assert_true(value[0] != '\0');
        has_kernels = has_kernels || (strcmp(name, "kernels") == 0 && strcmp(value, sb_cpu()) == 0);
        n++;
    }
    assert_int_equal(n, 6);
    assert_true(has_kernels);
    value = "unchanged";
    assert_null(sb_build_info(SIZE_MAX, &value));
    assert_string_equal(value, "unchanged");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance),   cmocka_unit_test(test_choice),
        cmocka_unit_test(test_habits),     cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_input_file), cmocka_unit_test(test_build_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
