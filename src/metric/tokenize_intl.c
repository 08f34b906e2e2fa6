/* The tokeniser intl, by the classes of Unicode: separates punctuation from its neighbours unless
 * they are numbers, and symbols from everything. Unlike 13a it looks at whole characters, puts no
 * blanks around the line (so that a point after a number stays attached at the end of the line) and
 * does not replace entities. */
#include "base/utf8.h"
#include "metric/tokenize.h"
#include "text/unicode.h"

/* A character and its bytes in a text. */
typedef struct character {
    const char *bytes;
    size_t size;
    unicode_class kind;
} character;

static character look(const tokenize_text *text, size_t at)
{
    character found = {.bytes = text->data + at};
    found.size = utf8_character_size(found.bytes, text->size - at);
    found.kind = unicode_classify(utf8_code(found.bytes, found.size));
    return found;
}

static void put_apart(tokenize_text *out, const character *c)
{
    tokenize_put(out, " ", 1);
    tokenize_put(out, c->bytes, c->size);
    tokenize_put(out, " ", 1);
}

static void put_plain(tokenize_text *out, const character *c)
{
    tokenize_put(out, c->bytes, c->size);
}

/* Separates the punctuation of pairs: (not a number, punctuation) if `mark_second`, else
 * (punctuation, not a number). Consumes a pair that matches as a whole. */
static void separate_pairs(const tokenize_text *in, bool mark_second, tokenize_text *out)
{
    for (size_t i = 0; i < in->size;) {
        const character c = look(in, i);
        i += c.size;
        const character next = i < in->size ? look(in, i) : (character){0};
        const character *const mark = mark_second ? &next : &c;
        const character *const other = mark_second ? &c : &next;
        const bool matches =
            next.size > 0 && mark->kind == UNICODE_PUNCTUATION && other->kind != UNICODE_NUMBER;
        (matches && !mark_second ? put_apart : put_plain)(out, &c);
        if (!matches)
            continue;
        (mark_second ? put_apart : put_plain)(out, &next);
        i += next.size;
    }
}

static void separate_symbols(const tokenize_text *in, tokenize_text *out)
{
    for (size_t i = 0; i < in->size;) {
        const character c = look(in, i);
        (c.kind == UNICODE_SYMBOL ? put_apart : put_plain)(out, &c);
        i += c.size;
    }
}

sb_status tokenize_intl(tokenize_text *text, tokenize_text *spare)
{
    if (tokenize_reserve(spare, text->size) != SB_OK)
        return SB_ERR_MEMORY;
    separate_pairs(text, true, spare);
    if (tokenize_reserve(text, spare->size) != SB_OK)
        return SB_ERR_MEMORY;
    separate_pairs(spare, false, text);
    if (tokenize_reserve(spare, text->size) != SB_OK)
        return SB_ERR_MEMORY;
    separate_symbols(text, spare);
    const tokenize_text swapped = *text;
    *text = *spare;
    *spare = swapped;
    return SB_OK;
}
