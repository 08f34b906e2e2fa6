/* See words.h. */
#include "text/words.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"

sb_status words_encode(const char *text, size_t size, words_find_fn find, const void *user,
                       const char *what, int32_t **ids, int32_t *n_ids, sb_error *err)
{
    int32_t *found = NULL;
    size_t n = 0, capacity = 0, position = 0, word_size;
    const char *word;
    sb_status status = alloc_reserve(&found, &capacity, 1, sizeof *found);
    while (status == SB_OK && utf8_next_word(text, size, &position, &word, &word_size)) {
        const int32_t id = find(user, word, word_size);
        if (id < 0) {
            alloc_free(found);
            if (status_refuse_zero("the text", text, position, err) != SB_OK)
                return SB_ERR_INPUT;
            return status_fail(err, SB_ERR_INPUT, "the model has no %s '%.*s'", what,
                               utf8_excerpt(word, word_size), word);
        }
        found[n++] = id;
        status =
            n < INT32_MAX ? alloc_reserve(&found, &capacity, n + 1, sizeof *found) : SB_ERR_MEMORY;
    }
    if (status != SB_OK) {
        alloc_free(found);
        return status_no_memory(err);
    }
    *ids = found;
    *n_ids = (int32_t)n;
    return SB_OK;
}
