/* See draw_check.h. */
#include "draw_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/backend.h"
#include "reference.h"

sb_model *open_json(const char *json)
{
    sb_model *model;
    sb_error err;
    if (model_open_memory(&model, "test model", json, strlen(json), &err) != SB_OK)
        fail_msg("%s", err.message);
    return model;
}

const char *const small_chain =
    "{\"format\":\"sbeam-chain\",\"vocab\":[\"a\",\"b\",\"</s>\"],\"eos\":\"</s>\","
    "\"start\":[0.5,0.3,0.2],\"next\":{\"a\":[0.1,0.3,0.6],\"b\":[0.45,0.45,0.1]}}";

/* --- trees --- */

struct text {
    char bytes[1 << 18];
    size_t n;
};

static void write_children(struct text *text, uint64_t *generator, int depth)
{
    const int n = 1 + (int)(5 * next_uniform(generator));
    double p[6], sum = 0;
    for (int i = 0; i < n; i++) {
        /* Wide apart, some zero, and at times one that holds nearly all. */
        const double u = next_uniform(generator);
        p[i] = u < 0.1 ? 0 : exp(8 * next_uniform(generator));
        p[i] *= u > 0.95 ? 1e15 : 1;
        sum += p[i];
    }
    if (sum == 0)
        p[0] = sum = 1;
    text->n += (size_t)sprintf(text->bytes + text->n, "{");
    for (int i = 0; i < n; i++) {
        text->n += (size_t)sprintf(text->bytes + text->n, "%s\"t%d\":[%.17g,", i ? "," : "", i,
                                   p[i] / sum);
        if (depth > 1 && next_uniform(generator) < 0.7)
            write_children(text, generator, depth - 1);
        else
            text->n += (size_t)sprintf(text->bytes + text->n, "null");
        text->n += (size_t)sprintf(text->bytes + text->n, "]");
    }
    text->n += (size_t)sprintf(text->bytes + text->n, "}");
}

sb_model *random_tree(uint64_t *generator, int depth)
{
    static struct text text;
    text.n = (size_t)sprintf(text.bytes, "{\"format\":\"sbeam-tree\",\"tree\":");
    write_children(&text, generator, depth);
    text.n += (size_t)sprintf(text.bytes + text.n, "}");
    return open_json(text.bytes);
}

/* --- a model of one's own --- */

struct hash_session {
    int32_t vocab, n_rows;
    uint64_t state[1 << 16], next[1 << 16];
};

static sb_status hash_open(const void *self, const sb_session_spec *spec, void **session,
                           sb_error *err)
{
    (void)spec;
    (void)err;
    struct hash_session *const s = calloc(1, sizeof *s);
    s->vocab = *(const int32_t *)self;
    *session = s;
    return SB_OK;
}

static sb_status hash_step(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                           const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    (void)input;
    (void)err;
    struct hash_session *const s = session;
    for (int32_t i = 0; i < n_rows; i++)
        s->next[i] = from[i] < 0 ? 1 : s->state[from[i]] * 1000003 + (uint64_t)token[i] + 17;
    for (int32_t i = 0; i < n_rows; i++) {
        uint64_t generator = s->state[to[i]] = s->next[i];
        for (int32_t j = 0; j < s->vocab; j++)
            ((float *)rows)[(size_t)i * (size_t)s->vocab + (size_t)j] =
                (float)(12 * next_uniform(&generator));
    }
    return SB_OK;
}

sb_model *hash_model(int32_t vocab)
{
    return narrow_hash_model(vocab, 0);
}

sb_model *narrow_hash_model(int32_t vocab, int32_t max_rows)
{
    static const sb_model_ops ops = {
        .session_open = hash_open, .session_close = free, .step = hash_step, .close = free};
    const sb_model_info info = {.kind = "hash",
                                .vocab_size = vocab,
                                .eos = -1,
                                .row_type = SB_ROW_FLOAT,
                                .max_rows = max_rows};
    int32_t *const self = malloc(sizeof *self);
    *self = vocab;
    sb_model *model;
    assert_int_equal(sb_model_open_custom(&model, &ops, &info, self, NULL), SB_OK);
    return model;
}

/* --- drawing --- */

sb_config config_of(sb_method method, int32_t k)
{
    sb_config config;
    sb_config_default(&config);
    config.method = method;
    config.k = k;
    return config;
}

sb_result *draw(const sb_model *model, const sb_config *config, uint64_t draw_number)
{
    sb_result *result;
    sb_error err;
    sb_plan plan;
    const sb_input input = {.text = ""};
    sb_plan_default(&plan);
    plan.first_draw = draw_number;
    assert_int_equal(sb_result_open(&result, &err), SB_OK);
    if (sb_draw_batch(model, &input, 1, config, &plan, &result, &err) != SB_OK)
        fail_msg("%s", err.message);
    return result;
}

static void assert_same_number(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

void assert_same_sequences(const sb_result *a, const sb_result *b, int32_t n)
{
    assert_true(a->n_sequences >= n && b->n_sequences >= n);
    for (int32_t i = 0; i < n; i++) {
        const sb_sequence *const x = &a->sequences[i], *const y = &b->sequences[i];
        assert_int_equal(x->n_tokens, y->n_tokens);
        for (int32_t j = 0; j < x->n_tokens; j++)
            assert_int_equal(x->tokens[j], y->tokens[j]);
        assert_int_equal(x->end, y->end);
        assert_same_number(x->log_p, y->log_p);
        assert_same_number(x->log_p_model, y->log_p_model);
        assert_same_number(x->g, y->g);
    }
}

void assert_same_draws(const sb_result *a, const sb_result *b)
{
    assert_int_equal(a->n_sequences, b->n_sequences);
    assert_same_sequences(a, b, a->n_sequences);
    assert_same_number(a->kappa, b->kappa);
    assert_int_equal(a->exhausted, b->exhausted);
    for (int32_t i = 0; i < a->n_sequences; i++)
        assert_same_number(a->sequences[i].log_weight, b->sequences[i].log_weight);
}

void assert_same_results(const sb_result *a, const sb_result *b)
{
    assert_same_draws(a, b);
    assert_same_number(a->log_p_draw, b->log_p_draw);
}

/* The prefixes of a sequence that the ones before it do not have are those longer than its longest
 * common prefix with one of them. */
uint64_t count_prefixes(const sb_result *result)
{
    uint64_t n = 0;
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        const int32_t n_prefixes = s->n_tokens + (s->end == SB_END_EOS);
        int32_t n_common = 0; /* prefixes in common, the root included */
        for (int32_t j = 0; j < i; j++) {
            const sb_sequence *const t = &result->sequences[j];
            const int32_t n_other = t->n_tokens + (t->end == SB_END_EOS);
            int32_t common = 0;
            while (common < s->n_tokens && common < t->n_tokens &&
                   s->tokens[common] == t->tokens[common])
                common++;
            common++;
            common = common < n_other ? common : n_other;
            common = common < n_prefixes ? common : n_prefixes;
            n_common = common > n_common ? common : n_common;
        }
        n += (uint64_t)(n_prefixes - n_common);
    }
    return n;
}
