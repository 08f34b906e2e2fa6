/* allow_times CASE N_LINES VOCAB K T
 *
 * Measures what a list of permitted outputs costs. CASE is `random`: lines of 8 tokens, each any of
 * the vocabulary; or `codes`: lines of 4 tokens, each from 256 tokens of its own, as the item ids
 * of generative recommendation are. Opens the list three times, then draws K sequences by level
 * search from random rows, with and without the list in turn, and times every sb_decoder_advance.
 * Both have the same rows and the same number of steps. Prints a JSON line with the fastest times:
 * `step_us` and `allow_step_us` are means over the steps of a draw, and `widest_ratio` is the ratio
 * of the first step, whose node has the most children. */
#include <math.h>
#include <sbeam/sbeam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOADS = 3, REPEATS = 300, MOST_STEPS = 8, CODES = 256 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void give_up(const char *message)
{
    fprintf(stderr, "allow_times: %s\n", message);
    exit(1);
}

static void *allocate(size_t n, size_t size)
{
    void *const memory = calloc(n, size);
    if (memory == NULL)
        give_up("not enough memory");
    return memory;
}

static double next_uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 12) + 0.5) * 0x1p-52;
}

struct bench {
    size_t n_lines;
    int32_t vocab, k, n_steps;
    double temperature;
    float *rows; /* (k + 1, vocab) */
    sb_trie *trie;
    double load_us;
};

/* Makes the lines and opens the list. */
static void load(struct bench *bench, bool is_codes)
{
    const size_t length = (size_t)bench->n_steps;
    int32_t *const tokens = allocate(bench->n_lines * length, sizeof *tokens);
    uint64_t *const ends = allocate(bench->n_lines, sizeof *ends), generator = 1;
    for (size_t i = 0; i < bench->n_lines; i++) {
        for (size_t t = 0; t < length; t++)
            tokens[i * length + t] =
                is_codes ? (int32_t)(t * CODES) + (int32_t)(CODES * next_uniform(&generator))
                         : (int32_t)(bench->vocab * next_uniform(&generator));
        ends[i] = (i + 1) * length;
    }
    bench->load_us = INFINITY;
    for (int i = 0; i < LOADS; i++) {
        sb_error err;
        sb_trie_close(bench->trie);
        const double begin = now_us();
        if (sb_trie_open(&bench->trie, tokens, ends, bench->n_lines, &err) != SB_OK)
            give_up(err.message);
        bench->load_us = fmin(bench->load_us, now_us() - begin);
    }
    free(tokens);
    free(ends);
}

static sb_decoder *open_decoder(const struct bench *bench, const sb_trie *allow)
{
    const sb_decoder_spec spec = {.vocab_size = bench->vocab, .eos = -1, .max_slots = 1};
    sb_config config;
    sb_config_default(&config);
    config.k = bench->k;
    config.max_len = bench->n_steps;
    config.temperature = bench->temperature;
    config.allow = allow;
    sb_decoder *decoder;
    sb_error err;
    if (sb_decoder_open(&decoder, &spec, &config, &err) != SB_OK)
        give_up(err.message);
    return decoder;
}

/* Draws once and lowers the time of each step to the new one if it is faster. */
static void draw(const struct bench *bench, sb_decoder *decoder, uint64_t number, double *fastest,
                 sb_result *result)
{
    sb_error err;
    if (sb_decoder_add(decoder, &(sb_job){.draw = number}, NULL, &err) != SB_OK)
        give_up(err.message);
    for (int step = 0; !sb_decoder_done(decoder); step++) {
        const double begin = now_us();
        if (sb_decoder_advance(decoder, bench->rows, (size_t)bench->vocab, &err) != SB_OK)
            give_up(err.message);
        fastest[step] = fmin(fastest[step], now_us() - begin);
    }
    if (sb_decoder_take(decoder, 0, result, &err) != SB_OK)
        give_up(err.message);
}

static double mean(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

int main(int argc, char **argv)
{
    if (argc != 6 || (strcmp(argv[1], "random") != 0 && strcmp(argv[1], "codes") != 0))
        give_up("expected random|codes N_LINES VOCAB K T");
    const bool is_codes = strcmp(argv[1], "codes") == 0;
    struct bench bench = {.n_lines = strtoull(argv[2], NULL, 10),
                          .vocab = (int32_t)strtol(argv[3], NULL, 10),
                          .k = (int32_t)strtol(argv[4], NULL, 10),
                          .n_steps = is_codes ? 4 : MOST_STEPS,
                          .temperature = strtod(argv[5], NULL)};
    if (bench.n_lines < 1 || bench.vocab < 4 * CODES || bench.k < 1)
        give_up("expected at least 1 line, 1024 tokens and k = 1");
    load(&bench, is_codes);
    const size_t n_scores = ((size_t)bench.k + 1) * (size_t)bench.vocab;
    uint64_t generator = 2;
    bench.rows = allocate(n_scores, sizeof *bench.rows);
    for (size_t i = 0; i < n_scores; i++) /* normal logits of standard deviation 3 */
        bench.rows[i] = (float)(3 * sqrt(-2 * log(next_uniform(&generator))) *
                                cos(6.283185307179586 * next_uniform(&generator)));
    double plain[MOST_STEPS], allowed[MOST_STEPS];
    for (int i = 0; i < MOST_STEPS; i++)
        plain[i] = allowed[i] = INFINITY;
    sb_decoder *const without = open_decoder(&bench, NULL), *const with =
                                                                open_decoder(&bench, bench.trie);
    sb_result *result;
    if (sb_result_open(&result, NULL) != SB_OK)
        give_up("not enough memory");
    for (uint64_t i = 0; i < REPEATS; i++) {
        draw(&bench, without, i, plain, result);
        draw(&bench, with, i, allowed, result);
    }
    sb_result_close(result);
    sb_decoder_close(without);
    sb_decoder_close(with);
    const sb_trie_info *const info = sb_trie_get_info(bench.trie);
    const double n_tokens = (double)bench.n_lines * bench.n_steps;
    printf("{\"case\":\"%s\",\"lines\":%zu,\"vocab\":%d,\"k\":%d,\"temperature\":%g,"
           "\"load_s\":%.3f,\"mib\":%.2f,\"bytes_per_token\":%.3f,\"step_us\":%.2f,"
           "\"allow_step_us\":%.2f,\"ratio\":%.3f,\"widest_ratio\":%.3f}\n",
           argv[1], info->n_lines, bench.vocab, bench.k, bench.temperature, 1e-6 * bench.load_us,
           (double)info->bytes / (1 << 20), (double)info->bytes / n_tokens,
           mean(plain, bench.n_steps), mean(allowed, bench.n_steps),
           mean(allowed, bench.n_steps) / mean(plain, bench.n_steps), allowed[0] / plain[0]);
    sb_trie_close(bench.trie);
    free(bench.rows);
    return 0;
}
