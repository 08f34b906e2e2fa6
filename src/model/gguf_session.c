/* Keeps the states of a GGUF model as sequences of llama.cpp's cache.
 *
 * The cache is a pool of cells, one per evaluated token, and a sequence is the set of cells that
 * carry its number. A prompt is evaluated once, and all its rows share its cells. If a step
 * overwrites a state, the first row that continues the state takes over its sequence; other rows
 * copy it, which marks each of its cells. Nothing is evaluated twice.
 *
 * States use the sequences 0 .. max_states - 1, in any order, and prompts the sequences after them,
 * so that the draws of an input share one evaluation of its prompt. If states take all 256
 * sequences, only one input is possible: its first row takes over the prompt, which is evaluated
 * again for the next draw.
 *
 * A context has room for the most that it may have to hold: a prompt per input, and max_len cells
 * per state. It is made when the first prompt is known. If a longer prompt comes later, a larger
 * context takes over the cells. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/source_cache.h"
#include "base/status.h"
#include "model/gguf.h"

enum {
    PROMPT_CHUNK = 512, /* tokens of a prompt that are evaluated in one batch */
    PROMPT_UNIT = 128,  /* room for prompts grows in units of this many tokens */
};

typedef struct gguf_state {
    int32_t sequence; /* NONE or LOST if there is no state of this number */
    int32_t position; /* position of its next token */
    int32_t input;
} gguf_state;

enum {
    NONE = -1, /* released, or its input has begun again */
    LOST = -2, /* a failure has destroyed it */
};

/* The values of session.heir that are not the number of a row. */
enum {
    OVERWRITTEN = -1, /* by this step, and no row continues it */
    KEPT = -2,        /* this step does not overwrite it */
};

typedef struct session {
    const gguf *model;
    sb_session_spec spec;
    bool keeps_prompts;
    struct llama_context *context; /* NULL until a prompt is known */
    llama_memory_t memory;
    int32_t prompt_room;         /* the longest prompt, in tokens, that fits the context */
    struct source_cache prompts; /* which prompt is at which place */
    float *prompt_logits; /* (max_inputs, n_vocab) by place: after the last token of the prompt */
    struct llama_batch batch; /* of up to n_batch tokens */
    int32_t n_batch;
    gguf_state *now;  /* (max_states) by number */
    gguf_state *next; /* (max_rows) of the rows of this step */
    int32_t *heir;    /* (max_states) the row of this step that takes over its sequence */
    int32_t *unused;  /* (max_states) sequences without a state */
    int32_t n_unused;
    bool *is_lost; /* (max_inputs) a failure destroyed its prompt: it must begin again */
    sb_error loss; /* that failure */
} session;

/* --- opening --- */

void gguf_session_close(void *opened)
{
    session *const s = opened;
    gguf_context_free(s->context);
    if (s->batch.token != NULL)
        llama_library.batch_free(s->batch);
    source_cache_close(&s->prompts);
    alloc_free(s->prompt_logits);
    alloc_free(s->now);
    alloc_free(s->next);
    alloc_free(s->heir);
    alloc_free(s->unused);
    alloc_free(s->is_lost);
    alloc_free(s);
}

static sb_status check_spec(const sb_session_spec *spec, sb_error *err)
{
    if (spec->max_rows < 1 || spec->max_len < 1)
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "max_rows is %d and max_len is %d; expected at least 1 each: a session of a GGUF "
            "model makes its cache for them",
            (int)spec->max_rows, (int)spec->max_len);
    const int64_t n_sequences = (int64_t)spec->max_states + spec->max_inputs;
    if (n_sequences > GGUF_MOST_SEQUENCES && spec->max_inputs > 1)
        return status_fail(err, SB_ERR_LIMIT,
                           "%d states of %d inputs need %lld sequences; llama.cpp has at most %d",
                           (int)spec->max_states, (int)spec->max_inputs, (long long)n_sequences,
                           GGUF_MOST_SEQUENCES);
    return SB_OK;
}

/* Forgets all states; `why` is NONE or LOST. The cache is not touched. */
static void clear_states(session *s, int32_t why)
{
    s->n_unused = 0;
    for (int32_t i = s->spec.max_states; i > 0; i--) {
        s->unused[s->n_unused++] = i - 1;
        s->now[i - 1].sequence = why;
    }
}

sb_status gguf_session_open(const void *self, const sb_session_spec *spec, void **opened,
                            sb_error *err)
{
    sb_status status = check_spec(spec, err);
    if (status != SB_OK)
        return status;
    session *const s = alloc_zeroed(1, sizeof *s);
    if (s == NULL)
        return status_no_memory(err);
    const size_t n_rows = (size_t)spec->max_rows, n_states = (size_t)spec->max_states;
    s->model = self;
    s->spec = *spec;
    s->keeps_prompts = spec->max_states + spec->max_inputs <= GGUF_MOST_SEQUENCES;
    s->n_batch = spec->max_rows > PROMPT_CHUNK ? spec->max_rows : PROMPT_CHUNK;
    s->prompt_logits =
        alloc_array((size_t)spec->max_inputs * (size_t)s->model->n_vocab, sizeof *s->prompt_logits);
    s->now = alloc_array(n_states, sizeof *s->now);
    s->next = alloc_array(n_rows, sizeof *s->next);
    s->heir = alloc_array(n_states, sizeof *s->heir);
    s->unused = alloc_array(n_states, sizeof *s->unused);
    s->is_lost = alloc_zeroed((size_t)spec->max_inputs, sizeof *s->is_lost);
    s->batch = llama_library.batch_init(s->n_batch, 0, 1);
    if (s->prompt_logits == NULL || s->now == NULL || s->next == NULL || s->heir == NULL ||
        s->unused == NULL || s->is_lost == NULL || s->batch.token == NULL)
        status = status_no_memory(err);
    else
        status = source_cache_open(&s->prompts, spec->max_inputs, err);
    if (status != SB_OK) {
        gguf_session_close(s);
        return status;
    }
    clear_states(s, NONE);
    *opened = s;
    return SB_OK;
}

/* --- the context --- */

/* Forgets all states and prompts, after a failure. */
static void forget_all(session *s)
{
    clear_states(s, LOST);
    for (int32_t i = 0; i < s->prompts.n; i++)
        s->is_lost[i] = s->is_lost[i] || s->prompts.place[i] >= 0;
    source_cache_clear(&s->prompts);
}

/* Repeats the failure that destroyed states and prompts. */
static sb_status tell_loss(const session *s, sb_error *err)
{
    return status_fail(err, s->loss.status, "%s", s->loss.message);
}

/* Gives up a context that llama.cpp left in the middle of a call; it may not even be freed. */
static void lose_context(session *s)
{
    forget_all(s);
    s->context = NULL;
}

/* Makes sure that there is a context with room for a prompt of n tokens. */
static sb_status reserve_prompt(session *s, int32_t n, sb_error *err)
{
    if (s->context != NULL && n <= s->prompt_room)
        return SB_OK;
    const int32_t room = (n + PROMPT_UNIT - 1) / PROMPT_UNIT * PROMPT_UNIT;
    const sb_session_spec *const spec = &s->spec;
    const int32_t n_sequences = spec->max_states + (s->keeps_prompts ? spec->max_inputs : 0);
    /* The last token of a sequence is not evaluated. */
    const int64_t n_cells =
        (int64_t)room * spec->max_inputs + (int64_t)spec->max_states * (spec->max_len - 1) + 1;
    const gguf_size size = {
        .n_cells = n_cells > n_sequences ? n_cells : n_sequences, /* llama.cpp's minimum */
        .n_sequences = n_sequences,
        .n_batch = s->n_batch,
        .threads = spec->threads > 0 ? spec->threads : 1,
    };
    struct llama_context *context = NULL;
    bool is_whole = true;
    sb_status status = gguf_context_make(s->model, &size, &context, err);
    if (status == SB_OK && s->context != NULL)
        status = gguf_context_move(s->context, context, &is_whole, &s->loss);
    if (!is_whole) {
        lose_context(s);
        return tell_loss(s, err);
    }
    if (status != SB_OK) {
        if (context != NULL) /* the context was made, but the cells could not be moved */
            tell_loss(s, err);
        gguf_context_free(context);
        return status;
    }
    gguf_context_free(s->context);
    s->context = context;
    s->memory = llama_library.get_memory(context);
    s->prompt_room = room;
    return SB_OK;
}

/* --- evaluation --- */

/* Adds a token to the batch. */
static void push_token(session *s, int32_t token, int32_t position, int32_t sequence,
                       bool wants_logits)
{
    const int32_t i = s->batch.n_tokens++;
    s->batch.token[i] = token;
    s->batch.pos[i] = position;
    s->batch.n_seq_id[i] = 1;
    s->batch.seq_id[i][0] = sequence;
    s->batch.logits[i] = wants_logits;
}

/* Evaluates the batch. After a failure the session has no states and no prompts. */
static sb_status run_batch(session *s, sb_error *err)
{
    bool is_whole;
    if (gguf_context_decode(s->context, s->batch, &is_whole, &s->loss) == SB_OK)
        return SB_OK;
    if (is_whole) {
        forget_all(s);
        llama_library.memory_clear(s->memory, true);
    } else {
        lose_context(s);
    }
    return tell_loss(s, err);
}

/* Reads the scores after token i of the batch. The tokens that end a generation are one leaf: their
 * probabilities are added up at the first of them, and the others get -inf. */
static sb_status read_logits(const session *s, int32_t i, float *row, sb_error *err)
{
    const gguf *const m = s->model;
    const float *const logits = llama_library.get_logits_ith(s->context, i);
    if (logits == NULL)
        return status_fail(err, SB_ERR_MODEL, "llama.cpp gives no logits for row %d", (int)i);
    memcpy(row, logits, (size_t)m->n_vocab * sizeof *row);
    if (m->n_ends < 2)
        return SB_OK;
    double sum = 0, largest = -INFINITY;
    for (int32_t j = 0; j < m->n_ends; j++)
        largest = fmax(largest, row[m->ends[j]]);
    for (int32_t j = 0; j < m->n_ends && largest > -INFINITY; j++) {
        sum += exp(row[m->ends[j]] - largest);
        row[m->ends[j]] = -INFINITY;
    }
    row[m->ends[0]] = largest > -INFINITY ? (float)(largest + log(sum)) : -INFINITY;
    return SB_OK;
}

static int32_t prompt_sequence(const session *s, int32_t place)
{
    return s->keeps_prompts ? s->spec.max_states + place : 0;
}

/* Evaluates the prompt at a place and keeps the logits after it. */
static sb_status evaluate_prompt(session *s, int32_t place, sb_error *err)
{
    const struct source_place *const prompt = &s->prompts.places[place];
    const int32_t sequence = prompt_sequence(s, place);
    llama_library.memory_seq_rm(s->memory, sequence, -1, -1);
    for (int32_t first = 0; first < prompt->n; first += s->n_batch) {
        const int32_t end = prompt->n - first > s->n_batch ? first + s->n_batch : prompt->n;
        s->batch.n_tokens = 0;
        for (int32_t i = first; i < end; i++)
            push_token(s, prompt->ids[i], i, sequence, i == prompt->n - 1);
        const sb_status status = run_batch(s, err);
        if (status != SB_OK)
            return status;
    }
    return read_logits(s, s->batch.n_tokens - 1,
                       s->prompt_logits + (size_t)place * (size_t)s->model->n_vocab, err);
}

/* --- inputs, states and rows --- */

/* Removes a state, if there is one of this number. */
static void free_state(session *s, int32_t state)
{
    const int32_t sequence = s->now[state].sequence;
    if (sequence < 0)
        return;
    llama_library.memory_seq_rm(s->memory, sequence, -1, -1);
    s->unused[s->n_unused++] = sequence;
    s->now[state].sequence = NONE;
}

void gguf_session_release(void *opened, int32_t n, const int32_t *states)
{
    session *const s = opened;
    for (int32_t i = 0; i < n; i++)
        free_state(s, states[i]);
}

/* Removes the states of an input that begins again: no row continues them, and the prompt needs the
 * room. */
static void drop_states_of(session *s, int32_t input)
{
    for (int32_t i = 0; i < s->spec.max_states; i++)
        if (s->now[i].sequence >= 0 && s->now[i].input == input)
            free_state(s, i);
}

static sb_status begin_tokens(session *s, int32_t input, const int32_t *ids, int32_t n,
                              sb_error *err)
{
    const int32_t trained = gguf_longest(s->model);
    if (trained > 0 && (int64_t)n + s->spec.max_len - 1 > trained)
        return status_fail(err, SB_ERR_INPUT,
                           "a prompt of %d tokens and %d more need a context of %lld; the model's "
                           "is %d%s",
                           (int)n, (int)s->spec.max_len, (long long)n + s->spec.max_len - 1,
                           (int)trained,
                           n < trained ? ", so lower max-len" : ", so shorten the prompt");
    drop_states_of(s, input);
    sb_status status = reserve_prompt(s, n, err);
    bool is_new = false;
    s->is_lost[input] = false;
    if (status == SB_OK)
        status = source_cache_begin(&s->prompts, input, ids, n, &is_new, err);
    if (status == SB_OK && is_new && s->keeps_prompts)
        status = evaluate_prompt(s, s->prompts.place[input], err);
    if (status != SB_OK && s->prompts.place[input] >= 0 && is_new)
        source_cache_forget(&s->prompts, input); /* because it has no logits */
    return status;
}

sb_status gguf_session_begin(void *opened, int32_t input, const char *text, size_t size,
                             sb_error *err)
{
    session *const s = opened;
    int32_t *ids = NULL, n = 0;
    sb_status status = gguf_encode_prompt(s->model, text, size, &ids, &n, err);
    if (status == SB_OK)
        status = begin_tokens(s, input, ids, n, err);
    alloc_free(ids);
    return status;
}

/* Makes row i the first row of an input: its prompt, whose logits are known. */
static sb_status start_row(session *s, int32_t i, int32_t input, float *row, sb_error *err)
{
    const int32_t place = s->prompts.place[input];
    gguf_state *const new = &s->next[i];
    *new = (gguf_state){.position = s->prompts.places[place].n, .input = input};
    if (s->keeps_prompts) {
        new->sequence = s->unused[--s->n_unused];
        llama_library.memory_seq_cp(s->memory, prompt_sequence(s, place), new->sequence, -1, -1);
    } else {
        if (s->n_unused < s->spec.max_states)
            return status_fail(err, SB_ERR_STATE,
                               "an input begins again while it has %d states; with this number of "
                               "states there is no sequence left for its prompt",
                               (int)(s->spec.max_states - s->n_unused));
        clear_states(s, NONE); /* so that sequence 0 is the next one */
        const sb_status status = evaluate_prompt(s, place, err);
        if (status != SB_OK)
            return status;
        new->sequence = s->unused[--s->n_unused];
    }
    memcpy(row, s->prompt_logits + (size_t)place * (size_t)s->model->n_vocab,
           (size_t)s->model->n_vocab * sizeof *row);
    return SB_OK;
}

/* Removes all states from the session and the cache, also those of a step that failed halfway. */
static void drop_states(session *s)
{
    for (int32_t i = 0; i < s->spec.max_states && s->context != NULL; i++)
        llama_library.memory_seq_rm(s->memory, i, -1, -1);
    clear_states(s, NONE);
}

/* Finds, for each state that is overwritten, the row that takes over its sequence. Removes the
 * overwritten states that no row continues. */
static sb_status choose_heirs(session *s, int32_t n_rows, const int32_t *from, const int32_t *to,
                              sb_error *err)
{
    for (int32_t i = 0; i < s->spec.max_states; i++)
        s->heir[i] = KEPT;
    for (int32_t i = 0; i < n_rows; i++)
        s->heir[to[i]] = OVERWRITTEN;
    for (int32_t i = n_rows; i > 0; i--) {
        const int32_t state = from[i - 1];
        if (state >= 0 && s->now[state].sequence == LOST)
            return tell_loss(s, err);
        if (state >= 0 && s->now[state].sequence == NONE)
            return status_fail(err, SB_ERR_STATE,
                               "row %d continues a state of an input that has begun again since",
                               (int)i - 1);
        if (state >= 0 && s->heir[state] != KEPT)
            s->heir[state] = i - 1;
    }
    for (int32_t i = 0; i < s->spec.max_states; i++)
        if (s->heir[i] == OVERWRITTEN)
            free_state(s, i);
    return SB_OK;
}

/* Begins an input that has not begun yet with the empty prompt. */
static sb_status make_sure_of_prompt(session *s, int32_t input, sb_error *err)
{
    if (s->is_lost[input])
        return tell_loss(s, err);
    return s->prompts.place[input] >= 0 ? SB_OK : gguf_session_begin(s, input, "", 0, err);
}

/* Makes row i a continuation of a state, with its sequence or a copy of it. */
static void continue_state(session *s, int32_t i, int32_t from, int32_t token)
{
    gguf_state *const new = &s->next[i];
    *new = s->now[from];
    if (s->heir[from] != i) {
        new->sequence = s->unused[--s->n_unused];
        llama_library.memory_seq_cp(s->memory, s->now[from].sequence, new->sequence, -1, -1);
    }
    push_token(s, token, new->position++, new->sequence, true);
}

sb_status gguf_session_step(void *opened, int32_t n_rows, const int32_t *from, const int32_t *to,
                            const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    session *const s = opened;
    const size_t n_vocab = (size_t)s->model->n_vocab;
    float *const row = rows;
    sb_status status = SB_OK;
    if (n_rows > s->spec.max_rows)
        return status_fail(err, SB_ERR_LIMIT, "%d rows at once; the session was opened for %d",
                           (int)n_rows, (int)s->spec.max_rows);
    for (int32_t i = 0; status == SB_OK && i < n_rows; i++)
        if (from[i] < 0)
            status = make_sure_of_prompt(s, input[i], err);
    if (status == SB_OK)
        status = choose_heirs(s, n_rows, from, to, err);
    /* First rows come first: evaluating their prompts needs the batch. */
    for (int32_t i = 0; status == SB_OK && i < n_rows; i++)
        if (from[i] < 0)
            status = start_row(s, i, input[i], row + (size_t)i * n_vocab, err);
    if (status != SB_OK) {
        drop_states(s);
        return status;
    }
    s->batch.n_tokens = 0;
    for (int32_t i = 0; i < n_rows; i++)
        if (from[i] >= 0)
            continue_state(s, i, from[i], token[i]);
    for (int32_t i = 0; i < n_rows; i++)
        s->now[to[i]] = s->next[i];
    if (s->batch.n_tokens == 0)
        return SB_OK;
    status = run_batch(s, err);
    for (int32_t i = 0, place = 0; status == SB_OK && i < n_rows; i++)
        if (from[i] >= 0)
            status = read_logits(s, place++, row + (size_t)i * n_vocab, err);
    return status;
}
