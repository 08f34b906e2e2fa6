/* Texts as words, the way sacreBLEU's tokenisers leave them. */
#ifndef METRIC_TOKENIZE_H
#define METRIC_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/metric.h"

/* Bytes, well-formed UTF-8 without zero bytes. Starts as {0}. */
typedef struct tokenize_text {
    char *data;
    size_t size, capacity;
} tokenize_text;

/* Tokenises into out->data: words with one blank between them, none around, not terminated. `out`
 * may hold an earlier text, whose memory is used again; it is the caller's to free, on failure too.
 */
sb_status tokenize(sb_tokenizer tokenizer, const char *text, size_t size, tokenize_text *out,
                   sb_error *err);
void tokenize_free(tokenize_text *text);

/* SB_ERR_ARGUMENT for a tokeniser that is none, or that this build is without. */
sb_status tokenize_check(sb_tokenizer tokenizer, sb_error *err);

/* The pieces that tokenize_intl.c shares.
 *
 * Makes room for what a pass over `size` bytes can give: three times as many. */
sb_status tokenize_reserve(tokenize_text *out, size_t size);
/* Appends to reserved room. */
void tokenize_put(tokenize_text *out, const char *bytes, size_t n);
/* All of intl but the last step: *text is rewritten, with `spare` as the other buffer. */
sb_status tokenize_intl(tokenize_text *text, tokenize_text *spare);

#endif
