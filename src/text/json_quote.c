/* Writes JSON strings. The output is always valid UTF-8, so that every JSON reader accepts it; a
 * text with other bytes does not read back to the same bytes. Characters that could do harm on a
 * terminal are escaped: the escape reads back to the same character. */
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "sbeam/format.h"

enum { LONGEST_ESCAPE = 6, QUOTES = 2 }; /* bytes: \uXXXX, and one quote at each end */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Writes the escape of a character, which is a surrogate pair above U+FFFF. Returns the end. */
static char *put_escape(char *p, uint32_t code)
{
    static const char names[] = "\"\\nrt", meanings[] = "\"\\\n\r\t";
    const char *const known = code > 0 && code < 0x80 ? strchr(meanings, (int)code) : NULL;
    if (known != NULL)
        return p + utf8_escape(p, names[known - meanings], 0, 0);
    if (code <= 0xffff)
        return p + utf8_escape(p, 'u', code, 4);
    p += utf8_escape(p, 'u', 0xd800 + ((code - 0x10000) >> 10), 4);
    return p + utf8_escape(p, 'u', 0xdc00 + (code & 0x3ff), 4);
}

size_t sb_json_quoted_size(size_t size)
{
    /* SIZE_MAX is more than any memory has room for. */
    return size > (SIZE_MAX - QUOTES) / LONGEST_ESCAPE ? SIZE_MAX : LONGEST_ESCAPE * size + QUOTES;
}

size_t sb_json_quote(char *quoted, const char *text, size_t size)
{
    char *p = quoted;
    *p++ = '"';
    for (size_t i = 0; i < size;) {
        const unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
            p = put_escape(p, c);
            i++;
        } else if (c < 0x80) {
            *p++ = (char)c;
            i++;
        } else {
            const size_t n = utf8_character_size(text + i, size - i);
            const uint32_t code = n > 0 ? utf8_code(text + i, n) : 0xfffd;
            if (!utf8_is_visible(code)) {
                p = put_escape(p, code);
            } else {
                const size_t written = n > 0 ? n : sizeof replacement - 1;
                memcpy(p, n > 0 ? text + i : replacement, written);
                p += written;
            }
            i += n > 0 ? n : 1;
        }
    }
    *p++ = '"';
    return (size_t)(p - quoted);
}
