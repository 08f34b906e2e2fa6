/* The tokenisers of sacreBLEU. They are regular expressions there, and passes over the text here.
 *
 * A pass reads one buffer and writes the other, which may become three times as large: at most a
 * pass adds a blank on each side of every byte. It copies the bytes that it does not look for. Two
 * things are part of the result: the order of the passes, and that a pass never looks again at what
 * it has consumed. For example, the second dot of "a..b" is left to the next pass.
 *
 * 13a looks only at ASCII, so it works on bytes. The bytes of other characters match only "not a
 * digit", and it makes no difference which byte of a character does. */
#include "metric/tokenize.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "text/unicode.h"

#define TOKENIZE_NAME(id, name) [SB_TOKENIZER_##id] = name,

static const char *const names[] = {TOKENIZERS(TOKENIZE_NAME)};

const char *sb_tokenizer_name(sb_tokenizer tokenizer)
{
    return (size_t)tokenizer < sizeof names / sizeof names[0] ? names[tokenizer] : NULL;
}

sb_status tokenize_check(sb_tokenizer tokenizer, sb_error *err)
{
    if (sb_tokenizer_name(tokenizer) == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "tokenizer is %d; expected one of sb_tokenizer",
                           (int)tokenizer);
    if (tokenizer == SB_TOKENIZER_INTL && !unicode_is_present())
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "the tokenizer intl needs utf8proc, but sbeam was built without it; install it "
            "(scripts/setup) and build without -Dutf8proc=disabled");
    return SB_OK;
}

void tokenize_free(tokenize_text *text)
{
    alloc_free(text->data);
    *text = (tokenize_text){0};
}

sb_status tokenize_reserve(tokenize_text *out, size_t size)
{
    if (size > (SIZE_MAX - 3) / 3)
        return SB_ERR_MEMORY;
    out->size = 0;
    return alloc_reserve(&out->data, &out->capacity, 3 * size + 3, 1);
}

void tokenize_put(tokenize_text *out, const char *bytes, size_t n)
{
    assert(n <= out->capacity - out->size);
    for (size_t i = 0; i < n; i++) /* a character: too few bytes for a call of memcpy to pay */
        out->data[out->size + i] = bytes[i];
    out->size += n;
}

static void put_byte(tokenize_text *out, char c)
{
    assert(out->size < out->capacity);
    out->data[out->size++] = c;
}

/* Returns whether Python calls a character white space, as in str.split() and str.rstrip(). */
static bool is_space(uint32_t code)
{
    if (code < 0x80)
        return code == ' ' || (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f);
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

/* Copies the text without the white space at its end. Each zero byte and each byte that is not
 * UTF-8 becomes U+FFFD. */
static sb_status copy_text(const char *text, size_t size, tokenize_text *out)
{
    if (tokenize_reserve(out, size) != SB_OK)
        return SB_ERR_MEMORY;
    size_t end = 0; /* the end of the last character that is not white space */
    for (size_t i = 0; i < size;) {
        const size_t n = utf8_character_size(text + i, size - i);
        if (n == 0)
            tokenize_put(out, "\xef\xbf\xbd", 3);
        else
            tokenize_put(out, text + i, n);
        if (n == 0 || !is_space(utf8_code(text + i, n)))
            end = out->size;
        i += n == 0 ? 1 : n;
    }
    out->size = end;
    return SB_OK;
}

/* Replaces a string, in place, by one that is not longer. */
static void replace(tokenize_text *text, const char *from, const char *to)
{
    const size_t from_size = strlen(from), to_size = strlen(to);
    assert(to_size <= from_size);
    if (text->size == 0 || memchr(text->data, from[0], text->size) == NULL)
        return; /* most texts have none of these */
    size_t out = 0;
    for (size_t i = 0; i < text->size;) {
        if (text->size - i >= from_size && memcmp(text->data + i, from, from_size) == 0) {
            memcpy(text->data + out, to, to_size);
            out += to_size;
            i += from_size;
        } else {
            text->data[out++] = text->data[i++];
        }
    }
    text->size = out;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_point(char c)
{
    return c == '.' || c == ',';
}

/* Returns whether a byte is ASCII punctuation, except for ' , - and . which have their own rules or
 * none. */
static bool is_separated(char c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* Puts a blank at both ends of the line and on both sides of punctuation. */
static void separate_punctuation(const tokenize_text *in, tokenize_text *out)
{
    put_byte(out, ' ');
    for (size_t i = 0; i < in->size; i++) {
        const bool is_apart = is_separated(in->data[i]);
        if (is_apart)
            put_byte(out, ' ');
        put_byte(out, in->data[i]);
        if (is_apart)
            put_byte(out, ' ');
    }
    put_byte(out, ' ');
}

/* Separates a point or comma that follows something other than a digit: "a.b" becomes "a . b". */
static void separate_after_other(const tokenize_text *in, tokenize_text *out)
{
    for (size_t i = 0; i < in->size; i++) {
        put_byte(out, in->data[i]);
        if (i + 1 < in->size && !is_digit(in->data[i]) && is_point(in->data[i + 1])) {
            put_byte(out, ' ');
            put_byte(out, in->data[++i]);
            put_byte(out, ' ');
        }
    }
}

/* Separates a point or comma before something other than a digit: "5.b" becomes "5 . b". */
static void separate_before_other(const tokenize_text *in, tokenize_text *out)
{
    for (size_t i = 0; i < in->size; i++) {
        if (i + 1 < in->size && is_point(in->data[i]) && !is_digit(in->data[i + 1])) {
            put_byte(out, ' ');
            put_byte(out, in->data[i++]);
            put_byte(out, ' ');
        }
        put_byte(out, in->data[i]);
    }
}

/* Separates a dash after a digit: "5-b" becomes "5 - b". */
static void separate_dash(const tokenize_text *in, tokenize_text *out)
{
    for (size_t i = 0; i < in->size; i++) {
        put_byte(out, in->data[i]);
        if (i + 1 < in->size && is_digit(in->data[i]) && in->data[i + 1] == '-') {
            put_byte(out, ' ');
            put_byte(out, in->data[++i]);
            put_byte(out, ' ');
        }
    }
}

static sb_status tokenize_13a(tokenize_text *text, tokenize_text *spare)
{
    static void (*const passes[])(const tokenize_text *in, tokenize_text *out) = {
        separate_punctuation, separate_after_other, separate_before_other, separate_dash};
    replace(text, "<skipped>", "");
    replace(text, "-\n", "");
    replace(text, "\n", " ");
    replace(text, "&quot;", "\"");
    replace(text, "&amp;", "&");
    replace(text, "&lt;", "<");
    replace(text, "&gt;", ">");
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        if (tokenize_reserve(spare, text->size) != SB_OK)
            return SB_ERR_MEMORY;
        passes[i](text, spare);
        const tokenize_text swapped = *text;
        *text = *spare;
        *spare = swapped;
    }
    return SB_OK;
}

/* Replaces white space by one blank, and separates all characters if `apart`. */
static sb_status join_words(const tokenize_text *in, bool apart, tokenize_text *out)
{
    if (tokenize_reserve(out, in->size) != SB_OK)
        return SB_ERR_MEMORY;
    bool is_due = false; /* whether a blank comes before the next character */
    for (size_t i = 0; i < in->size;) {
        const size_t n = utf8_character_size(in->data + i, in->size - i);
        if (is_space(utf8_code(in->data + i, n))) {
            is_due = out->size > 0;
        } else {
            if (is_due)
                put_byte(out, ' ');
            tokenize_put(out, in->data + i, n);
            is_due = apart;
        }
        i += n;
    }
    return SB_OK;
}

sb_status tokenize(sb_tokenizer tokenizer, const char *text, size_t size, tokenize_text *out,
                   sb_error *err)
{
    tokenize_text spare = {0};
    sb_status status = tokenize_check(tokenizer, err);
    if (status != SB_OK)
        return status;
    if (text == NULL && size > 0)
        return status_fail(err, SB_ERR_ARGUMENT, "a text of %zu bytes is NULL", size);
    status = copy_text(text, size, &spare);
    if (status == SB_OK && tokenizer == SB_TOKENIZER_13A)
        status = tokenize_13a(&spare, out);
    if (status == SB_OK && tokenizer == SB_TOKENIZER_INTL)
        status = tokenize_intl(&spare, out);
    if (status == SB_OK)
        status = join_words(&spare, tokenizer == SB_TOKENIZER_CHAR, out);
    tokenize_free(&spare);
    return status == SB_OK ? SB_OK : status_no_memory(err);
}

sb_status sb_tokenize(sb_tokenizer tokenizer, const char *text, size_t size, char **tokens,
                      sb_error *err)
{
    if (tokens == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_tokenize: tokens is NULL");
    tokenize_text out = {0};
    const sb_status status = tokenize(tokenizer, text, size, &out, err);
    if (status != SB_OK) {
        tokenize_free(&out);
        return status;
    }
    out.data[out.size] = '\0'; /* join_words reserved more than it could fill */
    *tokens = out.data;
    return SB_OK;
}
