/* Uses an automaton as a model: a state of a session is the number of a state of the automaton.
 *
 * A token without an edge has probability zero and leads to a dead state, in which all tokens have
 * probability zero. So a sequence outside the model can be scored. Continuing a leaf is an error,
 * because no sequence continues there. */
#include "model/automaton.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/row_states.h"

enum { DEAD = -2 };

typedef struct session {
    row_states states; /* must come first (row_states.h); one number each */
    const automaton *machine;
} session;

sb_status automaton_open(automaton **machine, const char *shape, sb_error *err)
{
    automaton *const m = alloc_zeroed(1, sizeof *m);
    if (m == NULL)
        return status_no_memory(err);
    vocab_init(&m->words);
    m->shape = shape;
    m->eos = -1;
    *machine = m;
    return SB_OK;
}

void automaton_close(automaton *machine)
{
    if (machine == NULL)
        return;
    alloc_free(machine->first);
    alloc_free(machine->edges);
    vocab_free(&machine->words);
    alloc_free(machine);
}

sb_status automaton_add_state(automaton *machine, size_t n_edges, int32_t *state, size_t *edges,
                              sb_error *err)
{
    automaton *const m = machine;
    const size_t n = (size_t)m->n_states;
    if (m->n_states == INT32_MAX)
        return status_fail(err, SB_ERR_LIMIT, "the %s has more than %d states", m->shape,
                           INT32_MAX);
    if (alloc_reserve(&m->first, &m->first_capacity, n + 2, sizeof(size_t)) != SB_OK ||
        alloc_reserve(&m->edges, &m->edge_capacity, m->n_edges + n_edges, sizeof(automaton_edge)) !=
            SB_OK)
        return status_no_memory(err);
    m->first[n] = m->n_edges;
    m->n_edges += n_edges;
    m->first[n + 1] = m->n_edges;
    *edges = m->first[n];
    *state = m->n_states++;
    return SB_OK;
}

static const automaton_edge *find_edge(const automaton *machine, int32_t state, int32_t token)
{
    if (state < 0)
        return NULL;
    size_t low = machine->first[state], high = machine->first[state + 1];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (machine->edges[middle].token < token)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found = low < machine->first[state + 1] && machine->edges[low].token == token;
    return found ? &machine->edges[low] : NULL;
}

static sb_status session_open(const void *self, const sb_session_spec *spec, void **opened,
                              sb_error *err)
{
    session *const s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return status_no_memory(err);
    s->machine = self;
    const sb_status status = row_states_open(&s->states, spec->max_inputs, 1, err);
    if (status != SB_OK) {
        alloc_free(s);
        return status;
    }
    *opened = s;
    return SB_OK;
}

static void session_close(void *opened)
{
    session *const s = opened;
    row_states_close(&s->states);
    alloc_free(s);
}

static sb_status begin(void *opened, int32_t input, const char *text, size_t size, sb_error *err)
{
    session *const s = opened;
    const automaton *const m = s->machine;
    int32_t state = 0;
    size_t position = 0, word_size, n_words = 0;
    const char *word;
    while (utf8_next_word(text, size, &position, &word, &word_size)) {
        n_words++;
        const int shown = utf8_excerpt(word, word_size);
        const int32_t token = vocab_find(&m->words, word, word_size);
        if (token < 0 && status_refuse_zero("the prefix", text, position, err) != SB_OK)
            return SB_ERR_INPUT;
        if (token < 0)
            return status_fail(err, SB_ERR_INPUT, "prefix: the %s has no token '%.*s'", m->shape,
                               shown, word);
        if (state == AUTOMATON_LEAF)
            return status_fail(
                err, SB_ERR_INPUT,
                "prefix: word %zu, '%.*s', follows a leaf of the %s, where sequences end", n_words,
                shown, word, m->shape);
        const automaton_edge *const edge = find_edge(m, state, token);
        if (edge == NULL)
            return status_fail(err, SB_ERR_INPUT, "prefix: the %s has no edge for word %zu, '%.*s'",
                               m->shape, n_words, shown, word);
        state = edge->next;
    }
    if (state == AUTOMATON_LEAF)
        return status_fail(err, SB_ERR_INPUT,
                           "the prefix ends in a leaf of the %s: nothing can follow", m->shape);
    s->states.start[input] = state;
    return SB_OK;
}

static void fill_row(const automaton *machine, int32_t state, double *row)
{
    for (int32_t t = 0; t < machine->words.n; t++)
        row[t] = -INFINITY;
    if (state == DEAD)
        return;
    for (size_t e = machine->first[state]; e < machine->first[state + 1]; e++)
        row[machine->edges[e].token] = machine->edges[e].log_p;
}

static sb_status step(void *opened, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    session *const s = opened;
    const automaton *const m = s->machine;
    const sb_status status = row_states_reserve(&s->states, n_rows, to, err);
    if (status != SB_OK)
        return status;
    for (int32_t i = 0; i < n_rows; i++) {
        int32_t state = s->states.start[input[i]];
        if (from[i] >= 0) {
            const automaton_edge *const edge = find_edge(m, s->states.now[from[i]], token[i]);
            state = edge != NULL ? edge->next : DEAD;
        }
        if (state == AUTOMATON_LEAF)
            return status_fail(err, SB_ERR_ARGUMENT, "row %d continues a leaf of the %s", (int)i,
                               m->shape);
        s->states.next[i] = state;
        fill_row(m, state, (double *)rows + (size_t)i * (size_t)m->words.n);
    }
    row_states_keep(&s->states, n_rows, to);
    return SB_OK;
}

static bool is_leaf(void *opened, int32_t state, int32_t token)
{
    const session *const s = opened;
    const automaton_edge *const edge = find_edge(s->machine, s->states.now[state], token);
    return edge != NULL && edge->next == AUTOMATON_LEAF;
}

static const char *token_text(const void *self, int32_t token)
{
    const automaton *const m = self;
    return vocab_text(&m->words, token);
}

static int32_t find_token(const void *self, const char *text, size_t size)
{
    const automaton *const m = self;
    return vocab_find(&m->words, text, size);
}

static void describe(const void *self, sb_describe_fn say, void *user)
{
    const automaton *const m = self;
    char number[32];
    snprintf(number, sizeof number, "%zu", (size_t)m->n_states + m->n_leaves);
    say(user, "nodes", number);
    snprintf(number, sizeof number, "%zu", m->n_leaves);
    say(user, "leaves", number);
    snprintf(number, sizeof number, "%d", (int)m->depth);
    say(user, "depth", number);
}

static void close_machine(void *self)
{
    automaton_close(self);
}

static int compare_edges(const void *a, const void *b)
{
    const automaton_edge *const left = a, *const right = b;
    return (left->token > right->token) - (left->token < right->token);
}

sb_status automaton_finish(automaton *machine, sb_model **model, sb_error *err)
{
    for (int32_t s = 0; s < machine->n_states; s++)
        qsort(machine->edges + machine->first[s], machine->first[s + 1] - machine->first[s],
              sizeof(automaton_edge), compare_edges);
    const bool has_leaves = machine->eos < 0;
    const sb_model_ops ops = {.session_open = session_open,
                              .session_close = session_close,
                              .begin = begin,
                              .step = step,
                              .is_leaf = has_leaves ? is_leaf : NULL,
                              .token_text = token_text,
                              .find_token = find_token,
                              .describe = has_leaves ? describe : NULL,
                              .close = close_machine,
                              .state_size = row_states_size,
                              .save = row_states_save,
                              .restore = row_states_restore};
    const sb_model_info info = {.kind = machine->shape,
                                .vocab_size = machine->words.n,
                                .eos = machine->eos,
                                .row_type = SB_ROW_DOUBLE};
    return sb_model_open_custom(model, &ops, &info, machine, err);
}
