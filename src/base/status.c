#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sbeam/format.h"

enum { MESSAGE_SIZE = sizeof(((sb_error *)0)->message) };

/* Copies the text with the escapes of sb_character_show, because a message may quote a file or an
 * input. Characters at the end that do not fit are left out. */
static void copy_shown(char message[MESSAGE_SIZE], const char *text)
{
    size_t used = 0;
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        char shown[SB_SHOWN_SIZE];
        size_t n_shown;
        n = sb_character_show(text, left, shown, &n_shown);
        if (used + n_shown >= MESSAGE_SIZE)
            break;
        memcpy(message + used, shown, n_shown);
        used += n_shown;
    }
    message[used] = '\0';
}

sb_status sb_error_set(sb_error *err, sb_status status, const char *format, ...)
{
    if (err == NULL)
        return status;
    char text[MESSAGE_SIZE + 4]; /* so that a character that it cuts is beyond the message */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    copy_shown(err->message, text);
    err->status = status;
    return status;
}

sb_status status_no_memory(sb_error *err)
{
    return status_fail(err, SB_ERR_MEMORY, "not enough memory");
}

sb_status status_refuse_zero(const char *what, const char *text, size_t size, sb_error *err)
{
    const char *const zero = size > 0 ? memchr(text, '\0', size) : NULL;
    if (zero == NULL)
        return SB_OK;
    return status_fail(err, SB_ERR_INPUT,
                       "byte %zu of %s is a zero byte (NUL); expected text without zero bytes",
                       (size_t)(zero - text) + 1, what);
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
