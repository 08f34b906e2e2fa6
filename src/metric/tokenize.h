/* Splits texts into words as the tokenisers of sacreBLEU do. */
#ifndef METRIC_TOKENIZE_H
#define METRIC_TOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/metric.h"

/* Each tokeniser with its name, in the order of sb_tokenizer. */
#define TOKENIZERS(X) X(13A, "13a") X(INTL, "intl") X(CHAR, "char") X(NONE, "none")

#define TOKENIZE_CHOICE(id, name) "|" name
/* The names as choices of an option: "13a|intl|...", without the first bar. */
#define TOKENIZE_CHOICES (&(TOKENIZERS(TOKENIZE_CHOICE))[1])

/* Well-formed UTF-8 without zero bytes. Starts as {0}. */
typedef struct tokenize_text {
    char *data;
    size_t size, capacity;
} tokenize_text;

/* Tokenises into out->data: words with one blank between them and none around, not terminated.
 * `out` may hold an earlier text, whose memory is used again. The caller frees it, also after a
 * failure. */
sb_status tokenize(sb_tokenizer tokenizer, const char *text, size_t size, tokenize_text *out,
                   sb_error *err);
void tokenize_free(tokenize_text *text);

/* Fails with SB_ERR_ARGUMENT for a tokeniser that does not exist or that this build does not have.
 */
sb_status tokenize_check(sb_tokenizer tokenizer, sb_error *err);

/* The next three are for tokenize_intl.c.
 *
 * Makes room for the result of a pass over `size` bytes: three times as many. */
sb_status tokenize_reserve(tokenize_text *out, size_t size);
/* Appends to memory that has been reserved. */
void tokenize_put(tokenize_text *out, const char *bytes, size_t n);
/* Does all of intl except the last step: rewrites *text, with `spare` as the second buffer. */
sb_status tokenize_intl(tokenize_text *text, tokenize_text *spare);

#endif
