/* A list of permitted outputs, for sb_config.allow.
 *
 *     sb_trie_open(&trie, tokens, ends, n_lines, &err);     or sb_trie_read, from a file
 *     config.allow = trie;
 *     ... draw ...
 *     sb_trie_close(trie);
 *
 * A line is one output: its token ids, without the end token. In a draw with such a list, a token
 * that continues no line has probability zero and the row is renormalised, so every sequence is a
 * line. This is a change of the model, and the draw is exact for the model that is changed in this
 * way. It is not the model's distribution given that the output is in the list (doc/methods.md).
 *
 * The end token is permitted exactly at the end of a line. In a model without an end token a
 * sequence ends at the end of its line, as a leaf, so no line may be the beginning of another.
 *
 * The lines are kept as a tree of their prefixes, with 8 bytes and a bit for each prefix. A list is
 * const once it is open, and threads may share it. */
#ifndef SBEAM_TRIE_H
#define SBEAM_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "sbeam/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sb_trie sb_trie;

/* Facts about a list. Lines are numbered from 1, in the order in which they were given; 0: none. */
typedef struct sb_trie_info {
    size_t n_lines;        /* different lines */
    size_t n_prefixes;     /* different prefixes of lines, the empty one included */
    size_t bytes;          /* memory */
    int32_t longest;       /* number of tokens of the longest line */
    size_t longest_line;   /* the first such line */
    int32_t largest_token; /* -1: the only line is empty */
    size_t largest_line;   /* a line with that token */
    size_t prefix_line;    /* a line that is the beginning of another line, */
    size_t extended_line;  /* and this other line */
    const char *id;        /* XXH64 checksum of the lines in 16 hexadecimal digits, the same for any
                            * order and number of repeats; records name the list by it */
} sb_trie_info;

/* Makes a list of n_lines >= 1 lines. Line i has the tokens tokens[ends[i - 1]] to tokens[ends[i] -
 * 1]; the first line begins at tokens[0]. A line may be empty; repeated lines count once. Ids are 0
 * or more; sb_decoder_open compares them with the vocabulary. Both arrays are the caller's and
 * not needed afterwards. On success *trie is the caller's to close. */
SB_API sb_status sb_trie_open(sb_trie **trie, const int32_t *tokens, const uint64_t *ends,
                              size_t n_lines, sb_error *err);

/* Makes a list of texts. Text i has sizes[i] bytes; sb_model_encode turns it into tokens. If the
 * model makes text from tokens itself, the tokens must give the same text again: any other text is
 * SB_ERR_INPUT, because no output could be this line. The message names the line. */
SB_API sb_status sb_trie_open_texts(sb_trie **trie, const sb_model *model, const char *const *texts,
                                    const size_t *sizes, size_t n_texts, sb_error *err);

/* Makes a list of the lines of a file, plain or gzip, as sb_trie_open_texts does. An empty line is
 * the empty output. A file without lines is SB_ERR_INPUT. The message begins with path:line. */
SB_API sb_status sb_trie_read(sb_trie **trie, const sb_model *model, const char *path,
                              sb_error *err);

/* Frees the list. No config that names it may be in use. Accepts NULL. */
SB_API void sb_trie_close(sb_trie *trie);

/* Returns the facts about a list. Never NULL; owned by the list. */
SB_API const sb_trie_info *sb_trie_get_info(const sb_trie *trie);

#ifdef __cplusplus
}
#endif
#endif
