/* Reads the words of JSON. The text is followed by a zero byte, which no word contains, so reading
 * a word need not check for the end of the text.
 *
 * Strings are decoded in place, because no escape is shorter than what it stands for. */
#include "text/json_scan.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/utf8.h"

enum { EXCERPT_SIZE = 24 };

static const char expected_value[] = "invalid token: expected a value";

sb_status json_scan_fail(const json_scanner *s, const char *expected, const char *from)
{
    char *const to = s->problem->text;
    const size_t size = sizeof s->problem->text;
    s->problem->line = s->line;
    if (from >= s->end) {
        snprintf(to, size, "%s, found the end of the text", expected);
        return SB_ERR_FORMAT;
    }
    size_t n = 0;
    const size_t left = (size_t)(s->end - from);
    while (n < left && n < EXCERPT_SIZE && (unsigned char)from[n] > 0x20)
        n++;
    while (n > 0 && n < left && ((unsigned char)from[n] & 0xc0) == 0x80) /* whole characters */
        n--;
    snprintf(to, size, "%s, found '%.*s'", expected, n > 0 ? (int)n : 1, from);
    return SB_ERR_FORMAT;
}

/* Fails with a sentence that needs no excerpt. */
static sb_status fail_with(const json_scanner *s, const char *what)
{
    s->problem->line = s->line;
    snprintf(s->problem->text, sizeof s->problem->text, "%s", what);
    return SB_ERR_FORMAT;
}

void json_scan_blanks(json_scanner *s)
{
    for (;; s->at++) {
        if (*s->at == '\n')
            s->line++;
        else if (*s->at != ' ' && *s->at != '\t' && *s->at != '\r')
            return;
    }
}

/* Reads four hexadecimal digits. Returns -1 if there are fewer. */
static int32_t read_hex(const char *text)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        const char c = text[i]; /* the zero byte behind the text ends this */
        if (c >= '0' && c <= '9')
            code = code * 16 + (c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            code = code * 16 + (c & 7) + 9;
        else
            return -1;
    }
    return code;
}

/* Writes a code point of \u as UTF-8. Returns the end. */
static char *put_code(char *to, int32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Decodes \uXXXX, or two of them that make a surrogate pair, at s->at. */
static sb_status read_code(json_scanner *s, char **to, bool is_key)
{
    const char *const start = s->at;
    int32_t code = read_hex(start + 2);
    if (code < 0)
        return json_scan_fail(s, "invalid escape: expected four hexadecimal digits after \\u",
                              start);
    s->at += 6;
    if (code >= 0xd800 && code < 0xe000) {
        const int32_t low = s->at[0] == '\\' && s->at[1] == 'u' ? read_hex(s->at + 2) : -1;
        if (code >= 0xdc00 || low < 0xdc00 || low > 0xdfff)
            return json_scan_fail(s, "invalid Unicode: expected both halves of a surrogate pair",
                                  start);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        s->at += 6;
    }
    if (code == 0 && is_key)
        return fail_with(s, "NUL byte in object key (\\u0000)");
    if (code == 0 && !s->allow_zero)
        return fail_with(s, "NUL byte in a string (\\u0000)");
    *to = put_code(*to, code);
    return SB_OK;
}

/* Decodes the escape at s->at. */
static sb_status read_escape(json_scanner *s, char **to, bool is_key)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char name = s->at[1];
    if (name == 'u')
        return read_code(s, to, is_key);
    const char *const found = name != '\0' ? strchr(names, name) : NULL;
    if (found == NULL)
        return json_scan_fail(
            s, "invalid escape: expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u", s->at);
    *(*to)++ = meanings[found - names];
    s->at += 2;
    return SB_OK;
}

/* Moves on over bytes that stand for themselves, to a quote, a backslash or an error. */
static void skip_plain(json_scanner *s)
{
    for (size_t size;; s->at += size) {
        const unsigned char c = (unsigned char)*s->at;
        size = 1;
        if (c < 0x20 || c == '"' || c == '\\')
            return;
        if (c >= 0x80 && (size = utf8_character_size(s->at, (size_t)(s->end - s->at))) == 0)
            return;
    }
}

static sb_status fail_string(const json_scanner *s)
{
    char what[100];
    const unsigned char c = (unsigned char)*s->at;
    if (s->at == s->end)
        return fail_with(s, "premature end of the text: expected '\"' at the end of a string");
    if (c >= 0x80)
        snprintf(what, sizeof what, "unable to decode byte 0x%02x: expected UTF-8", c);
    else
        snprintf(what, sizeof what,
                 "control character 0x%02x in a string: expected the escape \\u%04x", c, c);
    return fail_with(s, what);
}

sb_status json_scan_string(json_scanner *s, bool is_key, json_value *value)
{
    char *const start = ++s->at;
    skip_plain(s);
    char *to = s->at;
    while (*s->at != '"') {
        if (*s->at != '\\')
            return fail_string(s);
        const sb_status status = read_escape(s, &to, is_key);
        if (status != SB_OK)
            return status;
        const char *const plain = s->at;
        skip_plain(s);
        memmove(to, plain, (size_t)(s->at - plain));
        to += s->at - plain;
    }
    s->at++;
    *to = '\0';
    *value = (json_value){.as.text = start, .size = (uint32_t)(to - start), .type = JSON_STRING};
    return SB_OK;
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Reads the digits of an integer. Returns false if it is outside -2^63 .. 2^64 - 1. */
static bool read_integer(const char *digits, const char *end, bool is_negative, json_value *value)
{
    const uint64_t most = is_negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;
    uint64_t n = 0;
    for (; digits < end; digits++) {
        const unsigned digit = (unsigned)(*digits - '0');
        if (n > (most - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    value->size = !is_negative && n > INT64_MAX;
    if (value->size > 0)
        value->as.large = n;
    else
        value->as.integer = is_negative ? -(int64_t)(n - (n > 0)) - (n > 0) : (int64_t)n;
    return true;
}

static sb_status read_number(json_scanner *s, json_value *value)
{
    const char *const start = s->at, *const digits = start + (*start == '-');
    const char *at = *digits == '0' ? digits + 1 : skip_digits(digits);
    if (at == digits)
        return json_scan_fail(s, expected_value, start);
    json_value found = {.type = JSON_INTEGER};
    const char *const whole_end = at;
    if (*at == '.') {
        const char *const fraction = at + 1;
        at = skip_digits(fraction);
        if (at == fraction)
            return json_scan_fail(s, "invalid token: expected a digit after the point", start);
        found.type = JSON_REAL;
    }
    if (*at == 'e' || *at == 'E') {
        const char *const exponent = at + 1 + (at[1] == '-' || at[1] == '+');
        at = skip_digits(exponent);
        if (at == exponent)
            return json_scan_fail(s, "invalid token: expected a digit in the exponent", start);
        found.type = JSON_REAL;
    }
    s->at += at - start;
    if (found.type == JSON_REAL) {
        if (!decimal_parse(start, (size_t)(at - start), &found.as.real))
            return json_scan_fail(
                s, "real number overflow: expected at most 1.7976931348623157e308", start);
    } else if (!read_integer(digits, whole_end, *start == '-', &found)) {
        return json_scan_fail(s,
                              *start == '-' ? "too big negative integer: expected at least -2^63"
                                            : "too big integer: expected at most 2^64 - 1",
                              start);
    }
    *value = found;
    return SB_OK;
}

/* Reads true, false or null. */
static sb_status read_word(json_scanner *s, const char *word, json_type type, json_value *value)
{
    const size_t size = strlen(word);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0)
        return json_scan_fail(s, expected_value, s->at);
    s->at += size;
    *value = (json_value){.type = type & 7u};
    return SB_OK;
}

sb_status json_scan_scalar(json_scanner *s, json_value *value)
{
    switch (*s->at) {
    case '"': return json_scan_string(s, false, value);
    case 't': return read_word(s, "true", JSON_TRUE, value);
    case 'f': return read_word(s, "false", JSON_FALSE, value);
    case 'n': return read_word(s, "null", JSON_NULL, value);
    default: return read_number(s, value);
    }
}
