/* Tests text as terminals show it: decoding, widths, cutting, bars and the locale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/output.h"
#include "common/terminal.h"
#include "common/utf.h"

static void test_decoding(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t code;
        size_t n;
    } cases[] = {
        {"a", 'a', 1},
        {"\xc3\xa9", 0xe9, 2},
        {"\xe6\x97\xa5", 0x65e5, 3},
        {"\xf0\x9f\x98\x80", 0x1f600, 4},
        {"\xc3", UTF_BAD, 1},             /* cut */
        {"\xf0\x9f\x98", UTF_BAD, 1},     /* cut */
        {"\xc3(", UTF_BAD, 1},            /* no continuation */
        {"\x80", UTF_BAD, 1},             /* only a continuation */
        {"\xff", UTF_BAD, 1},             /* never valid */
        {"\xc0\x80", UTF_BAD, 1},         /* too long a form of 0 */
        {"\xe0\x80\xaf", UTF_BAD, 1},     /* too long a form of a slash */
        {"\xed\xa0\x80", UTF_BAD, 1},     /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", UTF_BAD, 1}, /* above the last character */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t code = 0;
        const size_t size = strlen(cases[i].text);
        assert_int_equal(utf_decode(cases[i].text, size, &code), cases[i].n);
        assert_int_equal(code, cases[i].code);
    }
}

static void test_widths(void **state)
{
    (void)state;
    assert_int_equal(utf_width('a'), 1);
    assert_int_equal(utf_width(0x301), 0);  /* combining acute accent */
    assert_int_equal(utf_width(0x200d), 0); /* zero width joiner */
    assert_int_equal(utf_width(0x65e5), 2);
    assert_int_equal(utf_text_width("e\xcc\x81\xe6\x97\xa5\n\x01\xff", 9), 1 + 2 + 2 + 4 + 4);
    assert_int_equal(utf_cut("a\xc3\xa9z", 2), 1); /* not inside a character */
    assert_int_equal(utf_cut("a\xc3\xa9z", 3), 3);
    assert_int_equal(utf_cut("\xf0\x9f\x98\x80", 3), 0);
    assert_int_equal(utf_cut("\x80\x80\x80\x80\x80\x80", 5), 1); /* it gives up after 4 bytes */
}

static void check_cut(const char *text, size_t width, bool unicode, const char *expected)
{
    output out = {0};
    const size_t used = utf_put_cut(&out, text, strlen(text), width, unicode);
    output_char(&out, '\0');
    assert_string_equal(out.data, expected);
    assert_int_equal(used, utf_text_width(expected, strlen(expected)));
    assert_true(used <= width);
    output_free(&out);
}

static void test_cutting(void **state)
{
    (void)state;
    check_cut("plain", 5, true, "plain");
    check_cut("plain", 4, true, "pla\xe2\x80\xa6");
    check_cut("plain", 4, false, "p...");
    check_cut("plain", 2, false, ""); /* the ellipsis does not fit */
    check_cut("plain", 0, true, "");
    check_cut("a\nb\tc\rd", 20, true, "a\\nb\\tc\\rd");
    check_cut("a\x1b\x7f", 20, true, "a\\x1b\\x7f");
    check_cut("a\xff"
              "b",
              20, true, "a\\xffb");
    check_cut("\xe6\x97\xa5\xe6\x9c\xac", 3, true, "\xe6\x97\xa5\xe2\x80\xa6"); /* 2 columns each */
}

static void check_bar(bool unicode, double share, const char *expected)
{
    const terminal term = {.width = 80, .unicode = unicode};
    output out = {0};
    terminal_bar(&term, &out, share, 4);
    output_char(&out, '\0');
    assert_string_equal(out.data, expected);
    output_free(&out);
}

static void test_bars(void **state)
{
    (void)state;
    check_bar(true, 0.5, "\xe2\x96\x88\xe2\x96\x88  ");
    check_bar(true, 1e-9, "\xe2\x96\x8f   "); /* more than nothing is seen */
    check_bar(true, 1.5, "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88");
    check_bar(false, 0.5, "##  ");
    check_bar(false, 1, "####");
}

static void test_locales(void **state)
{
    (void)state;
    static const struct {
        const char *all, *ctype, *lang;
        bool is_utf;
    } cases[] = {
        {NULL, NULL, NULL, false},         {"", "", "", false},
        {"C.UTF-8", NULL, NULL, true},     {"C", "C.UTF-8", "C.UTF-8", false},
        {"", "fr_FR.utf8", NULL, true},    {NULL, "C", "en_US.UTF-8", false},
        {NULL, NULL, "en_US.utf-8", true}, {NULL, "", "ja_JP.eucJP", false},
        {NULL, NULL, "tr_TR.UTF8", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
        const char *const values[] = {cases[i].all, cases[i].ctype, cases[i].lang};
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(values[j] ? setenv(names[j], values[j], 1) : unsetenv(names[j]), 0);
        assert_int_equal(utf_is_locale(), cases[i].is_utf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoding), cmocka_unit_test(test_widths),
        cmocka_unit_test(test_cutting),  cmocka_unit_test(test_bars),
        cmocka_unit_test(test_locales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
