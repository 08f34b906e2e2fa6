/* The text of GGUF models, by llama.cpp's own tokeniser.
 *
 * The text of an output is the texts of its pieces, one after the other, without the prompt's; so
 * it may begin with a blank. A character that is split over two pieces is complete once both are
 * there. Special tokens that stand for no text are left out.
 *
 * In a prompt the name of a special token, such as </s>, is text unless the model is set to read
 * special tokens: text that is quoted in a prompt must not be able to end the prompt or to begin
 * another turn of a chat. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/gguf.h"
#include "text/words.h"

/* Longer than any context, but short enough that numbers of bytes and tokens fit an int32_t. */
enum { MOST_BYTES = 1 << 28 };

const char *gguf_token_text(const void *self, int32_t token)
{
    const gguf *const m = self;
    return llama_library.vocab_get_text(m->vocab, token);
}

/* Searches all tokens: few are ever looked up, so a table does not pay. */
int32_t gguf_find_token(const void *self, const char *text, size_t size)
{
    const gguf *const m = self;
    for (int32_t i = 0; i < m->n_vocab; i++) {
        const char *const known = llama_library.vocab_get_text(m->vocab, i);
        if (strlen(known) == size && memcmp(known, text, size) == 0)
            return i;
    }
    return -1;
}

typedef struct tokenising {
    const struct llama_vocab *vocab;
    const char *text;
    int32_t size;
    bool is_whole, has_special;
    int32_t *ids, room, n;
} tokenising;

static void call_tokeniser(void *argument)
{
    tokenising *const t = argument;
    t->n = llama_library.tokenize(t->vocab, t->text, t->size, t->ids, t->room, t->is_whole,
                                  t->has_special);
}

/* Tokenises text that is known to be UTF-8. If is_whole, the text is a prompt: adds the tokens that
 * the model puts before a text and, if the model is set to, reads the names of special tokens as
 * these tokens. In an output such names are always text, because special tokens have no text
 * there. */
static sb_status tokenise(const gguf *m, const char *text, size_t size, bool is_whole,
                          int32_t **ids, int32_t *n_ids, sb_error *err)
{
    tokenising t = {.vocab = m->vocab,
                    .text = text,
                    .size = (int32_t)size,
                    .is_whole = is_whole,
                    .has_special = is_whole && m->has_special};
    char words[GGUF_WORDS_SIZE] = "";
    /* A text rarely has more tokens than bytes and a few added ones. If it has, llama.cpp returns
     * minus the number of tokens. */
    t.n = -((int32_t)size + 8);
    while (t.n < 0 && t.n >= -2 * MOST_BYTES) {
        alloc_free(t.ids);
        t.room = -t.n;
        t.ids = alloc_array((size_t)t.room, sizeof *t.ids);
        if (t.ids == NULL)
            return status_no_memory(err);
        if (!gguf_try(call_tokeniser, &t, words) || (t.n < 0 && t.n >= -t.room))
            t.n = INT32_MIN;
    }
    if (t.n < 0) {
        alloc_free(t.ids);
        if (gguf_is_no_memory(words))
            return status_no_memory(err);
        return status_fail(err, SB_ERR_INPUT, "llama.cpp cannot tokenise this text%s%s",
                           words[0] != '\0' ? ": " : "", words);
    }
    /* An output continues the prompt, so the end token that some models put after a text is left
     * out. */
    if (is_whole && t.n > 0 && llama_library.vocab_get_add_eos(m->vocab) &&
        t.ids[t.n - 1] == llama_library.vocab_eos(m->vocab))
        t.n--;
    *ids = t.ids;
    *n_ids = t.n;
    return SB_OK;
}

static sb_status check_text(const char *text, size_t size, sb_error *err)
{
    if (size > MOST_BYTES)
        return status_fail(err, SB_ERR_INPUT, "%zu bytes; expected at most %d", size, MOST_BYTES);
    if (status_refuse_zero("the text", text, size, err) != SB_OK)
        return SB_ERR_INPUT;
    if (!utf8_is_text(text, size))
        return status_fail(err, SB_ERR_INPUT, "the text is not UTF-8; expected UTF-8");
    return SB_OK;
}

/* Writes the ids of words separated by blanks, after the start token if the model wants one. */
static sb_status encode_words(const gguf *m, const char *text, size_t size, int32_t **ids,
                              int32_t *n_ids, sb_error *err)
{
    int32_t n;
    const sb_status status = words_encode(text, size, gguf_find_token, m, "token", ids, &n, err);
    if (status != SB_OK)
        return status;
    if (llama_library.vocab_get_add_bos(m->vocab) && llama_library.vocab_bos(m->vocab) >= 0) {
        memmove(*ids + 1, *ids, (size_t)n * sizeof **ids); /* there is room for one more */
        (*ids)[0] = llama_library.vocab_bos(m->vocab);
        n++;
    }
    *n_ids = n;
    return SB_OK;
}

sb_status gguf_encode_prompt(const gguf *m, const char *text, size_t size, int32_t **ids,
                             int32_t *n_ids, sb_error *err)
{
    sb_status status = check_text(text, size, err);
    if (status != SB_OK)
        return status;
    int32_t *found, n;
    status = m->pretokenized ? encode_words(m, text, size, &found, &n, err)
                             : tokenise(m, text, size, true, &found, &n, err);
    if (status != SB_OK)
        return status;
    if (n == 0) {
        alloc_free(found);
        return status_fail(
            err, SB_ERR_INPUT,
            "the prompt has no tokens, and this model has no start token; give a prompt");
    }
    *ids = found;
    *n_ids = n;
    return SB_OK;
}

sb_status gguf_decode(const void *self, const int32_t *tokens, int32_t n_tokens, char **text,
                      sb_error *err)
{
    const gguf *const m = self;
    char *joined = NULL;
    size_t size = 0, capacity = 0;
    sb_status status = alloc_reserve(&joined, &capacity, 64, 1);
    for (int32_t i = 0; status == SB_OK && i < n_tokens; i++) {
        const int32_t room = capacity - size > INT32_MAX ? INT32_MAX : (int32_t)(capacity - size);
        int32_t n =
            llama_library.token_to_piece(m->vocab, tokens[i], joined + size, room, 0, false);
        if (n < 0) { /* minus the number of bytes that are needed */
            status = alloc_reserve(&joined, &capacity, size + (size_t)-n + 1, 1);
            if (status == SB_OK)
                n = llama_library.token_to_piece(m->vocab, tokens[i], joined + size, -n, 0, false);
        }
        for (int32_t j = 0; j < n; j++) /* a zero byte would end the text */
            if (joined[size + (size_t)j] == '\0')
                joined[size + (size_t)j] = '?';
        size += n > 0 ? (size_t)n : 0;
    }
    if (status == SB_OK)
        status = alloc_reserve(&joined, &capacity, size + 1, 1);
    if (status != SB_OK) {
        alloc_free(joined);
        return status_no_memory(err);
    }
    joined[size] = '\0';
    *text = joined;
    return SB_OK;
}

/* Tokenises `head` and `text` as one and gives the tokens whose text is `text`. *n_ids is -1 if
 * there are none, because a token spans the border between the two. */
static sb_status tokenise_after(const gguf *m, const char *head, const char *text, size_t size,
                                int32_t **ids, int32_t *n_ids, sb_error *err)
{
    const size_t head_size = strlen(head);
    char *const whole = alloc_array(head_size + size + 1, 1);
    if (whole == NULL)
        return status_no_memory(err);
    memcpy(whole, head, head_size);
    memcpy(whole + head_size, text, size);
    int32_t *found = NULL, n = 0;
    sb_status status = tokenise(m, whole, head_size + size, false, &found, &n, err);
    alloc_free(whole);
    *n_ids = -1;
    for (int32_t first = 0; status == SB_OK && first <= n && *n_ids < 0; first++) {
        char *back = NULL;
        status = gguf_decode(m, found + first, n - first, &back, err);
        if (status == SB_OK && strlen(back) == size && memcmp(back, text, size) == 0) {
            memmove(found, found + first, (size_t)(n - first) * sizeof *found);
            *n_ids = n - first;
        }
        const bool is_past = status == SB_OK && strlen(back) < size;
        alloc_free(back);
        if (is_past)
            break;
    }
    if (status != SB_OK || *n_ids < 0)
        alloc_free(found);
    else
        *ids = found;
    return status;
}

sb_status gguf_encode(const void *self, const char *text, size_t size, int32_t **tokens,
                      int32_t *n_tokens, sb_error *err)
{
    const gguf *const m = self;
    sb_status status = check_text(text, size, err);
    if (status != SB_OK)
        return status;
    /* An output continues a prompt, but some tokenisers put a blank before every text. After a line
     * end they do not. */
    int32_t n = -1;
    status = tokenise_after(m, "", text, size, tokens, &n, err);
    if (status == SB_OK && n < 0)
        status = tokenise_after(m, "\n", text, size, tokens, &n, err);
    if (status == SB_OK && n < 0)
        status =
            status_fail(err, SB_ERR_INPUT,
                        "no tokens of this model give exactly this text after a prompt; give the "
                        "token ids as \"tokens\" instead");
    if (status == SB_OK)
        *n_tokens = n;
    return status;
}
