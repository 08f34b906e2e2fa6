/* Tests the states of a session. The caller numbers the states; a row can continue any state, and
 * overwrite any state. Random programs of steps, releases, saves and restores are run with every
 * kind of model. Each row must equal the row of its prefix in a session that computes nothing
 * else. */
#include "model_check.h"

enum { N_STATES = 9, MOST_AT_ONCE = 5, LONGEST = 6, N_INPUTS = 2, MOST_VOCAB = 4096 };

/* A state, as the test expects it. */
struct prefix {
    bool exists;
    int32_t input, n;
    int32_t tokens[LONGEST];
    double row[MOST_VOCAB]; /* the row after the prefix */
};

struct program {
    sb_model *model;
    sb_session *session, *alone; /* `alone` has only state 0 */
    const char *texts[N_INPUTS];
    double tolerance;
    uint64_t random;
    struct prefix states[N_STATES];
};

static int32_t pick(struct program *p, int32_t n)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((p->random >> 33) % (uint64_t)n);
}

static double score_at(const struct program *p, const void *rows, size_t i)
{
    return sb_model_get_info(p->model)->row_type == SB_ROW_FLOAT ? (double)((const float *)rows)[i]
                                                                 : ((const double *)rows)[i];
}

/* Chooses a child that is possible and grows. Returns -1 if the state has none. */
static int32_t choose_token(struct program *p, int32_t state)
{
    const sb_model_info *const info = sb_model_get_info(p->model);
    const int32_t first = pick(p, info->vocab_size);
    for (int32_t i = 0; i < info->vocab_size; i++) {
        const int32_t token = (first + i) % info->vocab_size;
        if (p->states[state].row[token] > -INFINITY && token != info->eos &&
            !sb_session_is_leaf(p->session, state, token))
            return token;
    }
    return -1;
}

/* Computes the row of a prefix in the session that has only state 0. */
static void row_alone(struct program *p, const struct prefix *prefix, void *row)
{
    const char *const text = p->texts[prefix->input];
    const int32_t state = 0, input = 0;
    assert_int_equal(sb_session_release(p->alone, 1, &state, NULL), SB_OK);
    assert_int_equal(sb_session_begin(p->alone, 0, text, strlen(text), NULL), SB_OK);
    for (int32_t i = 0; i <= prefix->n; i++) {
        const int32_t from = i == 0 ? -1 : 0, token = i == 0 ? -1 : prefix->tokens[i - 1];
        assert_int_equal(sb_session_step(p->alone, 1, &from, &state, &token, &input, row, NULL),
                         SB_OK);
    }
}

/* Makes a step of random rows. Numbers of new states are chosen among all numbers, so some
 * overwrite a state that the step continues, some another state, and some none. */
static void random_step(struct program *p)
{
    const int32_t vocab = sb_model_get_info(p->model)->vocab_size;
    int32_t from[MOST_AT_ONCE], to[MOST_AT_ONCE], token[MOST_AT_ONCE], input[MOST_AT_ONCE];
    static struct prefix next[MOST_AT_ONCE];
    double *const rows = malloc(MOST_AT_ONCE * MOST_VOCAB * sizeof *rows);
    double *const expected = malloc(MOST_VOCAB * sizeof *expected);
    bool is_taken[N_STATES] = {false};
    const int32_t n = 1 + pick(p, MOST_AT_ONCE);
    for (int32_t i = 0; i < n; i++) {
        const int32_t state = pick(p, N_STATES);
        const bool grows = p->states[state].exists && p->states[state].n < LONGEST;
        token[i] = grows ? choose_token(p, state) : -1;
        from[i] = token[i] < 0 ? -1 : state;
        next[i] = token[i] < 0 ? (struct prefix){.exists = true, .input = pick(p, N_INPUTS)}
                               : p->states[state];
        if (token[i] >= 0)
            next[i].tokens[next[i].n++] = token[i];
        input[i] = next[i].input;
        do
            to[i] = pick(p, N_STATES);
        while (is_taken[to[i]]);
        is_taken[to[i]] = true;
    }
    assert_int_equal(sb_session_step(p->session, n, from, to, token, input, rows, NULL), SB_OK);
    for (int32_t i = 0; i < n; i++) {
        row_alone(p, &next[i], expected);
        for (int32_t t = 0; t < vocab; t++) {
            next[i].row[t] = score_at(p, rows, (size_t)i * (size_t)vocab + (size_t)t);
            const double wanted = score_at(p, expected, (size_t)t);
            assert_true(next[i].row[t] == wanted || fabs(next[i].row[t] - wanted) <= p->tolerance);
        }
        p->states[to[i]] = next[i];
    }
    free(expected);
    free(rows);
}

static void random_release(struct program *p)
{
    const int32_t states[] = {pick(p, N_STATES), pick(p, N_STATES)};
    assert_int_equal(sb_session_release(p->session, 2, states, NULL), SB_OK);
    p->states[states[0]].exists = p->states[states[1]].exists = false;
    assert_false(sb_session_is_leaf(p->session, states[0], 0));
    /* Nothing continues a state that was released. */
    const int32_t token = 0, input = 0, to = 0;
    double *const row = malloc(MOST_VOCAB * sizeof *row);
    assert_int_equal(sb_session_step(p->session, 1, &states[0], &to, &token, &input, row, NULL),
                     SB_ERR_ARGUMENT);
    free(row);
}

/* Moves a state to two other numbers by its bytes. */
static void random_restore(struct program *p)
{
    const int32_t state = pick(p, N_STATES), other = pick(p, N_STATES);
    if (!p->states[state].exists || !sb_model_has_states(p->model) || other == state)
        return;
    const size_t size = sb_session_state_size(p->session);
    char *const bytes = malloc(2 * size + 1);
    assert_int_equal(sb_session_save(p->session, state, bytes, NULL), SB_OK);
    memcpy(bytes + size, bytes, size);
    const int32_t states[] = {other, state};
    assert_int_equal(sb_session_restore(p->session, 2, states, bytes, NULL), SB_OK);
    p->states[other] = p->states[state];
    free(bytes);
}

static void run_programs(const char *path, const char *first, const char *second, double tolerance,
                         int n_programs)
{
    struct program *const p = calloc(1, sizeof *p);
    *p = (struct program){.model = open_file(path), .texts = {first, second}};
    p->tolerance = tolerance;
    assert_true(sb_model_get_info(p->model)->vocab_size <= MOST_VOCAB);
    const sb_session_spec spec = {.max_inputs = N_INPUTS,
                                  .max_rows = MOST_AT_ONCE,
                                  .max_states = N_STATES,
                                  .max_len = LONGEST + 2};
    for (int program = 0; program < n_programs; program++) {
        p->random = (uint64_t)program + 1;
        for (int32_t i = 0; i < N_STATES; i++)
            p->states[i].exists = false;
        assert_int_equal(sb_session_open(&p->session, p->model, &spec, NULL), SB_OK);
        assert_int_equal(
            sb_session_open(&p->alone, p->model,
                            &(sb_session_spec){.max_inputs = 1, .max_rows = 1, .max_len = 8}, NULL),
            SB_OK);
        for (int32_t i = 0; i < N_INPUTS; i++)
            assert_int_equal(
                sb_session_begin(p->session, i, p->texts[i], strlen(p->texts[i]), NULL), SB_OK);
        for (int step = 0; step < 25; step++) {
            random_step(p);
            if (pick(p, 3) == 0)
                random_release(p);
            if (pick(p, 3) == 0)
                random_restore(p);
        }
        sb_session_close(p->alone);
        sb_session_close(p->session);
    }
    sb_model_close(p->model);
    free(p);
}

static void trees_keep_their_states(void **state)
{
    (void)state;
    run_programs(TEST_DATA "/uneven.json", "", "on", 0, 40);
    run_programs(TEST_DATA "/fig1.json", "", "1", 0, 40);
}

static void chains_keep_their_states(void **state)
{
    (void)state;
    run_programs(TEST_DATA "/chain.json", "", "", 0, 40);
}

static void arpa_models_keep_their_states(void **state)
{
    (void)state;
    run_programs(TEST_DATA "/small.arpa", "", "a", 0, 40);
}

/* The tolerance is for machines on which OpenBLAS multiplies, whose bits depend on the batch. */
static void networks_keep_their_states(void **state)
{
    (void)state;
#ifdef SBEAM_HAVE_NN
    run_programs(TEST_DATA "/tiny-fconv/model.safetensors", "s1 s2 s3", "s4 s5", 1e-4, 10);
#else
    skip();
#endif
}

static void gguf_models_keep_their_states(void **state)
{
    (void)state;
#ifdef SBEAM_HAVE_LLAMA
    const char *const path = getenv("SBEAM_GGUF");
    if (path == NULL || path[0] == '\0') {
        print_message("skipped: GGUF models: SBEAM_GGUF names no file\n");
        skip();
    }
    run_programs(path, "Once upon a time", "Tom", 1e-3, 4);
#else
    skip();
#endif
}

/* The numbers are checked before the model sees them. */
static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    sb_model *const model = open_file(TEST_DATA "/fig1.json");
    const sb_session_spec spec = {.max_inputs = 1, .max_rows = 2, .max_states = 3};
    const int32_t none[] = {-1, -1}, input[] = {0, 0};
    sb_session *session;
    sb_error err;
    double rows[4];
    assert_int_equal(sb_session_open(&session, model, &spec, NULL), SB_OK);
    assert_int_equal(sb_session_step(session, 1, none, (int32_t[]){3}, none, input, rows, &err),
                     SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "row 0: to is 3; expected 0 to 2");
    assert_int_equal(sb_session_step(session, 2, none, (int32_t[]){2, -1}, none, input, rows, &err),
                     SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "row 1: to is -1; expected 0 to 2");
    assert_int_equal(sb_session_step(session, 2, none, (int32_t[]){1, 1}, none, input, rows, &err),
                     SB_ERR_ARGUMENT);
    assert_string_equal(err.message, "row 1: to is 1, as in a row before; expected another number");
    assert_int_equal(sb_session_step(session, 2, none, NULL, none, input, rows, &err),
                     SB_ERR_ARGUMENT);
    assert_int_equal(sb_session_step(session, 2, none, (int32_t[]){1, 2}, none, input, rows, &err),
                     SB_OK);
    sb_session_close(session);
    assert_int_equal(sb_session_open(&session, model,
                                     &(sb_session_spec){.max_inputs = 1, .max_states = -1}, &err),
                     SB_ERR_ARGUMENT);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_keep_their_states),
        cmocka_unit_test(chains_keep_their_states),
        cmocka_unit_test(arpa_models_keep_their_states),
        cmocka_unit_test(networks_keep_their_states),
        cmocka_unit_test(gguf_models_keep_their_states),
        cmocka_unit_test(wrong_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
