/* Validates UTF-8 by the table of well-formed byte sequences (Unicode standard, table 3-7).
 *
 * After four leading bytes the second byte has a narrower range: E0 and F0 (no overlong forms), ED
 * (no surrogates), F4 (nothing above U+10FFFF). */
#include "base/utf8.h"

#include <string.h>

enum { EXCERPT_SIZE = 60 };

size_t utf8_character_size(const char *text, size_t left)
{
    const unsigned char *const p = (const unsigned char *)text;
    const unsigned char lead = p[0];
    if (lead < 0x80)
        return lead != 0;
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    const size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (left < size)
        return 0;
    const unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

uint32_t utf8_code(const char *text, size_t size)
{
    const unsigned char *const p = (const unsigned char *)text;
    if (size == 1)
        return p[0];
    uint32_t code = p[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++)
        code = code << 6 | (p[i] & 0x3f);
    return code;
}

bool utf8_is_text(const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        const size_t step = utf8_character_size(text + i, size - i);
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool utf8_is_token(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (is_space(text[i]))
            return false;
    return size > 0 && utf8_is_text(text, size);
}

bool utf8_next_word(const char *text, size_t size, size_t *position, const char **word,
                    size_t *word_size)
{
    size_t i = *position;
    while (i < size && is_space(text[i]))
        i++;
    const size_t start = i;
    while (i < size && !is_space(text[i]))
        i++;
    *position = i;
    if (i == start)
        return false;
    *word = text + start;
    *word_size = i - start;
    return true;
}

int utf8_excerpt(const char *text, size_t size)
{
    if (size <= EXCERPT_SIZE)
        return (int)size;
    int end = EXCERPT_SIZE;
    while (end > EXCERPT_SIZE - 4 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}
