/* Tests the JSON reader: accepted and refused texts, numbers, lines and keys, access to values,
 * failing memory. tests/json_reference.py compares the reader with Python's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "json_text.h"
#include "text/json.h"

static json_value *parse(const char *text, size_t size)
{
    json_value *root = NULL;
    sb_error err = {.message = ""};
    if (json_line_parse(&root, text, size, "", &err) != SB_OK)
        fail_msg("%.*s: %s", (int)size, text, err.message);
    return root;
}

static void check_canonical(const char *text, const char *expected)
{
    char *found;
    size_t size;
    json_value *const root = parse(text, strlen(text));
    FILE *const to = open_memstream(&found, &size);
    assert_non_null(to);
    json_text_write_canonical(to, root);
    fclose(to);
    assert_string_equal(found, expected);
    free(found);
    json_close(root);
}

static void test_accepted(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{}", "{}"},
        {" [ ] ", "[]"},
        {"\r\n\t[\n]\t", "[]"},
        {"[true,false,null]", "[true,false,null]"},
        {"{ \"a\" : [ 1 , { } ] , \"b\" : \"\" }", "{\"a\":[1,{}],\"b\":\"\"}"},
        {"[0,-0,-1,10,9223372036854775807,-9223372036854775808]",
         "[0,0,-1,10,9223372036854775807,-9223372036854775808]"},
        {"[0.0,-0.0,1e0,1E+0,10e-1]", "[r0000000000000000,r8000000000000000,r3ff0000000000000,"
                                      "r3ff0000000000000,r3ff0000000000000]"},
        {"[1e-999,-1e-999,5e-324,1.7976931348623157e308]",
         "[r0000000000000000,r8000000000000000,r0000000000000001,r7fefffffffffffff]"},
        {"[0.1,123456789012345678901234567890e0,9007199254740993.0]",
         "[r3fb999999999999a,r45f8ee90ff6c373e,r4340000000000000]"},
        {"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\"\\\\/\\u0008\\u000c\\n\\r\\t\"]"},
        {"[\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\"]",
         "[\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]"},
        {"[\"\\ud800\\udc00\\udbff\\udfff\\uffff\"]",
         "[\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbf\"]"},
        {"[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"]",
         "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\u007f\"]"},
        {"[\"\\u0000\"]", "[\"\\u0000\"]"},
        {"{\"\":0,\"\\u0061\":1,\"A\":2}", "{\"\":0,\"a\":1,\"A\":2}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_canonical(cases[i][0], cases[i][1]);
}

static const struct {
    const char *text, *message;
} refusals[] = {
    {"", "expected '{' or '[', found the end of the text"},
    {" ", "expected '{' or '[', found the end of the text"},
    {"1", "expected '{' or '[', found '1'"},
    {"\"a\"", "expected '{' or '[', found '\"a\"'"},
    {"null", "expected '{' or '[', found 'null'"},
    {"\xef\xbb\xbf{}", "expected '{' or '['"},
    {"[", "expected a value, found the end of the text"},
    {"[1", "expected ',' or ']', found the end of the text"},
    {"[1,", "expected a value, found the end of the text"},
    {"[1,]", "expected a value, found ']'"},
    {"[,1]", "expected a value, found ',1]'"},
    {"[1 2]", "expected ',' or ']', found '2]'"},
    {"[1}", "expected ',' or ']', found '}'"},
    {"]", "expected '{' or '[', found ']'"},
    {"[]]", "end of file expected, found ']'"},
    {"{} x", "end of file expected, found 'x'"},
    {"{} //", "end of file expected, found '//'"},
    {"{", "expected a key in quotes, found the end of the text"},
    {"{1:2}", "expected a key in quotes, found '1:2}'"},
    {"{a:2}", "expected a key in quotes, found 'a:2}'"},
    {"{'a':2}", "expected a key in quotes, found ''a':2}'"},
    {"{\"a\"}", "expected ':' after a key, found '}'"},
    {"{\"a\":}", "expected a value, found '}'"},
    {"{\"a\":1", "expected ',' or '}', found the end of the text"},
    {"{\"a\":1,}", "expected a key in quotes, found '}'"},
    {"{\"a\":1]", "expected ',' or '}', found ']'"},
    {"{\"a\":1,\"b\":2,\"a\":3}", "duplicate object key \"a\""},
    {"{\"a\":1,\"\\u0061\":3}", "duplicate object key \"a\""},
    {"{\"a\\u0000b\":1}", "NUL byte in object key"},
    {"[tru]", "expected a value, found 'tru]'"},
    {"[nul", "expected a value, found 'nul'"},
    {"[True]", "expected a value, found 'True]'"},
    {"[nulll]", "expected ',' or ']', found 'l]'"},
    {"[NaN]", "invalid token: expected a value, found 'NaN]'"},
    {"[Infinity]", "invalid token: expected a value, found 'Infinity]'"},
    {"[-Infinity]", "invalid token: expected a value, found '-Infinity]'"},
    {"[-]", "invalid token: expected a value, found '-]'"},
    {"[+1]", "invalid token: expected a value, found '+1]'"},
    {"[.5]", "invalid token: expected a value, found '.5]'"},
    {"[01]", "expected ',' or ']', found '1]'"},
    {"[-01]", "expected ',' or ']', found '1]'"},
    {"[0x1]", "expected ',' or ']', found 'x1]'"},
    {"[1.]", "expected a digit after the point, found '1.]'"},
    {"[1.e5]", "expected a digit after the point, found '1.e5]'"},
    {"[1e]", "expected a digit in the exponent, found '1e]'"},
    {"[1e+]", "expected a digit in the exponent, found '1e+]'"},
    {"[1,2", "expected ',' or ']', found the end of the text"},
    {"[1e309]", "real number overflow"},
    {"[-1e309]", "real number overflow"},
    {"[18446744073709551616]", "too big integer: expected at most 2^64 - 1"},
    {"[99999999999999999999999]", "too big integer"},
    {"[-9223372036854775809]", "too big negative integer: expected at least -2^63"},
    {"[\"a", "premature end of the text"},
    {"[\"a\\", "invalid escape"},
    {"[\"a\\\"", "premature end of the text"},
    {"[\"a\\u12", "expected four hexadecimal digits"},
    {"[\"a\nb\"]", "control character 0x0a in a string: expected the escape \\u000a"},
    {"[\"a\tb\"]", "control character 0x09 in a string"},
    {"[\"\\x41\"]", "invalid escape: expected one of"},
    {"[\"\\u00g0\"]", "expected four hexadecimal digits after \\u"},
    {"[\"\\u 123\"]", "expected four hexadecimal digits after \\u"},
    {"[\"\\ud800\"]", "expected both halves of a surrogate pair"},
    {"[\"\\udc00\"]", "expected both halves of a surrogate pair"},
    {"[\"\\ud800\\u0041\"]", "expected both halves of a surrogate pair"},
    {"[\"\\ud800\\ud800\"]", "expected both halves of a surrogate pair"},
    {"[\"\\ud800x\"]", "expected both halves of a surrogate pair"},
    {"[\"\x80\"]", "unable to decode byte 0x80"},
    {"[\"\xc0\x80\"]", "unable to decode byte 0xc0"},
    {"[\"\xed\xa0\x80\"]", "unable to decode byte 0xed"},
    {"[\"\xf4\x90\x80\x80\"]", "unable to decode byte 0xf4"},
    {"[\"\xe2\x82", "unable to decode byte 0xe2"},
    {"[\"\xe2\x82\"]", "unable to decode byte 0xe2"},
    {"[\xc3\xa9]", "expected a value, found '\xc3\xa9]'"},
};

static void check_refused(const char *text, size_t size, const char *message)
{
    json_value *root = NULL;
    sb_error err = {.message = ""};
    char expected[300];
    snprintf(expected, sizeof expected, "%s; and more", message);
    assert_int_equal(json_line_parse(&root, text, size, "; and more", &err), SB_ERR_INPUT);
    assert_null(root);
    if (strncmp(err.message, "invalid JSON: ", 14) != 0 || strstr(err.message, message) == NULL ||
        strstr(err.message, "; and more") == NULL)
        fail_msg("expected '%s', found '%s'", message, err.message);
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        check_refused(refusals[i].text, strlen(refusals[i].text), refusals[i].message);
    check_refused("[1\0]", 4, "expected ',' or ']', found ''");
    check_refused("{}\0", 3, "end of file expected");
    check_refused("[\"a\0b\"]", 7, "control character 0x00");
}

/* Every beginning of a text is refused, and none reads beyond its end. */
static void test_beginnings(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\":[1,-2.5e+3,true,false,null,\"\\u00e9\\ud83d\\ude00\xc3\xa9\"],\"b\":{\"c\":{}}}";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        char *const copy = malloc(size + 1); /* of this size, so that a sanitizer sees the end */
        json_value *root = NULL;
        assert_non_null(copy);
        memcpy(copy, text, size);
        assert_int_equal(json_line_parse(&root, copy, size, "", NULL), SB_ERR_INPUT);
        free(copy);
    }
    json_close(parse(text, sizeof text - 1));
}

static void test_access(void **state)
{
    (void)state;
    static const char text[] =
        "{\"i\":7,\n\"r\":2.5,\"s\":\"a\\u0000b\",\n\n\"t\":true,\"f\":false,"
        "\"n\":null,\"a\":[1,\n[2]],\"o\":{\"x\":1}}";
    json_value *const root = parse(text, sizeof text - 1);
    const json_value *const i = json_get(root, "i"), *const r = json_get(root, "r");
    const json_value *const s = json_get(root, "s"), *const a = json_get(root, "a");
    assert_true(json_is_object(root) && !json_is_array(root) && json_n_members(root) == 8);
    assert_true(json_is_integer(i) && json_is_number(i) && json_integer(i) == 7);
    assert_true(json_number(i) == 7 && json_number(r) == 2.5 && json_integer(r) == 0);
    assert_true(!json_is_integer(r) && json_is_number(r) && !json_is_string(r));
    assert_true(json_text_size(s) == 3 && memcmp(json_text(s), "a\0b", 4) == 0);
    assert_true(json_is_true(json_get(root, "t")) && json_is_boolean(json_get(root, "f")));
    assert_true(!json_is_true(json_get(root, "f")) && json_is_null(json_get(root, "n")));
    assert_true(json_is_array(a) && json_n_items(a) == 2 && json_n_members(a) == 0);
    assert_true(json_integer(json_item(a, 0)) == 1 && json_item(a, 2) == NULL);
    assert_true(json_item(root, 0) == NULL && json_n_items(root) == 0);
    assert_true(json_get(root, "") == NULL && json_get(a, "x") == NULL && json_get(i, "x") == NULL);
    assert_string_equal(json_key(root, 7), "o");
    assert_true(json_member(root, 7) == json_get(root, "o") && json_member(root, 8) == NULL);
    assert_true(json_key(root, 8) == NULL && json_key(a, 0) == NULL);
    assert_true(json_line(root) == 1 && json_line(s) == 2 && json_line(a) == 4);
    assert_true(json_line(json_item(a, 1)) == 5);
    assert_true(!json_is_object(NULL) && !json_is_null(NULL) && !json_is_number(NULL));
    assert_true(json_text(NULL) == NULL && json_text(i) == NULL && json_text_size(i) == 0);
    assert_true(json_n_items(NULL) == 0 && json_n_members(NULL) == 0 &&
                json_get(NULL, "a") == NULL);
    assert_true(json_integer(NULL) == 0 && json_number(s) == 0);
    json_close(root);
    json_close(NULL);
}

/* Returns n times `open`, then `middle`, then n times `close`. */
static char *nest(size_t n, const char *open, const char *middle, const char *close)
{
    char *const text = malloc(n * (strlen(open) + strlen(close)) + strlen(middle) + 1);
    assert_non_null(text);
    char *end = text;
    for (size_t i = 0; i < n; i++)
        end = (char *)memcpy(end, open, strlen(open)) + strlen(open);
    end = (char *)memcpy(end, middle, strlen(middle)) + strlen(middle);
    for (size_t i = 0; i < n; i++)
        end = (char *)memcpy(end, close, strlen(close)) + strlen(close);
    *end = '\0';
    return text;
}

static void test_depth(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        const char *open, *middle, *close;
        bool is_fine;
    } cases[] = {
        {2047, "[", "1", "]", true},       {2048, "[", "1", "]", false},
        {2048, "[", "", "]", true},        {2049, "[", "", "]", false},
        {2047, "{\"a\":", "1", "}", true}, {2048, "{\"a\":", "1", "}", false},
        {1000000, "[", "", "]", false},    {1000000, "[[],", "", "]", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *const text = nest(cases[i].n, cases[i].open, cases[i].middle, cases[i].close);
        json_value *root = NULL;
        sb_error err = {.message = ""};
        const sb_status status = json_line_parse(&root, text, strlen(text), "", &err);
        assert_int_equal(status, cases[i].is_fine ? SB_OK : SB_ERR_INPUT);
        if (!cases[i].is_fine)
            assert_string_equal(err.message, "the JSON is nested deeper than 2047 levels");
        json_close(root);
        free(text);
    }
}

/* Returns an object of n keys k0, k1, ...; if `last` is not NULL, it is one more key. */
static char *many_keys(size_t n, const char *last)
{
    char *text;
    size_t size;
    FILE *const to = open_memstream(&text, &size);
    assert_non_null(to);
    fputc('{', to);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s\"k%zu\":%zu", i > 0 ? ",\n" : "", i * 7919 % n, i);
    if (last != NULL)
        fprintf(to, ",\n\"%s\":0", last);
    fputc('}', to);
    fclose(to);
    return text;
}

/* Tests objects with about as many keys as are sorted first, and with a million. */
static void test_many_keys(void **state)
{
    (void)state;
    static const size_t numbers[] = {1, 2, 15, 16, 17, 18, 100, 1000003};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const size_t n = numbers[i];
        char *text = many_keys(n, NULL);
        json_value *const root = parse(text, strlen(text));
        assert_int_equal(json_n_members(root), n);
        for (size_t k = 0; k < n; k++) {
            char key[32];
            snprintf(key, sizeof key, "k%zu", k * 7919 % n);
            const json_value *const found = json_get(root, key);
            assert_true(found != NULL && found == json_member(root, k));
            assert_int_equal(json_integer(found), k);
        }
        assert_null(json_get(root, "k"));
        assert_null(json_get(root, "k-1"));
        json_close(root);
        free(text);
        json_doc doc;
        sb_error err;
        char message[80];
        text = many_keys(n, "k0");
        snprintf(message, sizeof message, "t:%zu: not valid JSON: duplicate object key \"k0\"",
                 n + 1);
        assert_int_equal(json_doc_parse(&doc, "t", text, strlen(text), &err), SB_ERR_FORMAT);
        assert_string_equal(err.message, message);
        free(text);
    }
}

/* A document is an object, and its strings have no zero bytes. */
static void test_documents(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\n[]", "t:2: expected a JSON object, found an array"},
        {"{\"a\":\n\"\\u0000\"}", "t:2: not valid JSON: NUL byte in a string"},
        {"{\n\n\"a\":1 \"b\"}", "t:3: not valid JSON: expected ',' or '}', found '\"b\"}'"},
        {"{\"a\":1,\n\"b\":{\"c\":1,\n\"c\":2}}",
         "t:3: not valid JSON: duplicate object key \"c\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_doc doc = {NULL, NULL};
        sb_error err = {.message = ""};
        assert_int_equal(json_doc_parse(&doc, "t", cases[i][0], strlen(cases[i][0]), &err),
                         SB_ERR_FORMAT);
        if (strstr(err.message, cases[i][1]) == NULL)
            fail_msg("expected '%s', found '%s'", cases[i][1], err.message);
        json_doc_close(&doc);
    }
}

/* Every allocation fails in turn, in a text that grows the stack, needs several blocks and sorts
 * keys. */
static void test_memory_failures(void **state)
{
    (void)state;
    char *const keys = many_keys(300, NULL);
    char *const text = nest(100, "[\"\\u0041\",", keys, ",{\"a\":1.5}]");
    long n = 0;
    do {
        json_value *root = NULL;
        json_doc doc = {NULL, NULL};
        alloc_fail_at(++n);
        sb_status status = json_line_parse(&root, text, strlen(text), "", NULL);
        if (status == SB_OK)
            status = json_doc_parse(&doc, "t", keys, strlen(keys), NULL);
        assert_int_equal(status, alloc_has_failed() ? SB_ERR_MEMORY : SB_OK);
        json_close(root);
        json_doc_close(&doc);
    } while (alloc_has_failed());
    alloc_fail_at(0);
    assert_true(n > 15);
    free(text);
    free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_beginnings), cmocka_unit_test(test_access),
        cmocka_unit_test(test_depth),      cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_documents),  cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
