/* UTF-8 and display width.
 *
 * A character takes 0 columns if it is a combining mark or a variation selector, 2 if it is an East
 * Asian wide or full-width character or an emoji, else 1. Characters that the library escapes take
 * the columns of their escape. The tables hold blocks, not single characters; that is enough to
 * keep tables aligned. Numbers are read and written in the C
 * locale, so setlocale is never called; the environment variables say whether the terminal shows
 * Unicode. */
#include "common/utf.h"

#include <stdlib.h>
#include <string.h>

#include "sbeam/format.h"

typedef struct code_range {
    uint32_t first, last;
} code_range;

static const code_range zero_width[] = {
    {0x0300, 0x036f},   {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05bf}, {0x05c1, 0x05c2},
    {0x05c4, 0x05c5},   {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0670, 0x0670}, {0x06d6, 0x06dc},
    {0x06df, 0x06e4},   {0x06e7, 0x06e8}, {0x06ea, 0x06ed}, {0x0711, 0x0711}, {0x0730, 0x074a},
    {0x0900, 0x0902},   {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0951, 0x0957},
    {0x0981, 0x0981},   {0x09bc, 0x09bc}, {0x09c1, 0x09c4}, {0x09cd, 0x09cd}, {0x0e31, 0x0e31},
    {0x0e34, 0x0e3a},   {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200c, 0x200d},
    {0x20d0, 0x20f0},   {0x302a, 0x302d}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    {0x1f3fb, 0x1f3ff},
};

static const code_range double_width[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
    {0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x26bd, 0x26be},   {0x2705, 0x2705},
    {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},   {0x2753, 0x2755},
    {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6},   {0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004},
    {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
    {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca},
    {0x1f3e0, 0x1f3f0}, {0x1f3f8, 0x1f3fa}, {0x1f400, 0x1f4fc}, {0x1f4ff, 0x1f53d},
    {0x1f550, 0x1f567}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6d5, 0x1f6fc},
    {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

static bool is_in(uint32_t code, const code_range *ranges, size_t n)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && code >= ranges[low].first;
}

int utf_width(uint32_t code)
{
    if (code < 0x300)
        return 1;
    if (is_in(code, zero_width, sizeof zero_width / sizeof zero_width[0]))
        return 0;
    return is_in(code, double_width, sizeof double_width / sizeof double_width[0]) ? 2 : 1;
}

size_t utf_decode(const char *text, size_t size, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char c = (unsigned char)text[0];
    const size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    *code = UTF_BAD;
    if (n == 0 || n > size)
        return 1;
    uint32_t value = n == 1 ? c : c & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        const unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80)
            return 1;
        value = value << 6 | (next & 0x3f);
    }
    if (value < smallest[n] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 1;
    *code = value;
    return n;
}

size_t utf_cut(const char *text, size_t n)
{
    size_t end = n;
    while (end > 0 && n - end < 4 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    return end;
}

int utf_excerpt(const char *text)
{
    enum { LONGEST = 60 };
    const size_t size = strlen(text);
    return (int)(size <= LONGEST ? size : utf_cut(text, LONGEST));
}

/* One character as it is shown: its bytes and the columns it takes. */
typedef struct glyph {
    char shown[SB_SHOWN_SIZE];
    size_t n_shown, n_bytes; /* sizes in `shown` and in the text */
    size_t width;
} glyph;

static glyph next_glyph(const char *text, size_t size)
{
    glyph next;
    uint32_t code;
    next.n_bytes = sb_character_show(text, size, next.shown, &next.n_shown);
    utf_decode(next.shown, next.n_shown, &code);
    next.width = code < 0x80 ? next.n_shown : (size_t)utf_width(code); /* an escape is ASCII */
    return next;
}

size_t utf_text_width(const char *text, size_t size)
{
    size_t width = 0;
    for (size_t i = 0; i < size;) {
        const glyph next = next_glyph(text + i, size - i);
        width += next.width;
        i += next.n_bytes;
    }
    return width;
}

size_t utf_put_cut(output *out, const char *text, size_t size, size_t width, bool unicode)
{
    const size_t dots = unicode ? 1 : 3;
    const size_t start = out->size;
    size_t used = 0, kept = start, kept_width = 0; /* kept: how far the ellipsis still fits */
    for (size_t i = 0; i < size;) {
        const glyph next = next_glyph(text + i, size - i);
        if (used + next.width > width) {
            out->size = kept;
            if (kept_width + dots > width)
                return kept_width;
            output_text(out, unicode ? "\xe2\x80\xa6" : "...");
            return kept_width + dots;
        }
        output_bytes(out, next.shown, next.n_shown);
        used += next.width;
        i += next.n_bytes;
        if (used + dots <= width) {
            kept = out->size;
            kept_width = used;
        }
    }
    return used;
}

bool utf_is_locale(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || *value == '\0')
            continue;
        return strstr(value, "UTF-8") != NULL || strstr(value, "utf8") != NULL ||
               strstr(value, "utf-8") != NULL || strstr(value, "UTF8") != NULL;
    }
    return false;
}
