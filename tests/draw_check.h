/* Helpers for tests that draw: random models, one draw, comparing results. */
#ifndef DRAW_CHECK_H
#define DRAW_CHECK_H

#include <stdint.h>

#include "sbeam/sbeam.h"

/* Makes a random tree of at most `depth` levels, in which some tokens have probability zero. The
 * caller closes it. */
sb_model *random_tree(uint64_t *generator, int depth);
/* Makes a custom model: its float rows are a hash of the path, over `vocab` tokens without EOS. */
sb_model *hash_model(int32_t vocab);
/* Makes the same model, but with at most max_rows rows at once. */
sb_model *narrow_hash_model(int32_t vocab, int32_t max_rows);
sb_model *open_json(const char *json);
/* A chain of two tokens and EOS. Step 1: a .5, b .3, end .2; then after a: a .1, b .3, end .6;
 * after b: a .45, b .45, end .1. */
extern const char *const small_chain;

/* Returns the default settings with this method and k. */
sb_config config_of(sb_method method, int32_t k);

/* Draws once; a failure fails the test. The caller closes the result. */
sb_result *draw(const sb_model *model, const sb_config *config, uint64_t draw_number);

/* Fails the test unless the first n sequences are the same, bit for bit. */
void assert_same_sequences(const sb_result *a, const sb_result *b, int32_t n);
/* Does the same for two whole results. */
void assert_same_results(const sb_result *a, const sb_result *b);
/* Does the same for two whole results except for log_p_draw. */
void assert_same_draws(const sb_result *a, const sb_result *b);

/* Returns the number of different proper prefixes of the sequences, the root included. A sequence
 * that ends by EOS counts the prefix before EOS. No search can evaluate fewer. */
uint64_t count_prefixes(const sb_result *result);

#endif
