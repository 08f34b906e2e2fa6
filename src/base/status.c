#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

/* A message may quote a file or an input: control characters in it must not reach a terminal, and a
 * character cut in two at the end of the buffer must not leave half of itself. */
static void make_printable(char *text)
{
    unsigned char *p = (unsigned char *)text;
    for (; *p != '\0'; p++)
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
    unsigned char *lead = p;
    while (lead > (unsigned char *)text && (lead[-1] & 0xc0) == 0x80)
        lead--;
    if (lead == (unsigned char *)text || lead[-1] < 0xc0)
        return;
    lead--;
    const long size = *lead >= 0xf0 ? 4 : *lead >= 0xe0 ? 3 : 2;
    if (p - lead < size)
        *lead = '\0';
}

sb_status status_fail(sb_error *err, sb_status status, const char *format, ...)
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
