/* Fuzzes the JSON reader. It refuses any bytes with a message, or every value can be reached, every
 * key leads to its value, and every number is finite. If an allocation fails, the result is the
 * same or SB_ERR_MEMORY. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "text/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

/* Returns the number of values in a value, including itself and keys. */
static size_t walk(const json_value *value, size_t line)
{
    size_t n = 1;
    const size_t n_items = json_n_items(value), n_members = json_n_members(value);
    require(value != NULL && json_line(value) >= line);
    for (size_t i = 0; i < n_items; i++)
        n += walk(json_item(value, i), json_line(value));
    for (size_t i = 0; i < n_members; i++) {
        const char *const key = json_key(value, i);
        require(utf8_is_text(key, strlen(key)));
        require(json_get(value, key) == json_member(value, i));
        n += 1 + walk(json_member(value, i), json_line(value));
    }
    require(json_item(value, n_items) == NULL && json_member(value, n_members) == NULL);
    if (json_is_string(value))
        require(json_text(value)[json_text_size(value)] == '\0');
    require(isfinite(json_number(value)));
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_value *root = NULL, *again = NULL;
    sb_error err = {.status = SB_OK};
    const char *const text = (const char *)data;
    const sb_status status = json_line_parse(&root, text, size, "", &err);
    if (status == SB_OK)
        require(walk(root, 1) <= size);
    else
        require(root == NULL && err.status == status && err.message[0] != '\0');
    alloc_fail_at(size > 0 ? 1 + data[size / 2] % 8 : 1);
    const sb_status other = json_line_parse(&again, text, size, "", NULL);
    require(other == (alloc_has_failed() ? SB_ERR_MEMORY : status));
    require((again != NULL) == (other == SB_OK));
    alloc_fail_at(0);
    json_close(again);
    json_close(root);
    return 0;
}
