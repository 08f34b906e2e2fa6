/* Tests two published n-gram models of CMU Sphinx: English phones (gzip, 43 words) and English
 * words (xz, 72,547 words and 3.7 million n-grams). SBEAM_TEST_MODELS names their folder; without
 * it these tests say that they were skipped.
 *
 * Known answers are sums of numbers that the files list, base 10, each with its line number. */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "draw_check.h"
#include "model_check.h"

extern char **environ;

static const double ln_10 = 2.302585092994045684;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The path of a model, or a skipped test. */
static void find_model(const char *name, char *path, size_t size)
{
    const char *const folder = getenv("SBEAM_TEST_MODELS");
    if (folder == NULL || folder[0] == '\0') {
        print_message("skipped: %s: SBEAM_TEST_MODELS names no folder\n", name);
        skip();
    }
    snprintf(path, size, "%s/%s", folder, name);
    if (access(path, R_OK) != 0) {
        print_message("skipped: %s is not there\n", path);
        skip();
    }
}

/* --- rows --- */

struct known {
    const char *prefix, *word;
    double log10_p;
};

/* log sum exp of a row, the plain way in long double. */
static double log_sum(const double *row, int32_t n)
{
    long double top = -INFINITY, sum = 0;
    for (int32_t i = 0; i < n; i++)
        top = row[i] > top ? row[i] : top;
    for (int32_t i = 0; i < n; i++)
        sum += expl(row[i] - top);
    return (double)(top + logl(sum));
}

/* The row holds what the file says; the score is that divided by the sum of the row. Returns the
 * sum that is furthest from 1. */
static double check_known(const sb_model *model, const struct known *known, size_t n)
{
    const int32_t n_words = sb_model_get_info(model)->vocab_size;
    double *const row = malloc((size_t)n_words * sizeof *row);
    double worst = 1;
    assert_non_null(row);
    for (size_t i = 0; i < n; i++) {
        const int32_t word = token_of(model, known[i].word);
        double score;
        row_after(model, known[i].prefix, row);
        check_near(row[word], known[i].log10_p * ln_10);
        assert_int_equal(
            sb_score(model, known[i].prefix, strlen(known[i].prefix), &word, 1, &score, NULL),
            SB_OK);
        const double sum = log_sum(row, n_words);
        check_near(score, known[i].log10_p * ln_10 - sum);
        worst = fabs(sum) > fabs(log(worst)) ? exp(sum) : worst;
    }
    free(row);
    return worst;
}

/* --- draws --- */

static bool are_equal(const sb_sequence *a, const sb_sequence *b)
{
    return a->n_tokens == b->n_tokens && a->end == b->end &&
           memcmp(a->tokens, b->tokens, (size_t)a->n_tokens * sizeof *a->tokens) == 0;
}

/* Draws k, at most `length` long: distinct, in order, as probable as the scores say; and 7 of them
 * are the first 7. */
static void check_draw(const sb_model *model, const char *input, int32_t k, int32_t length)
{
    sb_config config = config_of(SB_METHOD_SBS, k);
    config.max_len = length;
    config.seed = 20190515;
    sb_result *large, *small;
    sb_error err;
    assert_int_equal(sb_result_open(&large, &err), SB_OK);
    assert_int_equal(sb_result_open(&small, &err), SB_OK);
    const double start = now();
    if (sb_draw(model, input, &config, large, &err) != SB_OK)
        fail_msg("%s", err.message);
    print_message("k = %d, %d words: %.3f s\n", k, length, now() - start);
    assert_int_equal(large->n_sequences, k);
    double *const scores = malloc((size_t)length * sizeof *scores);
    assert_non_null(scores);
    for (int32_t i = 0; i < k; i++) {
        const sb_sequence *const s = &large->sequences[i];
        assert_true(s->n_tokens <= length && s->g > large->kappa);
        assert_true(i == 0 || s->g < large->sequences[i - 1].g);
        for (int32_t j = 0; j < i; j++)
            assert_false(are_equal(s, &large->sequences[j]));
        if (s->end == SB_END_MAX_LEN) {
            double sum = 0;
            assert_int_equal(
                sb_score(model, input, strlen(input), s->tokens, s->n_tokens, scores, &err), SB_OK);
            for (int32_t j = 0; j < s->n_tokens; j++)
                sum += scores[j];
            assert_true(fabs(sum - s->log_p) < 1e-9);
        }
    }
    config.k = 7;
    assert_int_equal(sb_draw(model, input, &config, small, &err), SB_OK);
    assert_same_sequences(small, large, 7);
    assert_true(small->kappa == large->sequences[7].g);
    free(scores);
    sb_result_close(large);
    sb_result_close(small);
}

/* --- phones --- */

static void phones(void **state)
{
    (void)state;
    static const struct known known[] = {
        {"", "HH", -1.1051},                        /* 668: <s> HH */
        {"", "ZH", -2.3523 - 2.9875},               /* 10: b(<s>); 50: ZH */
        {"HH", "AE", -1.6847},                      /* 2935: <s> HH AE */
        {"HH", "L", -0.9485 - 3.3705},              /* 668: b(<s> HH); 879: HH L */
        {"HH", "ZH", -0.9485 - 2.8225 - 2.9875},    /* 26: b(HH); 50: ZH */
        {"HH AE", "N", -0.7756},                    /* 15206: HH AE N */
        {"HH AE", "G", -0.7768 - 1.5767},           /* 145: b(HH AE); 634: AE G */
        {"HH AE", "AA", -0.7768 - 2.6496 - 1.7292}, /* 12: b(AE); 11: AA */
    };
    char path[4096];
    find_model("en-us-phone.arpa.gz", path, sizeof path);
    const double start = now();
    sb_model *const model = open_file(path);
    print_message("phones loaded: %.3f s\n", now() - start);
    const int32_t n = sb_model_get_info(model)->vocab_size;
    assert_int_equal(n, 43);
    print_message("the sum of a row furthest from 1: %.6f\n",
                  check_known(model, known, sizeof known / sizeof *known));
    /* What is drawn from sums to 1, though the file's rows do not. */
    static const char *const prefixes[] = {"", "HH", "HH AE", "SIL"};
    for (int i = 0; i < 4; i++) {
        double sum = 0;
        for (int32_t word = 0; word < n; word++) {
            double score;
            assert_int_equal(
                sb_score(model, prefixes[i], strlen(prefixes[i]), &word, 1, &score, NULL), SB_OK);
            sum += exp(score);
        }
        assert_true(fabs(sum - 1) < 1e-12);
    }
    check_draw(model, "HH AE", 20, 20);
    sb_model_close(model);
}

/* --- words --- */

/* Decompresses with the command xz; false: there is none. */
static bool run_xz(const char *from, const char *to)
{
    char *const arguments[] = {"xz", "-dc", (char *)(uintptr_t)from, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int code = -1;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, to, O_WRONLY | O_TRUNC, 0600), 0);
    if (posix_spawnp(&child, "xz", &actions, NULL, arguments, environ) == 0)
        assert_int_equal(waitpid(child, &code, 0), child);
    posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(code) && WEXITSTATUS(code) == 0;
}

static void words(void **state)
{
    (void)state;
    static const struct known known[] = {
        {"", "the", -1.2689},                       /* 1823631: <s> the */
        {"the", "cat", 0.0003 - 3.2456},            /* 1823631: b(<s> the); 415190: the cat */
        {"the cat", "</s>", -0.8729},               /* 2130547: the cat </s> */
        {"the cat", "sat", -0.0268 - 3.7105},       /* 415190: b(the cat); 1592381: cat sat */
        {"the cat sat", "on", 0.0 - 0.9629},        /* 1592381: b(cat sat); 1310797: sat on */
        {"the cat sat", "zebra", -0.8954 - 5.9898}, /* 56792: b(sat); 72331: zebra */
        {"the cat sat on", "the", -0.3982},         /* 3501213: sat on the */
    };
    char packed[4096], path[] = "/tmp/sbeam-test-XXXXXX";
    find_model("en-us.arpa.xz", packed, sizeof packed);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    if (!run_xz(packed, path)) {
        unlink(path);
        print_message("skipped: %s: the command xz is not there, or failed\n", packed);
        skip();
    }
    const double start = now();
    sb_model *const model = open_file(path);
    unlink(path);
    print_message("words loaded: %.3f s\n", now() - start);
    assert_int_equal(sb_model_get_info(model)->vocab_size, 72547);
    const double worst = check_known(model, known, sizeof known / sizeof *known);
    print_message("the sum of a row furthest from 1: %.6f\n", worst);
    assert_true(fabs(worst - 1) < 1e-3); /* 0.9993 .. 1.0001 over its histories */
    check_draw(model, "the cat sat", 20, 20);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phones),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
