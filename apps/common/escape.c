/* Unknown escapes are refused rather than kept, so that \r or \x0a is not taken for its letters. */
#include "common/escape.h"

#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/utf.h"

sb_status escape_undo(const char *text, char **plain, sb_error *err)
{
    static const char names[] = "nt\\", meanings[] = "\n\t\\";
    char *const copy = cli_realloc(NULL, strlen(text) + 1, 1);
    char *end = copy;
    for (; *text != '\0'; text++) {
        if (*text != '\\') {
            *end++ = *text;
            continue;
        }
        text++;
        const char *const known = *text != '\0' ? strchr(names, *text) : NULL;
        if (known == NULL) {
            uint32_t code;
            const size_t n = *text != '\0' ? utf_decode(text, strlen(text), &code) : 0;
            free(copy);
            return sb_error_set(err, SB_ERR_ARGUMENT,
                                "'\\%.*s' is not an escape; the escapes are \\n (newline), \\t "
                                "(tab) and \\\\ (backslash)",
                                (int)n, text);
        }
        *end++ = meanings[known - names];
    }
    *end = '\0';
    *plain = copy;
    return SB_OK;
}
