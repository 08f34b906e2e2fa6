/* ARPA n-gram models: computes rows of next-word log-probabilities by back-off.
 *
 * With h the history and h_j its last j words,
 *
 *     log p(w | h_j) = log p(h_j w)                    if the file lists h_j w,
 *                      b(h_j) + log p(w | h_(j-1))     otherwise,
 *
 * where b(h_j) is the logarithm of the back-off weight, 0 if the file does not list h_j. A row
 * therefore starts as the array of unigrams plus the sum of all back-offs. Then, from short
 * contexts to long ones, the children of h_j overwrite their columns with their own log p plus the
 * back-offs of the contexts longer than j. This takes one pass over the vocabulary and one over the
 * children.
 *
 * A state holds, for j = 1 .. order - 1, the trie node of h_j, or -1 if there is none. The trie
 * runs forward, so the next state takes one search among children for each j: h_j w is a child of
 * h_j.
 *
 * The history begins with <s> if the file has it, and is empty otherwise. Rows sum to 1 only as
 * precisely as the file's digits, and in some files not at all: some writers leave back-offs of
 * 99.999 where none should apply. The search renormalises every row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/arpa.h"
#include "model/backend.h"
#include "model/row_states.h"

typedef struct arpa_model {
    vocab words;
    arpa_trie trie;
    int32_t bos, eos, unk;
    int32_t n_contexts;              /* lengths of contexts: order - 1 */
    size_t n_listed[ARPA_MAX_ORDER]; /* n-grams of each order in the file */
} arpa_model;

typedef struct session {
    row_states states; /* must come first (row_states.h); n_contexts numbers each */
    const arpa_model *model;
} session;

/* Returns the child of a node of levels[level] by `word`, or -1. */
static int32_t find_child(const arpa_trie *trie, int32_t level, int32_t node, int32_t word)
{
    const int32_t *const words = trie->levels[level + 1].word;
    int32_t low = trie->levels[level].first[node];
    const int32_t end = trie->levels[level].first[node + 1];
    int32_t high = end;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (words[middle] < word)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && words[low] == word ? low : -1;
}

/* Writes to `next` the state after `word` in `state`. The two do not overlap. */
static void advance(const arpa_model *model, const int32_t *state, int32_t word, int32_t *next)
{
    for (int32_t j = 0; j < model->n_contexts; j++) {
        if (j == 0)
            next[j] = word;
        else
            next[j] = state[j - 1] >= 0 ? find_child(&model->trie, j - 1, state[j - 1], word) : -1;
    }
}

/* Writes the state before any word: <s> if the model has it. */
static void reset(const arpa_model *model, int32_t *state)
{
    for (int32_t j = 0; j < model->n_contexts; j++)
        state[j] = j == 0 ? model->bos : -1;
}

static void fill_row(const arpa_model *model, const int32_t *state, double *restrict row)
{
    const arpa_level *const levels = model->trie.levels;
    double longer[ARPA_MAX_ORDER]; /* back-offs of the contexts longer than j + 1 words */
    double total = 0;
    for (int32_t j = model->n_contexts; j-- > 0;) {
        longer[j] = total;
        if (state[j] >= 0)
            total += levels[j].backoff[state[j]];
    }
    const double *restrict const unigrams = levels[0].log_p;
    const int32_t n = levels[0].n;
    for (int32_t w = 0; w < n; w++)
        row[w] = unigrams[w] + total;
    for (int32_t j = 0; j < model->n_contexts; j++) {
        if (state[j] < 0)
            continue;
        const int32_t end = levels[j].first[state[j] + 1];
        const arpa_level *const children = &levels[j + 1];
        for (int32_t c = levels[j].first[state[j]]; c < end; c++)
            if (!isnan(children->log_p[c]))
                row[children->word[c]] = children->log_p[c] + longer[j];
    }
}

static sb_status session_open(const void *self, const sb_session_spec *spec, void **opened,
                              sb_error *err)
{
    session *const s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return status_no_memory(err);
    s->model = self;
    const size_t width = (size_t)s->model->n_contexts;
    const sb_status status = row_states_open(&s->states, spec->max_inputs, width, err);
    if (status != SB_OK) {
        alloc_free(s);
        return status;
    }
    for (int32_t i = 0; i < spec->max_inputs; i++)
        reset(s->model, s->states.start + (size_t)i * width);
    *opened = s;
    return SB_OK;
}

static void session_close(void *opened)
{
    session *const s = opened;
    row_states_close(&s->states);
    alloc_free(s);
}

/* Finds the id of a word of a prefix. Gives the id of <unk> for an unknown word if <unk> is
 * possible. */
static sb_status prefix_word(const arpa_model *model, const char *word, size_t size, int32_t *id,
                             sb_error *err)
{
    const int shown = utf8_excerpt(word, size);
    *id = vocab_find(&model->words, word, size);
    if (*id < 0) {
        if (model->unk < 0 || model->trie.levels[0].log_p[model->unk] == -INFINITY) {
            if (status_refuse_zero("a word of the prefix", word, size, err) != SB_OK)
                return SB_ERR_INPUT;
            return status_fail(
                err, SB_ERR_INPUT,
                "prefix: the model has no word '%.*s' and no probability for unknown words", shown,
                word);
        }
        *id = model->unk;
    }
    if (*id == model->eos)
        return status_fail(err, SB_ERR_INPUT, "prefix: nothing can follow the end token '%.*s'",
                           shown, word);
    if (*id == model->bos)
        return status_fail(err, SB_ERR_INPUT,
                           "prefix: every sequence begins with '%.*s' already; leave it out", shown,
                           word);
    return SB_OK;
}

static sb_status begin(void *opened, int32_t input, const char *text, size_t size, sb_error *err)
{
    session *const s = opened;
    const arpa_model *const m = s->model;
    int32_t state[ARPA_MAX_ORDER], next[ARPA_MAX_ORDER];
    const size_t state_size = (size_t)m->n_contexts * sizeof *state;
    reset(m, state);
    size_t position = 0, word_size;
    const char *word;
    while (utf8_next_word(text, size, &position, &word, &word_size)) {
        int32_t id;
        const sb_status status = prefix_word(m, word, word_size, &id, err);
        if (status != SB_OK)
            return status;
        advance(m, state, id, next);
        memcpy(state, next, state_size);
    }
    memcpy(s->states.start + (size_t)input * (size_t)m->n_contexts, state, state_size);
    return SB_OK;
}

static sb_status step(void *opened, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    session *const s = opened;
    const arpa_model *const m = s->model;
    const size_t width = (size_t)m->n_contexts, n_words = (size_t)m->words.n;
    const sb_status status = row_states_reserve(&s->states, n_rows, to, err);
    if (status != SB_OK)
        return status;
    for (int32_t i = 0; i < n_rows; i++) {
        int32_t *const next = s->states.next + (size_t)i * width;
        if (from[i] < 0)
            memcpy(next, s->states.start + (size_t)input[i] * width, width * sizeof *next);
        else
            advance(m, s->states.now + (size_t)from[i] * width, token[i], next);
        fill_row(m, next, (double *)rows + (size_t)i * n_words);
    }
    row_states_keep(&s->states, n_rows, to);
    return SB_OK;
}

static const char *token_text(const void *self, int32_t token)
{
    const arpa_model *const m = self;
    return vocab_text(&m->words, token);
}

static int32_t find_token(const void *self, const char *text, size_t size)
{
    const arpa_model *const m = self;
    return vocab_find(&m->words, text, size);
}

static void describe(const void *self, sb_describe_fn say, void *user)
{
    const arpa_model *const m = self;
    char name[32], number[32];
    if (m->unk >= 0)
        say(user, "unknown word", vocab_text(&m->words, m->unk));
    snprintf(number, sizeof number, "%d", (int)m->trie.order);
    say(user, "order", number);
    for (int32_t i = 0; i < m->trie.order; i++) {
        snprintf(name, sizeof name, "%d-grams", (int)i + 1);
        snprintf(number, sizeof number, "%zu", m->n_listed[i]);
        say(user, name, number);
    }
}

static void close_model(void *self)
{
    arpa_model *const m = self;
    arpa_trie_close(&m->trie);
    vocab_free(&m->words);
    alloc_free(m);
}

/* Returns whether one of the lines consists of \data\ only. */
static bool probe(const char *head, size_t size)
{
    static const char title[] = "\\data\\";
    size_t position = 0;
    while (position < size) {
        const char *const line = head + position;
        const char *const newline = memchr(line, '\n', size - position);
        const size_t line_size = newline != NULL ? (size_t)(newline - line) : size - position;
        size_t at = 0, word_size;
        const char *word;
        if (utf8_next_word(line, line_size, &at, &word, &word_size) &&
            word_size == sizeof title - 1 && memcmp(word, title, word_size) == 0 &&
            !utf8_next_word(line, line_size, &at, &word, &word_size))
            return true;
        position += line_size + 1;
    }
    return false;
}

static sb_status open_arpa(sb_model **model, const model_source *source, sb_error *err)
{
    arpa_model *const m = alloc_zeroed(1, sizeof *m);
    if (m == NULL)
        return status_no_memory(err);
    arpa_file file;
    sb_status status = arpa_file_read(&file, source->reader, err);
    if (status != SB_OK) {
        alloc_free(m);
        return status;
    }
    for (int32_t i = 0; i < file.order; i++)
        m->n_listed[i] = file.tables[i].n;
    status = arpa_trie_build(&m->trie, &file, lines_name(source->reader), err);
    m->bos = file.bos;
    m->eos = file.eos;
    m->unk = file.unk;
    m->n_contexts = file.order - 1;
    m->words = file.words;
    vocab_init(&file.words);
    arpa_file_close(&file);
    const sb_model_ops ops = {.session_open = session_open,
                              .session_close = session_close,
                              .begin = begin,
                              .step = step,
                              .token_text = token_text,
                              .find_token = find_token,
                              .describe = describe,
                              .close = close_model,
                              .state_size = row_states_size,
                              .save = row_states_save,
                              .restore = row_states_restore};
    const sb_model_info info = {.kind = arpa_backend.kind,
                                .vocab_size = m->words.n,
                                .eos = m->eos,
                                .row_type = SB_ROW_DOUBLE};
    if (status == SB_OK)
        status = sb_model_open_custom(model, &ops, &info, m, err);
    if (status != SB_OK)
        close_model(m);
    return status;
}

const model_backend arpa_backend = {.kind = "arpa",
                                    .expected = "an ARPA n-gram model, plain or gzip (\\data\\)",
                                    .probe = probe,
                                    .open = open_arpa};
