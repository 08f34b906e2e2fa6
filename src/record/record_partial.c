/* Recognises partial lines, so that readers of draws can skip them. */
#include <string.h>

#include "base/status.h"
#include "sbeam/record.h"
#include "text/json.h"

/* Returns whether the bytes have the key. Most lines do not, and need not be parsed. A text that
 * quotes the key has a backslash before the second quote. Every reader of records calls this for
 * each line, so it must be fast: if the byte where the key would end is not in the key, it skips as
 * many bytes as the key has (Horspool's algorithm). */
static bool has_key(const char *line, size_t size)
{
    static const char key[] = "\"partial\"";
    enum { SIZE = sizeof key - 1 };
    /* Distance from the last place of a byte in the key to its end; 0: not in the key. */
    static const unsigned char distance[256] = {
        ['"'] = SIZE - 1, ['p'] = 7, ['a'] = 2, ['r'] = 5, ['t'] = 4, ['i'] = 3, ['l'] = 1};
    size_t at = 0;
    while (at + SIZE <= size) {
        const unsigned char last = (unsigned char)line[at + SIZE - 1];
        if (last == '"' && memcmp(line + at, key, SIZE) == 0)
            return true;
        at += distance[last] > 0 ? distance[last] : SIZE;
    }
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
