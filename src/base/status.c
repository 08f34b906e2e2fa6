#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Returns the length of the valid, printable UTF-8 character at p, or 0 if there is none. */
static int printable_size(const unsigned char *p)
{
    if (*p < 0x80)
        return *p >= 0x20 && *p != 0x7f;
    if (*p < 0xc2 || *p > 0xf4)
        return 0;
    const int size = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
    for (int i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    const bool too_long = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
    const bool too_large = *p == 0xf4 && p[1] >= 0x90;
    const bool surrogate = *p == 0xed && p[1] >= 0xa0;
    const bool control = *p == 0xc2 && p[1] < 0xa0; /* C1: 0x9b starts escape sequences */
    return too_long || too_large || surrogate || control ? 0 : size;
}

/* Replaces each byte that is not part of a printable UTF-8 character by '?', because a message may
 * quote a file or an input and reach a terminal. A character that the end of the buffer has cut is
 * replaced, too. */
static void make_printable(char *text)
{
    unsigned char *p = (unsigned char *)text;
    while (*p != '\0') {
        const int size = printable_size(p);
        if (size == 0)
            *p = '?';
        p += size == 0 ? 1 : size;
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
