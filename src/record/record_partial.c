/* Recognises partial lines, so that readers of draws can skip them. */
#include <string.h>

#include "base/status.h"
#include "sbeam/record.h"
#include "text/json.h"

/* Returns whether the bytes have the key. Most lines do not, and need not be parsed. A text that
 * quotes the key has a backslash before the second quote. */
static bool has_key(const char *line, size_t size)
{
    static const char key[] = "\"partial\"";
    const char *const end = line + size;
    for (const char *at = line; at != NULL && (size_t)(end - at) >= sizeof key - 1;
         at = memchr(at + 1, '"', (size_t)(end - at) - 1))
        if (memcmp(at, key, sizeof key - 1) == 0)
            return true;
    return false;
}

int sb_record_is_partial(const char *line, size_t size, sb_error *err)
{
    if (line == NULL) {
        status_fail(err, SB_ERR_ARGUMENT, "sb_record_is_partial: line is NULL");
        return -1;
    }
    if (!has_key(line, size))
        return 0;
    json_value *root = NULL;
    const sb_status status = json_line_parse(&root, line, size, "", NULL);
    const bool is_partial = json_is_true(json_get(root, "partial"));
    json_close(root);
    if (status != SB_ERR_MEMORY)
        return is_partial;
    status_no_memory(err);
    return -1;
}
