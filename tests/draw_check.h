/* What the tests of drawing share: models made at random, drawing once, comparing results. */
#ifndef DRAW_CHECK_H
#define DRAW_CHECK_H

#include <stdint.h>

#include "sbeam/sbeam.h"

/* A random tree of at most `depth` levels, some tokens of probability zero. The caller closes it.
 */
sb_model *random_tree(uint64_t *generator, int depth);
/* A model of your own kind: float rows that are a hash of the path, `vocab` tokens, no EOS. */
sb_model *hash_model(int32_t vocab);
/* The same, taking at most so many rows at once. */
sb_model *narrow_hash_model(int32_t vocab, int32_t max_rows);
sb_model *open_json(const char *json);
/* Two tokens and EOS. Step 1: a .5, b .3, end .2; then after a: a .1, b .3, end .6; after b: a .45,
 * b .45, end .1. */
extern const char *const small_chain;

/* Default settings but for the method and k. */
sb_config config_of(sb_method method, int32_t k);

/* Draws, failing the test if that fails. The caller closes the result. */
sb_result *draw(const sb_model *model, const sb_config *config, uint64_t draw_number);

/* Fails the test unless the first n sequences are the same, bit for bit. */
void assert_same_sequences(const sb_result *a, const sb_result *b, int32_t n);
/* The same for two whole results. */
void assert_same_results(const sb_result *a, const sb_result *b);
/* The same but for log_p_draw. */
void assert_same_draws(const sb_result *a, const sb_result *b);

#endif
