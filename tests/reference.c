/* See reference.h. */
#include "reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rows.h"

/* --- leaves --- */

struct walk {
    const sb_model *model;
    double temperature;
    int32_t max_len;
    struct leaves *leaves;
    const struct leaves *lines; /* NULL: all */
};

/* Returns whether a line continues the prefix with the token; *ends: whether the line ends so. */
static bool is_permitted(const struct walk *walk, const struct leaf *prefix, int32_t token,
                         bool *ends)
{
    const int32_t eos = sb_model_get_info(walk->model)->eos;
    const size_t size = (size_t)prefix->n_tokens * sizeof *prefix->tokens;
    bool found = walk->lines == NULL;
    *ends = false;
    for (int i = 0; !found && i < walk->lines->n; i++) {
        const struct leaf *const line = &walk->lines->list[i];
        if (line->n_tokens < prefix->n_tokens || memcmp(line->tokens, prefix->tokens, size) != 0)
            continue;
        found = line->n_tokens == prefix->n_tokens
                    ? token == eos
                    : token != eos && line->tokens[prefix->n_tokens] == token;
        *ends = found && eos < 0 && line->n_tokens == prefix->n_tokens + 1;
    }
    return found;
}

/* Replays a prefix from the root in a session of its own, and gives the last row, normalised. */
static void row_after(const struct walk *walk, const struct leaf *prefix, double *row,
                      bool *is_leaf)
{
    const sb_model_info *const info = sb_model_get_info(walk->model);
    sb_session *session;
    sb_error err;
    assert_int_equal(
        sb_session_open(&session, walk->model, &(sb_session_spec){.max_inputs = 1}, &err), SB_OK);
    int32_t parent = -1, token = -1;
    const int32_t input = 0;
    assert_int_equal(sb_session_begin(session, 0, "", 0, &err), SB_OK);
    for (int32_t i = 0; i <= prefix->n_tokens; i++) {
        assert_int_equal(session_rows(session, 1, &parent, &token, &input, row, &err), SB_OK);
        parent = 0;
        token = i < prefix->n_tokens ? prefix->tokens[i] : -1;
    }
    long double sum = 0;
    for (int32_t i = 0; i < info->vocab_size; i++) {
        bool ends;
        if (!is_permitted(walk, prefix, i, &ends))
            row[i] = -INFINITY;
        is_leaf[i] = ends;
    }
    for (int32_t i = 0; i < info->vocab_size; i++)
        sum += expl((long double)row[i] / walk->temperature);
    for (int32_t i = 0; i < info->vocab_size; i++) {
        row[i] = (double)((long double)row[i] / walk->temperature - logl(sum));
        is_leaf[i] = is_leaf[i] || i == info->eos || sb_session_is_leaf(session, 0, i) ||
                     prefix->n_tokens + 1 >= walk->max_len;
    }
    sb_session_close(session);
}

static void walk_from(const struct walk *walk, const struct leaf *prefix)
{
    enum { MOST_TOKENS = 256 };
    double row[MOST_TOKENS];
    bool is_leaf[MOST_TOKENS];
    const int32_t n = sb_model_get_info(walk->model)->vocab_size;
    assert_true(n <= MOST_TOKENS);
    row_after(walk, prefix, row, is_leaf);
    for (int32_t token = 0; token < n; token++) {
        if (row[token] == -INFINITY)
            continue;
        struct leaf child = *prefix;
        assert_true(child.n_tokens < MOST_DEPTH);
        child.tokens[child.n_tokens++] = token;
        child.phi += row[token];
        if (!is_leaf[token]) {
            walk_from(walk, &child);
            continue;
        }
        assert_true(walk->leaves->n < MOST_LEAVES);
        walk->leaves->list[walk->leaves->n++] = child;
    }
}

void enumerate_leaves(const sb_model *model, double temperature, int32_t max_len,
                      struct leaves *leaves)
{
    enumerate_permitted(model, temperature, max_len, NULL, leaves);
}

void enumerate_permitted(const sb_model *model, double temperature, int32_t max_len,
                         const struct leaves *lines, struct leaves *leaves)
{
    const struct walk walk = {model, temperature, max_len, leaves, lines};
    const struct leaf root = {.n_tokens = 0};
    leaves->n = 0;
    walk_from(&walk, &root);
}

int find_leaf(const sb_model *model, const struct leaves *leaves, const sb_sequence *sequence)
{
    const int32_t eos = sb_model_get_info(model)->eos;
    for (int i = 0; i < leaves->n; i++) {
        const struct leaf *const leaf = &leaves->list[i];
        const bool ends = leaf->n_tokens > 0 && leaf->tokens[leaf->n_tokens - 1] == eos;
        if (ends == (sequence->end == SB_END_EOS) &&
            leaf->n_tokens - (ends ? 1 : 0) == sequence->n_tokens &&
            memcmp(leaf->tokens, sequence->tokens, (size_t)sequence->n_tokens * sizeof(int32_t)) ==
                0)
            return i;
    }
    fail_msg("a sequence that the model does not have");
    return -1;
}

/* --- samplers --- */

double next_uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 12) + 0.5) * 0x1p-52;
}

void sample_leaves(struct setup *setup, uint64_t draw, struct picks *picks)
{
    (void)draw;
    const int k = setup->config.k < setup->leaves->n ? setup->config.k : setup->leaves->n;
    picks->n = 0;
    picks->kappa = -INFINITY;
    for (int i = 0; i < setup->leaves->n; i++) {
        const double g = setup->leaves->list[i].phi - log(-log(next_uniform(setup->state)));
        int place = picks->n;
        while (place > 0 && picks->g[place - 1] < g)
            place--;
        if (place >= k) {
            picks->kappa = fmax(picks->kappa, g);
            continue;
        }
        if (picks->n == k)
            picks->kappa = fmax(picks->kappa, picks->g[k - 1]);
        else
            picks->n++;
        for (int j = picks->n - 1; j > place; j--) {
            picks->g[j] = picks->g[j - 1];
            picks->leaf[j] = picks->leaf[j - 1];
        }
        picks->g[place] = g;
        picks->leaf[place] = i;
    }
}

/* --- the exact law --- */

enum { MOST_CELLS = 3000 };

static void add_probability(struct ordered_law *law, const struct leaves *leaves,
                            struct picks *prefix, double probability, bool *used)
{
    if (prefix->n == law->k) {
        law->probability[ordered_law_cell(law, prefix)] += probability;
        return;
    }
    double left = 0; /* what is still to be drawn, summed directly */
    for (int i = 0; i < leaves->n; i++)
        left += used[i] ? 0 : exp(leaves->list[i].phi);
    for (int i = 0; i < leaves->n; i++) {
        if (used[i])
            continue;
        used[i] = true;
        prefix->leaf[prefix->n++] = i;
        add_probability(law, leaves, prefix, probability * exp(leaves->list[i].phi) / left, used);
        prefix->n--;
        used[i] = false;
    }
}

void ordered_law_open(struct ordered_law *law, const struct leaves *leaves, int k)
{
    bool used[MOST_LEAVES] = {false};
    double cells = 1;
    law->k = k < leaves->n ? k : leaves->n;
    law->n_leaves = leaves->n;
    for (int i = 0; i < law->k; i++)
        cells *= leaves->n;
    law->by_ends = cells > MOST_CELLS;
    law->n_cells = law->by_ends ? (size_t)(leaves->n * leaves->n) : (size_t)cells;
    law->probability = calloc(law->n_cells, sizeof *law->probability);
    struct picks prefix = {.n = 0};
    add_probability(law, leaves, &prefix, 1, used);
}

void ordered_law_close(struct ordered_law *law)
{
    free(law->probability);
}

size_t ordered_law_cell(const struct ordered_law *law, const struct picks *picks)
{
    assert_int_equal(picks->n, law->k);
    const size_t n = (size_t)law->n_leaves;
    if (law->by_ends)
        return (size_t)picks->leaf[0] * n + (size_t)picks->leaf[picks->n - 1];
    size_t cell = 0;
    for (int i = 0; i < picks->n; i++)
        cell = cell * n + (size_t)picks->leaf[i];
    return cell;
}
