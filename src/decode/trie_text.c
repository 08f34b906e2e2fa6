/* Lists of permitted outputs from texts and files. */
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "decode/trie.h"
#include "text/lines.h"

/* The tokens of the lines so far, as sb_trie_open takes them. */
struct encoded {
    int32_t *tokens; /* (n_tokens) */
    size_t n_tokens, token_capacity;
    uint64_t *ends; /* (n) */
    size_t n, end_capacity;
};

static void encoded_close(struct encoded *encoded)
{
    alloc_free(encoded->tokens);
    alloc_free(encoded->ends);
}

/* Checks that the tokens of a line can be an output whose text is the line. */
static sb_status check_tokens(const sb_model *model, const char *line, size_t size,
                              const int32_t *tokens, int32_t n_tokens, sb_error *err)
{
    const int32_t eos = sb_model_get_info(model)->eos;
    for (int32_t i = 0; i < n_tokens; i++)
        if (tokens[i] == eos)
            return status_fail(err, SB_ERR_INPUT,
                               "the line holds the end token; expected lines without it, because "
                               "it is appended to each");
    if (!sb_model_has_own_text(model))
        return SB_OK;
    char *text;
    sb_status status = sb_model_decode(model, tokens, n_tokens, &text, err);
    if (status != SB_OK)
        return status;
    if (strlen(text) != size || memcmp(text, line, size) != 0)
        status =
            status_fail(err, SB_ERR_INPUT, "the model cannot spell '%.*s': it would write '%.100s'",
                        (int)(size < 100 ? size : 100), line, text);
    sb_free(text);
    return status;
}

static sb_status encoded_add(struct encoded *encoded, const sb_model *model, const char *line,
                             size_t size, sb_error *err)
{
    int32_t *tokens, n_tokens;
    sb_status status = sb_model_encode(model, line, size, &tokens, &n_tokens, err);
    if (status != SB_OK)
        return status;
    status = check_tokens(model, line, size, tokens, n_tokens, err);
    const size_t n = encoded->n_tokens + (size_t)n_tokens;
    if (status == SB_OK && (alloc_reserve(&encoded->tokens, &encoded->token_capacity, n + 1,
                                          sizeof(int32_t)) != SB_OK ||
                            alloc_reserve(&encoded->ends, &encoded->end_capacity, encoded->n + 1,
                                          sizeof(uint64_t)) != SB_OK))
        status = status_no_memory(err);
    if (status == SB_OK) {
        memcpy(encoded->tokens + encoded->n_tokens, tokens, (size_t)n_tokens * sizeof *tokens);
        encoded->n_tokens = n;
        encoded->ends[encoded->n++] = n;
    }
    sb_free(tokens);
    return status;
}

sb_status sb_trie_open_texts(sb_trie **trie, const sb_model *model, const char *const *texts,
                             const size_t *sizes, size_t n_texts, sb_error *err)
{
    if (trie == NULL || model == NULL || (n_texts > 0 && (texts == NULL || sizes == NULL)))
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_trie_open_texts: trie, model, texts or sizes is NULL");
    struct encoded encoded = {0};
    sb_status status = SB_OK;
    for (size_t i = 0; i < n_texts && status == SB_OK; i++) {
        sb_error problem;
        status = encoded_add(&encoded, model, texts[i], sizes[i], &problem);
        if (status != SB_OK)
            status = status_fail(err, status, "line %zu: %.400s", i + 1, problem.message);
    }
    if (status == SB_OK)
        status = sb_trie_open(trie, encoded.tokens, encoded.ends, encoded.n, err);
    encoded_close(&encoded);
    return status;
}

static sb_status read_lines(lines_reader *reader, const sb_model *model, struct encoded *encoded,
                            sb_error *err)
{
    const char *line;
    size_t size;
    sb_status status;
    while ((status = lines_next(reader, &line, &size, err)) == SB_OK && line != NULL) {
        sb_error problem;
        status = encoded_add(encoded, model, line, size, &problem);
        if (status != SB_OK)
            return status_fail(err, status, "%s:%zu: %.400s", lines_name(reader),
                               lines_number(reader), problem.message);
    }
    return status;
}

sb_status sb_trie_read(sb_trie **trie, const sb_model *model, const char *path, sb_error *err)
{
    if (trie == NULL || model == NULL || path == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_trie_read: trie, model or path is NULL");
    lines_reader *reader;
    sb_status status = lines_open(&reader, path, err);
    if (status != SB_OK)
        return status;
    struct encoded encoded = {0};
    status = read_lines(reader, model, &encoded, err);
    if (status == SB_OK && encoded.n == 0)
        status =
            status_fail(err, SB_ERR_INPUT, "%s has no lines; expected one permitted output a line",
                        lines_name(reader));
    lines_close(reader);
    if (status == SB_OK)
        status = sb_trie_open(trie, encoded.tokens, encoded.ends, encoded.n, err);
    encoded_close(&encoded);
    return status;
}
