/* Writes JSON strings. The output is always valid UTF-8, so that every JSON reader accepts it; a
 * text with other bytes does not read back to the same bytes. */
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "sbeam/format.h"

enum { LONGEST_ESCAPE = 6, QUOTES = 2 }; /* bytes: \u00XX, and one quote at each end */

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Writes the escape of a character that a JSON string cannot hold. Returns the end. */
static char *put_escape(char *p, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    *p++ = '\\';
    switch (c) {
    case '"':
    case '\\': *p++ = (char)c; break;
    case '\n': *p++ = 'n'; break;
    case '\r': *p++ = 'r'; break;
    case '\t': *p++ = 't'; break;
    default:
        memcpy(p, "u00", 3);
        p[3] = hex[c >> 4];
        p[4] = hex[c & 15];
        p += 5;
    }
    return p;
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
            const size_t written = n > 0 ? n : sizeof replacement - 1;
            memcpy(p, n > 0 ? text + i : replacement, written);
            p += written;
            i += n > 0 ? n : 1;
        }
    }
    *p++ = '"';
    return (size_t)(p - quoted);
}
