/* Tests sequence-to-sequence models in use: sessions, changing sources, and draws that do not
 * depend on the other rows of a batch. */
#include "base/source_cache.h"
#include "draw_check.h"
#include "model_check.h"
#include "model_edit.h"
#include "nn/gemm.h"

static const char tiny[] = TEST_DATA "/tiny-fconv/model.safetensors";
static const char half_precision[] = TEST_DATA "/tiny-fconv-f16/model.safetensors";

enum {
    TINY_VOCAB = 51,
    TINY_LONGEST = 38, /* positions: 40 rows of the table, of which the first two are not used */
    MAX_VOCAB = 64,
};

static uint64_t generator;

static int32_t random_below(int32_t n)
{
    generator = generator * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((generator >> 33) % (uint64_t)n);
}

/* --- sessions --- */

/* With our own products a row has the same bits whatever is beside it; with a BLAS it may not. */
static void assert_same_row(const float *a, const float *b, int32_t vocab)
{
    if (gemm_best_way() == GEMM_PACKED) {
        assert_memory_equal(a, b, (size_t)vocab * sizeof *a);
        return;
    }
    double scale = 1;
    for (int32_t i = 0; i < vocab; i++)
        if (b[i] > -INFINITY)
            scale = fmax(scale, fabs((double)b[i]));
    for (int32_t i = 0; i < vocab; i++)
        if (a[i] != b[i] && !(fabs((double)a[i] - (double)b[i]) <= 1e-5 * scale))
            fail_msg("token %d: %.9g, expected %.9g", (int)i, (double)a[i], (double)b[i]);
}

static sb_session *open_session(const sb_model *model, int32_t max_inputs)
{
    sb_session *session;
    assert_int_equal(
        sb_session_open(&session, model, &(sb_session_spec){.max_inputs = max_inputs}, NULL),
        SB_OK);
    return session;
}

static void begin(sb_session *session, int32_t input, const char *text)
{
    sb_error err = {.message = ""};
    if (sb_session_begin(session, input, text, strlen(text), &err) != SB_OK)
        fail_msg("%s", err.message);
}

static void step_one(sb_session *session, int32_t parent, int32_t token, int32_t input, float *row)
{
    sb_error err = {.message = ""};
    if (session_rows(session, 1, &parent, &token, &input, row, &err) != SB_OK)
        fail_msg("%s", err.message);
}

/* The row after a path, computed alone. */
static void row_alone(const sb_model *model, const char *source, const int32_t *path, int32_t n,
                      float *row)
{
    sb_session *const session = open_session(model, 1);
    begin(session, 0, source);
    step_one(session, -1, -1, 0, row);
    for (int32_t i = 0; i < n; i++)
        step_one(session, 0, path[i], 0, row);
    sb_session_close(session);
}

static void beginning(void **state)
{
    (void)state;
    sb_model *const model = open_file(tiny);
    sb_session *const session = open_session(model, 3);
    float row[TINY_VOCAB], expected[TINY_VOCAB];
    row_alone(model, "", NULL, 0, expected);
    step_one(session, -1, -1, 1, row); /* without a beginning */
    assert_same_row(row, expected, TINY_VOCAB);
    begin(session, 2, " \t\n");
    step_one(session, -1, -1, 2, row);
    assert_same_row(row, expected, TINY_VOCAB);
    row_alone(model, "s3 <unk> s5", NULL, 0, expected);
    begin(session, 2, "  s3\tzebra s5 ");
    step_one(session, -1, -1, 2, row);
    assert_same_row(row, expected, TINY_VOCAB);
    assert_true(row[0] == -INFINITY && row[1] == -INFINITY && row[2] > -INFINITY);
    sb_session_close(session);
    sb_model_close(model);

    model_edit edit;
    size_t size;
    sb_model *strict = NULL;
    model_edit_open(&edit, tiny);
    model_edit_set(&edit, "source/unknown", NULL);
    uint8_t *const file = model_edit_write(&edit, &size);
    assert_int_equal(model_open_memory(&strict, "m", file, size, NULL), SB_OK);
    check_prefix_refused(strict, "s3 zebra", "the model has no source token 'zebra'");
    sb_model_close(strict);
    free(file);
    model_edit_close(&edit);
}

static void longest(void **state)
{
    (void)state;
    sb_model *const model = open_file(tiny);
    char source[3 * TINY_LONGEST + 1] = "";
    for (int i = 0; i < TINY_LONGEST; i++)
        strcat(source, "s1 ");
    check_prefix_refused(model, source, "38 tokens; the model takes at most 37");
    sb_session *const session = open_session(model, 1);
    begin(session, 0, source + 3);
    float row[TINY_VOCAB], first[TINY_VOCAB];
    const int32_t parent = 0, token = 9, input = 0;
    sb_error err = {.message = ""};
    step_one(session, -1, -1, 0, first);
    for (int i = 1; i < TINY_LONGEST; i++)
        step_one(session, 0, token, 0, row);
    assert_int_equal(session_rows(session, 1, &parent, &token, &input, row, &err), SB_ERR_LIMIT);
    assert_string_equal(err.message, "row 0: the sequence is too long; the model has 38 positions");
    assert_int_equal(session_rows(session, 1, &parent, &token, &input, row, &err),
                     SB_ERR_ARGUMENT); /* a failure leaves no rows */
    step_one(session, -1, -1, 0, row);
    assert_same_row(row, first, TINY_VOCAB);
    sb_session_close(session);

    /* A draw stops before, whatever max-len says. */
    sb_config config = config_of(SB_METHOD_SAMPLE, 20);
    config.temperature = 10; /* the end token is seldom */
    sb_result *const result = draw(model, &config, 0);
    int32_t most = 0;
    for (int32_t i = 0; i < result->n_sequences; i++)
        most = result->sequences[i].n_tokens > most ? result->sequences[i].n_tokens : most;
    assert_int_equal(most, TINY_LONGEST);
    sb_result_close(result);
    sb_model_close(model);
}

enum { SLOTS = 4, MOST_ROWS = 9, WALK_STEPS = 120 };

static const char *const sources[] = {"s1 s2 s3", "s30", "", "s4 s4 s5 s6 s7 s8 s9 s10 s11"};

typedef struct walk_row {
    int32_t input, n, path[TINY_LONGEST];
    int32_t epoch; /* of its input: which beginning it belongs to */
} walk_row;

typedef struct walk {
    sb_session *session;
    const char *source[SLOTS];
    int32_t epoch[SLOTS];
    walk_row rows[MOST_ROWS];
    int32_t n_rows;
} walk;

/* Takes a row of the last step that can go on, or starts an input anew. */
static void choose(const walk *w, int32_t vocab, walk_row *row, int32_t *parent, int32_t *token)
{
    *parent = w->n_rows > 0 && random_below(5) > 0 ? random_below(w->n_rows) : -1;
    const walk_row *const from = *parent >= 0 ? &w->rows[*parent] : NULL;
    if (from == NULL || from->n + 1 >= 20 || from->epoch != w->epoch[from->input]) {
        const int32_t input = random_below(SLOTS);
        *row = (walk_row){.input = input, .epoch = w->epoch[input]};
        *parent = *token = -1;
        return;
    }
    *row = *from;
    *token = random_below(vocab);
    row->path[row->n++] = *token;
}

/* Rows of several inputs, of any length, from any parent, while inputs begin anew and share their
 * sources: each is what it is alone. */
static void check_walk(const char *path)
{
    sb_model *const model = open_file(path);
    const int32_t vocab = sb_model_get_info(model)->vocab_size;
    walk w = {.session = open_session(model, SLOTS), .source = {"", "", "", ""}};
    generator = 7;
    for (int step = 0; step < WALK_STEPS; step++) {
        walk_row next[MOST_ROWS];
        int32_t parent[MOST_ROWS], token[MOST_ROWS], input[MOST_ROWS];
        float rows[MOST_ROWS * MAX_VOCAB], alone[MAX_VOCAB];
        if (random_below(3) == 0) {
            const int32_t slot = random_below(SLOTS);
            w.source[slot] = sources[random_below(4)];
            w.epoch[slot]++;
            begin(w.session, slot, w.source[slot]);
        }
        const int32_t n = 1 + random_below(MOST_ROWS);
        for (int32_t i = 0; i < n; i++) {
            choose(&w, vocab, &next[i], &parent[i], &token[i]);
            input[i] = next[i].input;
        }
        assert_int_equal(session_rows(w.session, n, parent, token, input, rows, NULL), SB_OK);
        for (int32_t i = 0; i < n; i++) {
            row_alone(model, w.source[input[i]], next[i].path, next[i].n, alone);
            assert_same_row(rows + i * vocab, alone, vocab);
        }
        memcpy(w.rows, next, sizeof next);
        w.n_rows = n;
    }
    sb_session_close(w.session);
    sb_model_close(model);
}

static void rows_side_by_side(void **state)
{
    (void)state;
    check_walk(tiny);
    check_walk(half_precision);
}

/* After memory has failed once, the same session goes on as if nothing had been. */
static void memory_fails_once(void **state)
{
    (void)state;
    sb_model *const model = open_file(tiny);
    float row[TINY_VOCAB], expected[TINY_VOCAB];
    row_alone(model, sources[3], (int32_t[]){7}, 1, expected);
    bool ended = false;
    for (long n = 1; !ended; n++) {
        const int32_t parent = 0, root = -1, token = 7, input = 1;
        sb_session *const session = open_session(model, 2);
        begin(session, 0, "s2");
        alloc_fail_at(n);
        sb_status status = sb_session_begin(session, 1, sources[3], strlen(sources[3]), NULL);
        if (status == SB_OK)
            status = session_rows(session, 1, &root, &root, &input, row, NULL);
        if (status == SB_OK)
            status = session_rows(session, 1, &parent, &token, &input, row, NULL);
        ended = !alloc_has_failed();
        alloc_fail_at(0);
        assert_int_equal(status, ended ? SB_OK : SB_ERR_MEMORY);
        begin(session, 1, sources[3]);
        step_one(session, -1, -1, 1, row);
        step_one(session, 0, 7, 1, row);
        assert_same_row(row, expected, TINY_VOCAB);
        sb_session_close(session);
    }
    sb_model_close(model);
}

static void sources_are_shared(void **state)
{
    (void)state;
    static const int32_t a[] = {5, 6, 2}, b[] = {5, 7, 2};
    struct source_cache cache;
    bool is_new;
    assert_int_equal(source_cache_open(&cache, 2, NULL), SB_OK);
    assert_int_equal(source_cache_begin(&cache, 0, a, 3, &is_new, NULL), SB_OK);
    assert_true(is_new);
    assert_int_equal(source_cache_begin(&cache, 1, a, 3, &is_new, NULL), SB_OK);
    assert_true(!is_new && cache.place[0] == cache.place[1]);
    assert_int_equal(source_cache_begin(&cache, 1, a, 2, &is_new, NULL), SB_OK);
    assert_true(is_new && cache.place[0] != cache.place[1]); /* shorter is another */
    assert_int_equal(source_cache_begin(&cache, 1, b, 3, &is_new, NULL), SB_OK);
    assert_true(is_new && cache.place[0] != cache.place[1]);
    source_cache_forget(&cache, 1); /* its encoding failed: nobody may find it */
    assert_int_equal(cache.place[1], -1);
    assert_int_equal(source_cache_begin(&cache, 1, b, 3, &is_new, NULL), SB_OK);
    assert_true(is_new);
    /* Both change places by way of what the other has left. */
    assert_int_equal(source_cache_begin(&cache, 0, b, 3, &is_new, NULL), SB_OK);
    assert_true(!is_new);
    assert_int_equal(source_cache_begin(&cache, 1, a, 3, &is_new, NULL), SB_OK);
    assert_true(!is_new && cache.place[0] != cache.place[1]);
    source_cache_close(&cache);
}

/* --- draws --- */

enum { N_INPUTS = 30 };

static void make_inputs(char text[][64], sb_input *inputs)
{
    generator = 11;
    for (int i = 0; i < N_INPUTS; i++) {
        text[i][0] = '\0';
        for (int32_t j = random_below(9); j > 0; j--)
            snprintf(text[i] + strlen(text[i]), 64 - strlen(text[i]), "s%d ",
                     (int)random_below(33));
        inputs[i] = (sb_input){text[i], strlen(text[i]), (uint64_t)i, NULL};
    }
}

static void assert_near_results(const sb_result *a, const sb_result *b)
{
    assert_int_equal(a->n_sequences, b->n_sequences);
    for (int32_t i = 0; i < a->n_sequences; i++) {
        const sb_sequence *const x = &a->sequences[i], *const y = &b->sequences[i];
        assert_int_equal(x->n_tokens, y->n_tokens);
        for (int32_t j = 0; j < x->n_tokens; j++)
            assert_int_equal(x->tokens[j], y->tokens[j]);
        assert_true(fabs(x->g - y->g) <= 1e-4);
    }
}

static void draws_stand_alone(void **state)
{
    (void)state;
    static const int32_t plans[][2] = {{1, 1}, {16, 1}, {1, 2}, {16, 2}, {3, 2}};
    enum { N_PLANS = sizeof plans / sizeof *plans };
    static char text[N_INPUTS][64];
    sb_input inputs[N_INPUTS];
    sb_result *results[N_PLANS][N_INPUTS];
    sb_model *const model = open_file(tiny);
    sb_config config = config_of(SB_METHOD_SBS, 5);
    config.max_len = 12;
    make_inputs(text, inputs);
    for (int p = 0; p < N_PLANS; p++) {
        sb_plan plan;
        sb_error err = {.message = ""};
        sb_plan_default(&plan);
        plan.batch = plans[p][0];
        plan.threads = plans[p][1];
        for (int i = 0; i < N_INPUTS; i++)
            assert_int_equal(sb_result_open(&results[p][i], NULL), SB_OK);
        if (sb_draw_batch(model, inputs, N_INPUTS, &config, &plan, results[p], &err) != SB_OK)
            fail_msg("%s", err.message);
        for (int i = 0; i < N_INPUTS; i++) {
            const sb_result *const r = results[p][i];
            assert_int_equal(r->n_sequences, 5);
            for (int32_t j = 0; j < 5; j++) /* 0 and 1 are outside of the support */
                for (int32_t t = 0; t < r->sequences[j].n_tokens; t++)
                    assert_true(r->sequences[j].tokens[t] > 1);
            if (gemm_best_way() == GEMM_PACKED)
                assert_same_results(r, results[0][i]);
            else
                assert_near_results(r, results[0][i]);
        }
    }
    for (int p = 0; p < N_PLANS; p++)
        for (int i = 0; i < N_INPUTS; i++)
            sb_result_close(results[p][i]);
    sb_model_close(model);
}

/* --- text --- */

static void note(void *user, const char *name, const char *value)
{
    char *const text = user;
    assert_true(strlen(text) + strlen(name) + strlen(value) + 3 < 1000);
    sprintf(text + strlen(text), "%s=%s\n", name, value);
}

static void information(void **state)
{
    (void)state;
    sb_model *const model = open_file(tiny);
    const sb_model_info *const info = sb_model_get_info(model);
    char text[1000] = "";
    assert_string_equal(info->kind, "seq2seq");
    assert_int_equal(info->vocab_size, TINY_VOCAB);
    assert_int_equal(info->eos, 2);
    assert_int_equal(info->row_type, SB_ROW_FLOAT);
    assert_true(info->needs_input);
    assert_int_equal(info->max_len, TINY_LONGEST);
    assert_false(sb_model_has_own_text(model));
    sb_model_describe(model, note, text);
    static const char *const facts[] = {
        "name=tiny-fconv\n",      "architecture=fconv\n", "text=tokens separated by blanks\n",
        "source vocabulary=37\n", "longest source=37\n",  "longest output=38\n",
        "end token=</s>\n"};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strstr(text, facts[i]) == NULL)
            fail_msg("expected %s among:\n%s", facts[i], text);
    sb_model_close(model);
}

static void check_decoded(const sb_model *model, const int32_t *tokens, int32_t n,
                          const char *expected)
{
    char *text = NULL;
    assert_int_equal(sb_model_decode(model, tokens, n, &text, NULL), SB_OK);
    assert_string_equal(text, expected);
    sb_free(text);
}

static void markers(void **state)
{
    (void)state;
    model_edit edit;
    size_t size;
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    char words[1000] = "<pad>\n<s>\n</s>\n<unk>\na@@\nb\n@@\n";
    for (int i = 7; i < TINY_VOCAB; i++)
        sprintf(words + strlen(words), "w%d\n", i);
    model_edit_open(&edit, tiny);
    model_edit_set(&edit, "$target.dictionary", words);
    uint8_t *const file = model_edit_write(&edit, &size);
    if (model_open_memory(&model, "m", file, size, &err) != SB_OK)
        fail_msg("%s", err.message);
    static const int32_t tokens[] = {4, 5, 7, 4};
    check_decoded(model, tokens, 4, "a@@ b w7 a@@");
    assert_int_equal(sb_model_set_marker(model, "@@", &err), SB_OK);
    check_decoded(model, tokens, 4, "ab w7 a");
    assert_int_equal(sb_model_set_pretokenized(model, true, &err), SB_OK); /* as it is */
    check_decoded(model, tokens, 4, "ab w7 a");
    int32_t *found = NULL, n = 0;
    assert_int_equal(sb_model_encode(model, "a@@ b w7", 8, &found, &n, &err), SB_OK);
    assert_true(n == 3 && found[0] == 4 && found[1] == 5 && found[2] == 7);
    sb_free(found);
    assert_int_equal(sb_model_encode(model, "a s1", 4, &found, &n, &err), SB_ERR_INPUT);
    assert_string_equal(err.message, "the model has no token 'a'");
    assert_int_equal(token_of(model, "</s>"), 2);
    assert_int_equal(sb_model_find_token(model, "s1", 2), -1); /* a source token */
    sb_model_close(model);
    free(file);
    model_edit_close(&edit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(beginning),          cmocka_unit_test(longest),
        cmocka_unit_test(rows_side_by_side),  cmocka_unit_test(memory_fails_once),
        cmocka_unit_test(sources_are_shared), cmocka_unit_test(draws_stand_alone),
        cmocka_unit_test(information),        cmocka_unit_test(markers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
