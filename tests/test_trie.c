/* Tests lists of permitted outputs: the tree of prefixes against the lines themselves, lines that
 * are refused, all methods and searches with a list, and failing memory. test_allow.c tests the
 * law. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "decode/cursor.h"
#include "decode/slot.h"
#include "decode/trie.h"
#include "draw_check.h"
#include "reference.h"

enum { MOST_LINES = 3000, MOST_TOKENS = 8 };

struct list {
    int32_t tokens[MOST_LINES * MOST_TOKENS];
    uint64_t ends[MOST_LINES];
    size_t n;
};

static void add_line(struct list *list, const int32_t *tokens, size_t n)
{
    const uint64_t begin = list->n > 0 ? list->ends[list->n - 1] : 0;
    if (n > 0)
        memcpy(list->tokens + begin, tokens, n * sizeof *tokens);
    list->ends[list->n++] = begin + n;
}

static const int32_t *line_of(const struct list *list, size_t i, size_t *n)
{
    const uint64_t begin = i > 0 ? list->ends[i - 1] : 0;
    *n = (size_t)(list->ends[i] - begin);
    return list->tokens + begin;
}

/* Random lines over `vocab` tokens, of `least` to `most` tokens. */
static void fill_list(struct list *list, size_t n, int32_t vocab, int least, int most,
                      uint64_t *generator)
{
    list->n = 0;
    while (list->n < n) {
        int32_t tokens[MOST_TOKENS];
        const int size = least + (int)((most - least + 1) * next_uniform(generator));
        for (int i = 0; i < size; i++)
            tokens[i] = (int32_t)(vocab * next_uniform(generator));
        add_line(list, tokens, (size_t)size);
    }
}

static sb_trie *open_list(const struct list *list)
{
    sb_trie *trie;
    sb_error err;
    if (sb_trie_open(&trie, list->tokens, list->ends, list->n, &err) != SB_OK)
        fail_msg("%s", err.message);
    return trie;
}

/* Returns whether the list has this line. */
static bool has_line(const struct list *list, const int32_t *tokens, size_t n)
{
    for (size_t i = 0; i < list->n; i++) {
        size_t size;
        const int32_t *const line = line_of(list, i, &size);
        if (size == n && memcmp(line, tokens, n * sizeof *tokens) == 0)
            return true;
    }
    return false;
}

/* --- the tree --- */

/* Visits all nodes below one. Each must have sorted children and, if it is complete, be a line. */
static void visit(const sb_trie *trie, const struct list *list, int32_t node, int32_t *tokens,
                  size_t depth, size_t *n_nodes, size_t *n_lines)
{
    const int32_t *const children = trie_children(trie, node);
    const int32_t n = trie_count_children(trie, node);
    assert_int_equal(trie_is_complete(trie, node), has_line(list, tokens, depth));
    assert_true(n > 0 || trie_is_complete(trie, node));
    *n_nodes += 1;
    *n_lines += trie_is_complete(trie, node);
    for (int32_t i = 0; i < n; i++) {
        assert_true(i == 0 || children[i - 1] < children[i]);
        const int32_t child = trie_find_child(trie, node, children[i]);
        assert_int_equal(child, trie->first_child[node] + i);
        tokens[depth] = children[i];
        visit(trie, list, child, tokens, depth + 1, n_nodes, n_lines);
    }
    assert_int_equal(trie_find_child(trie, node, 1000), -1);
}

static void trees_hold_their_lines(void **state)
{
    (void)state;
    static struct list list, shuffled;
    uint64_t generator = 1;
    for (int round = 0; round < 60; round++) {
        const size_t n = round < 20 ? 1 + (size_t)round : 200;
        fill_list(&list, n, 1 + round % 7, 0, round % (MOST_TOKENS + 1), &generator);
        sb_trie *const trie = open_list(&list);
        const sb_trie_info *const info = sb_trie_get_info(trie);
        int32_t tokens[MOST_TOKENS];
        size_t n_nodes = 0, n_lines = 0, longest = 0;
        visit(trie, &list, 0, tokens, 0, &n_nodes, &n_lines);
        assert_int_equal(n_nodes, info->n_prefixes);
        assert_int_equal(n_lines, info->n_lines);
        for (size_t i = 0; i < n; i++) {
            size_t size;
            const int32_t *const line = line_of(&list, i, &size);
            int32_t node = 0;
            for (size_t t = 0; t < size; t++)
                node = trie_find_child(trie, node, line[t]);
            assert_true(trie_is_complete(trie, node));
            longest = size > longest ? size : longest;
        }
        assert_int_equal(info->longest, longest);
        assert_true(info->bytes <= sizeof *trie + 9 * n_nodes + 64);
        /* Another order, and each line twice: the same list. */
        shuffled.n = 0;
        for (size_t i = 0; i < 2 * n; i++) {
            size_t size;
            const int32_t *const line = line_of(&list, (i * 7 + 3) % n, &size);
            add_line(&shuffled, line, size);
        }
        for (size_t i = 0; i < n; i++) {
            size_t size;
            const int32_t *const line = line_of(&list, i, &size);
            add_line(&shuffled, line, size);
        }
        sb_trie *const other = open_list(&shuffled);
        assert_string_equal(sb_trie_get_info(other)->id, info->id);
        sb_trie_close(other);
        sb_trie_close(trie);
    }
}

/* Lists that differ in one thing have other ids. */
static void ids_tell_lists_apart(void **state)
{
    (void)state;
    static const int32_t tokens[] = {0, 1, 2, 0, 1};
    static const uint64_t ends[][3] = {{2, 3, 5}, {2, 3, 4}, {1, 3, 5}, {0, 2, 2}, {2, 3, 3}};
    char ids[5][17];
    for (int i = 0; i < 5; i++) {
        sb_trie *trie;
        assert_int_equal(sb_trie_open(&trie, tokens, ends[i], 3, NULL), SB_OK);
        snprintf(ids[i], sizeof ids[i], "%s", sb_trie_get_info(trie)->id);
        sb_trie_close(trie);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(ids[i], ids[j]);
    }
}

static void facts_name_lines(void **state)
{
    (void)state;
    static const int32_t tokens[] = {4, 1, 4, 1, 9, 3, 2, 1};
    static const uint64_t ends[] = {2, 5, 5, 8, 8};
    sb_trie *trie;
    assert_int_equal(sb_trie_open(&trie, tokens, ends, 5, NULL), SB_OK);
    const sb_trie_info *info = sb_trie_get_info(trie);
    assert_int_equal(info->n_lines, 4); /* the empty line, "4 1", "4 1 9", "3 2 1" */
    assert_int_equal(info->longest, 3);
    assert_int_equal(info->longest_line, 2);
    assert_int_equal(info->largest_token, 9);
    assert_int_equal(info->largest_line, 2);
    assert_int_equal(info->prefix_line, 3); /* the empty line begins every line */
    sb_trie_close(trie);
    assert_int_equal(sb_trie_open(&trie, tokens, ends, 2, NULL), SB_OK);
    info = sb_trie_get_info(trie);
    assert_int_equal(info->prefix_line, 1);
    assert_int_equal(info->extended_line, 2);
    assert_true(trie_has_token(trie, 9) && !trie_has_token(trie, 3));
    sb_trie_close(trie);
    sb_trie_close(NULL);
}

static void bad_lists_are_refused(void **state)
{
    (void)state;
    static const int32_t tokens[] = {1, -2, 3};
    static const uint64_t ends[] = {2, 1}, wide[] = {(uint64_t)INT32_MAX + 1}, ok[] = {1};
    sb_trie *trie = NULL;
    sb_error err;
    assert_int_equal(sb_trie_open(&trie, tokens, ok, 0, &err), SB_ERR_INPUT);
    assert_non_null(strstr(err.message, "no lines"));
    assert_int_equal(sb_trie_open(&trie, tokens, ends, 1, &err), SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "line 1: the token id is -2"));
    assert_int_equal(sb_trie_open(&trie, tokens + 2, (const uint64_t[]){1, 0}, 2, &err),
                     SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "line 2 ends at 0"));
    /* No token is read before the ends are known to be in order. */
    assert_int_equal(sb_trie_open(&trie, NULL, (const uint64_t[]){1, 0}, 2, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_trie_open(&trie, tokens, (const uint64_t[]){2, 1}, 2, &err),
                     SB_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "line 2 ends at 1"));
    assert_int_equal(sb_trie_open(&trie, tokens, wide, 1, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_trie_open(NULL, tokens, ok, 1, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_trie_open(&trie, NULL, ok, 1, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_trie_open(&trie, tokens, NULL, 1, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_trie_open_texts(&trie, NULL, NULL, NULL, 0, &err), SB_ERR_ARGUMENT);
    assert_int_equal(sb_trie_read(&trie, NULL, "x", &err), SB_ERR_ARGUMENT);
    assert_null(trie);
}

/* --- drawing --- */

static sb_status open_decoder(const sb_trie *trie, int32_t eos, int32_t max_len, sb_error *err)
{
    const sb_decoder_spec spec = {.vocab_size = 6, .eos = eos, .max_slots = 1};
    sb_config config = config_of(SB_METHOD_SBS, 2);
    config.max_len = max_len;
    config.allow = trie;
    sb_decoder *decoder;
    const sb_status status = sb_decoder_open(&decoder, &spec, &config, err);
    if (status == SB_OK)
        sb_decoder_close(decoder);
    return status;
}

static void lines_must_be_outputs(void **state)
{
    (void)state;
    static const int32_t tokens[] = {3, 1, 2, 4, 4, 1, 0};
    static const struct {
        uint64_t ends[3];
        size_t n;
        int32_t eos, max_len;
        const char *message;
    } cases[] = {
        {{2, 5}, 2, 5, 9, NULL},
        {{2, 5}, 2, 5, 3, NULL}, /* a line of max-len tokens ends there */
        {{2, 5}, 2, 5, 2, "line 2 has 3 tokens; expected at most max-len, which is 2"},
        {{2, 5}, 2, 4, 9, "a line holds the end token, 4"},
        {{2, 5}, 2, -1, 9, NULL},
        {{2, 5, 5}, 3, 5, 9, NULL}, /* the empty output */
        {{2, 5, 5}, 3, -1, 9, "line 3 is the beginning of line 2"},
        {{0}, 1, 5, 9, NULL},
        {{0}, 1, -1, 9, "the only line is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sb_trie *trie;
        sb_error err;
        assert_int_equal(sb_trie_open(&trie, tokens, cases[i].ends, cases[i].n, &err), SB_OK);
        const sb_status status = open_decoder(trie, cases[i].eos, cases[i].max_len, &err);
        assert_int_equal(status, cases[i].message == NULL ? SB_OK : SB_ERR_INPUT);
        if (cases[i].message != NULL && strstr(err.message, cases[i].message) == NULL)
            fail_msg("%s", err.message);
        sb_trie_close(trie);
    }
    static const int32_t wide[] = {3, 6};
    static const uint64_t ends[] = {1, 2};
    sb_trie *trie;
    sb_error err;
    assert_int_equal(sb_trie_open(&trie, wide, ends, 2, &err), SB_OK);
    assert_int_equal(open_decoder(trie, -1, 9, &err), SB_ERR_INPUT);
    assert_non_null(strstr(err.message, "line 2 has the token id 6; expected 0 to 5"));
    sb_trie_close(trie);
}

/* Every method returns lines only, and finds them all if k is large enough. */
static void all_methods_draw_lines(void **state)
{
    (void)state;
    static struct list list;
    uint64_t generator = 3;
    sb_model *const chain = open_json(small_chain), *const hash = hash_model(300);
    for (int round = 0; round < 12; round++) {
        const sb_model *const model = round % 2 ? chain : hash;
        if (round % 2)
            fill_list(&list, 1 + (size_t)round, 2, 0, 4, &generator);
        else
            fill_list(&list, 20 + 30 * (size_t)round, 300, 3, 3, &generator);
        sb_trie *const trie = open_list(&list);
        const size_t n_lines = sb_trie_get_info(trie)->n_lines;
        for (sb_method method = 0; sb_method_get_info(method) != NULL; method++) {
            sb_config config = config_of(method, 4);
            config.max_len = 4;
            config.allow = trie;
            config.temperature = round % 3 == 0 ? 0.7 : 1;
            sb_result *result = draw(model, &config, (uint64_t)round);
            assert_true(result->n_sequences > 0);
            for (int32_t i = 0; i < result->n_sequences; i++)
                assert_true(has_line(&list, result->sequences[i].tokens,
                                     (size_t)result->sequences[i].n_tokens));
            sb_result_close(result);
            if (method != SB_METHOD_SBS && method != SB_METHOD_EXPLICIT && method != SB_METHOD_BEAM)
                continue;
            config.k = 10000;
            result = draw(model, &config, (uint64_t)round);
            assert_int_equal(result->n_sequences, n_lines);
            double sum = 0;
            for (int32_t i = 0; i < result->n_sequences; i++)
                sum += exp(result->sequences[i].log_p);
            assert_true(fabs(sum - 1) < 1e-6);
            sb_result_close(result);
        }
        sb_trie_close(trie);
    }
    sb_model_close(chain);
    sb_model_close(hash);
}

/* Compares a cursor, which keeps few states and takes few children at first, with a draw of k. */
static void compare_cursor(const sb_model *model, const sb_config *config, const sb_result *drawn)
{
    sb_cursor *cursor;
    sb_error err;
    sb_config best = *config;
    best.search = SB_SEARCH_AUTO;
    if (sb_cursor_open(&cursor, model, &(sb_cursor_spec){.draw = 4}, &best, &err) != SB_OK)
        fail_msg("%s", err.message);
    cursor_get_decoder(cursor)->most_states = 2;
    cursor_get_decoder(cursor)->first_children = 1;
    for (int32_t i = 0; i < drawn->n_sequences; i++) {
        sb_sequence sequence;
        assert_int_equal(sb_cursor_next(cursor, &sequence, &err), 1);
        assert_int_equal(sequence.n_tokens, drawn->sequences[i].n_tokens);
        assert_memory_equal(sequence.tokens, drawn->sequences[i].tokens,
                            (size_t)sequence.n_tokens * sizeof *sequence.tokens);
        assert_true(sequence.g == drawn->sequences[i].g);
        assert_true(sequence.log_p == drawn->sequences[i].log_p);
    }
    assert_true(sb_cursor_threshold(cursor) == drawn->kappa);
    sb_cursor_close(cursor);
}

/* Levels, best-first search, explicit, the cursor and the cache of rows: bit for bit. */
static void searches_agree(void **state)
{
    (void)state;
    static struct list list;
    static const int32_t ban[] = {1};
    uint64_t generator = 4;
    sb_model *const chain = open_json(small_chain), *const hash = hash_model(700);
    for (int round = 0; round < 60; round++) {
        const sb_model *const model = round % 2 ? chain : hash;
        if (round % 2)
            fill_list(&list, 1 + (size_t)round, 2, 0, 7, &generator);
        else
            fill_list(&list, 50 * (size_t)round + 1, 700, 4, 4, &generator);
        add_line(&list, (const int32_t[]){0, 0, 0, 0}, 4); /* some are left with the ban */
        sb_trie *const trie = open_list(&list);
        sb_config config = config_of(SB_METHOD_SBS, 1 + 3 * round);
        config.allow = trie;
        config.max_len = 8;
        config.temperature = round % 4 == 0 ? 0.4 : 1;
        config.top_k = round % 5 == 0 ? 3 : 0;
        config.top_p = round % 7 == 0 ? 0.8 : 1;
        config.ban = ban;
        config.n_ban = round % 12 == 3;
        config.search = SB_SEARCH_LEVEL;
        sb_result *const level = draw(model, &config, 4);
        config.search = SB_SEARCH_BEST_FIRST;
        for (int parallel = 1; parallel < 6; parallel += 4) {
            config.parallel = parallel;
            sb_result *const best = draw(model, &config, 4);
            assert_same_draws(level, best);
            sb_result_close(best);
        }
        config.parallel = 0;
        compare_cursor(model, &config, level);
        config.search = SB_SEARCH_AUTO;
        config.method = SB_METHOD_EXPLICIT;
        sb_result *const all = draw(model, &config, 4);
        assert_same_sequences(level, all, level->n_sequences);
        sb_result_close(all);
        sb_result_close(level);
        sb_trie_close(trie);
    }
    sb_model_close(chain);
    sb_model_close(hash);
}

/* The permitted tokens can have probability zero, or be banned: an error, not a wrong draw. */
static void dead_ends_are_errors(void **state)
{
    (void)state;
    sb_model *const model =
        open_json("{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"</s>\"],"
                  "\"eos\":\"</s>\",\"start\":[1,0,0],\"next\":{\"a\":[0.5,0.5,"
                  "0],\"b\":[0.5,0.25,0.25]}}");
    static const struct {
        int32_t tokens[3], n, min_len;
        sb_status status;
    } cases[] = {{{0, 1}, 2, 0, SB_OK},
                 {{1}, 1, 0, SB_ERR_MODEL},
                 {{0}, 1, 0, SB_ERR_MODEL},
                 {{0, 1}, 2, 3, SB_ERR_MODEL}};
    for (int i = 0; i < 4; i++) {
        sb_trie *trie;
        sb_result *result;
        sb_error err;
        const uint64_t end = (uint64_t)cases[i].n;
        assert_int_equal(sb_trie_open(&trie, cases[i].tokens, &end, 1, &err), SB_OK);
        sb_config config = config_of(SB_METHOD_SBS, 2);
        config.allow = trie;
        config.min_len = cases[i].min_len;
        assert_int_equal(sb_result_open(&result, &err), SB_OK);
        assert_int_equal(sb_draw(model, "", &config, result, &err), cases[i].status);
        if (cases[i].status != SB_OK)
            assert_non_null(strstr(err.message, "the model, allow, ban and min-len together"));
        static const char *const stop[] = {"b"};
        config.stop = stop;
        config.n_stop = 1;
        assert_int_equal(sb_draw(model, "", &config, result, &err), SB_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, "allow and stop are both set"));
        sb_result_close(result);
        sb_trie_close(trie);
    }
    sb_model_close(model);
}

/* --- texts and memory --- */

static void texts_are_encoded(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    static const char *const texts[] = {"a b", "", "b", "a  b"};
    static const size_t sizes[] = {3, 0, 1, 4};
    sb_trie *trie, *read;
    sb_error err;
    assert_int_equal(sb_trie_open_texts(&trie, model, texts, sizes, 4, &err), SB_OK);
    assert_int_equal(sb_trie_get_info(trie)->n_lines, 3);
    char path[] = "/tmp/test_trie.XXXXXX";
    const int file = mkstemp(path);
    assert_int_equal(write(file, "a b\r\n\nb\na b", 11), 11);
    assert_int_equal(sb_trie_read(&read, model, path, &err), SB_OK);
    assert_string_equal(sb_trie_get_info(read)->id, sb_trie_get_info(trie)->id);
    sb_trie_close(trie);
    sb_trie_close(read);
    assert_int_equal(write(file, " c\n", 3), 3);
    assert_int_equal(sb_trie_read(&read, model, path, &err), SB_ERR_INPUT);
    assert_non_null(strstr(err.message, ":4: "));
    assert_non_null(strstr(err.message, "'c'"));
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(sb_trie_read(&read, model, path, &err), SB_ERR_INPUT);
    assert_non_null(strstr(err.message, "has no lines"));
    static const char *const ended[] = {"a", "b </s>"};
    static const size_t ended_sizes[] = {1, 6};
    assert_int_equal(sb_trie_open_texts(&trie, model, ended, ended_sizes, 2, &err), SB_ERR_INPUT);
    assert_non_null(strstr(err.message, "line 2: the line holds the end token"));
    close(file);
    unlink(path);
    sb_model_close(model);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    sb_model *const model = open_json(small_chain);
    static const char *const texts[] = {"a b", "b a a", "b"};
    static const size_t sizes[] = {3, 5, 1};
    bool ended = false;
    for (long n = 1; !ended; n++) {
        sb_trie *trie = NULL;
        sb_result *result = NULL;
        sb_error err = {SB_OK, ""};
        sb_config config = config_of(SB_METHOD_SBS, 2);
        alloc_fail_at(n);
        sb_status status = sb_trie_open_texts(&trie, model, texts, sizes, 3, &err);
        config.allow = trie;
        if (status == SB_OK)
            status = sb_result_open(&result, &err);
        if (status == SB_OK)
            status = sb_draw(model, "", &config, result, &err);
        ended = !alloc_has_failed();
        alloc_fail_at(0);
        assert_int_equal(status, ended ? SB_OK : SB_ERR_MEMORY);
        assert_true(ended || strstr(err.message, "memory") != NULL);
        sb_result_close(result);
        sb_trie_close(trie);
    }
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_hold_their_lines), cmocka_unit_test(ids_tell_lists_apart),
        cmocka_unit_test(facts_name_lines),       cmocka_unit_test(bad_lists_are_refused),
        cmocka_unit_test(lines_must_be_outputs),  cmocka_unit_test(all_methods_draw_lines),
        cmocka_unit_test(searches_agree),         cmocka_unit_test(dead_ends_are_errors),
        cmocka_unit_test(texts_are_encoded),      cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("trie", tests, NULL, NULL);
}
