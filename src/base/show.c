/* Shows any bytes as text that does no harm.
 *
 * A text from outside can hold characters that do something to the reader's screen instead of
 * appearing on it: control codes that move the cursor or rename the window, codes that turn the
 * direction of the text around, and characters without a width. The table lists them: the control
 * codes; the separators U+2028 and U+2029; the noncharacters U+FDD0..U+FDEF, U+FFFE and U+FFFF; all
 * characters that Unicode calls default-ignorable (DerivedCoreProperties), which a terminal does
 * not show; and the format controls of hieroglyphs. Three kinds are not in the table. The variation
 * selectors U+FE00..U+FE0F and the joiners U+200C and U+200D only change the shape of visible
 * characters; emoji, Persian and Indic scripts need them. Format characters that are visible, such
 * as the number signs of Arabic, do no harm. */
#include <string.h>

#include "base/utf8.h"
#include "sbeam/format.h"

typedef struct code_range {
    uint32_t first, last;
} code_range;

static const code_range hidden[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x061c, 0x061c},   {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200b},   {0x200e, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
    {0x3164, 0x3164},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

bool utf8_is_visible(uint32_t code)
{
    size_t low = 0, high = sizeof hidden / sizeof hidden[0];
    if (code >= 0x20 && code < 0x7f) /* most characters */
        return true;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code > hidden[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low == sizeof hidden / sizeof hidden[0] || code < hidden[low].first;
}

size_t utf8_escape(char *escape, char letter, uint32_t code, int n_digits)
{
    static const char digits[] = "0123456789abcdef";
    escape[0] = '\\';
    escape[1] = letter;
    for (int i = 0; i < n_digits; i++)
        escape[2 + i] = digits[code >> 4 * (n_digits - 1 - i) & 15];
    return (size_t)n_digits + 2;
}

size_t sb_character_show(const char *text, size_t size, char *shown, size_t *n_shown)
{
    const size_t n = utf8_character_size(text, size);
    const uint32_t code = n > 0 ? utf8_code(text, n) : (unsigned char)text[0];
    if (n > 0 && utf8_is_visible(code)) {
        memcpy(shown, text, n);
        *n_shown = n;
    } else if (code == '\n' || code == '\t' || code == '\r') {
        *n_shown = utf8_escape(shown, code == '\n' ? 'n' : code == '\t' ? 't' : 'r', 0, 0);
    } else if (n <= 1) { /* an ASCII control, or a byte that is not UTF-8 */
        *n_shown = utf8_escape(shown, 'x', code, 2);
    } else {
        *n_shown =
            code <= 0xffff ? utf8_escape(shown, 'u', code, 4) : utf8_escape(shown, 'U', code, 8);
    }
    return n > 0 ? n : 1;
}
