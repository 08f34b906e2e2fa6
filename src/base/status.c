#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Returns the size of the printable character at p, or 0 if there is none. */
static size_t printable_size(const char *p, size_t left)
{
    const size_t size = utf8_character_size(p, left);
    const uint32_t code = size > 0 ? utf8_code(p, size) : 0;
    return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : size; /* 0x9b starts an escape */
}

/* Replaces each byte that is not part of a printable UTF-8 character by '?', because a message may
 * quote a file or an input and reach a terminal. A character that the end of the buffer has cut is
 * replaced, too. */
static void make_printable(char *text)
{
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = printable_size(text, left);
        if (size == 0) {
            *text = '?';
            size = 1;
        }
    }
}

sb_status sb_error_set(sb_error *err, sb_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    make_printable(err->message);
    err->status = status;
    return status;
}

sb_status status_no_memory(sb_error *err)
{
    return status_fail(err, SB_ERR_MEMORY, "not enough memory");
}

void status_name(char name[STATUS_NAME_SIZE], const char *path)
{
    enum { LONGEST = STATUS_NAME_SIZE - 4 }; /* "..." and the terminator */
    const size_t size = strlen(path);
    size_t skip = size > LONGEST ? size - LONGEST : 0;
    while (skip > 0 && ((unsigned char)path[skip] & 0xc0) == 0x80) /* keep characters whole */
        skip++;
    snprintf(name, STATUS_NAME_SIZE, "%s%s", skip > 0 ? "..." : "", path + skip);
}

const char *sb_status_name(sb_status status)
{
    switch (status) {
    case SB_OK: return "ok";
    case SB_ERR_ARGUMENT: return "argument";
    case SB_ERR_MEMORY: return "memory";
    case SB_ERR_IO: return "io";
    case SB_ERR_FORMAT: return "format";
    case SB_ERR_INPUT: return "input";
    case SB_ERR_MODEL: return "model";
    case SB_ERR_LIMIT: return "limit";
    case SB_ERR_STATE: return "state";
    case SB_ERR_STOPPED: return "stopped";
    }
    return "unknown";
}
