/* sbeam bench search: compares a step of search with a bare pass over the rows.
 *
 * For each size it measures an SBS step and a beam step through the step interface, a log-sum-exp
 * of the same rows, and the paper's Algorithm 1 in scalar C: k rows in, k children out, one thread.
 * The repeats are interleaved and the fastest are compared, because machines are noisy. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "common/algorithm1.h"
#include "common/cli.h"
#include "common/output.h"
#include "sbeam/sbeam.h"

enum { MOST_REPEATS = 1000, FEWEST_REPEATS = 50, SLOW_REPEATS = 5 };

/* Repeats continue until the three fast measurements have taken this long together, so small sizes
 * are measured more often. */
static const double SECONDS_PER_CASE = 0.25;

/* Returns the next number of a splitmix64 generator, for logits and for Algorithm 1. */
static double uniform(void *user)
{
    uint64_t *const state = user;
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ((double)((z ^ z >> 31) >> 12) + 0.5) * 0x1p-52;
}

/* Writes independent normal logits of standard deviation 3 (Box and Muller). */
static void fill_logits(float *logits, size_t n)
{
    uint64_t state = 20190515;
    for (size_t i = 0; i < n; i++) {
        const double radius = sqrt(-2 * log(uniform(&state)));
        logits[i] = (float)(3 * radius * cos(6.283185307179586 * uniform(&state)));
    }
}

/* Opens a decoder and advances it to k live rows. */
static sb_status open_decoder(sb_decoder **decoder, sb_method method, int32_t k, int32_t vocab,
                              double temperature, const float *logits, sb_error *err)
{
    sb_config config;
    sb_config_default(&config);
    config.method = method;
    config.k = k;
    config.temperature = temperature;
    config.kappa = !sb_method_takes(method, "kappa"); /* k rows, not k + 1 */
    config.max_len = 1000000;
    config.seed = 7;
    const sb_decoder_spec spec = {
        .vocab_size = vocab, .eos = -1, .row_type = SB_ROW_FLOAT, .max_slots = 1};
    const sb_job job = {0};
    sb_status status = sb_decoder_open(decoder, &spec, &config, err);
    if (status == SB_OK)
        status = sb_decoder_add(*decoder, &job, NULL, err);
    if (status == SB_OK)
        status = sb_decoder_advance(*decoder, logits, (size_t)vocab, err);
    return status;
}

struct times {
    double sbs, beam, logsumexp, algorithm1; /* seconds of the fastest repeat */
};

static void keep_smallest(double *smallest, double since)
{
    const double seconds = bench_now() - since;
    if (seconds < *smallest)
        *smallest = seconds;
}

static sb_status measure(int32_t k, int32_t vocab, double temperature, const float *logits,
                         struct times *times, sb_error *err)
{
    sb_decoder *sbs = NULL, *beam = NULL;
    algorithm1_entry *const scratch = cli_realloc(NULL, (size_t)vocab, sizeof *scratch);
    algorithm1_entry *const parents = cli_realloc(NULL, (size_t)k, sizeof *parents);
    algorithm1_entry *const best = cli_realloc(NULL, (size_t)k, sizeof *best);
    memset(parents, 0, (size_t)k * sizeof *parents);
    sb_status status = open_decoder(&sbs, SB_METHOD_SBS, k, vocab, temperature, logits, err);
    if (status == SB_OK)
        status = open_decoder(&beam, SB_METHOD_BEAM, k, vocab, temperature, logits, err);
    *times = (struct times){INFINITY, INFINITY, INFINITY, INFINITY};
    double spent = 0;
    volatile double sink = 0;
    uint64_t state = 1;
    for (int i = 0; status == SB_OK && i < MOST_REPEATS; i++) {
        if (i >= FEWEST_REPEATS && spent > SECONDS_PER_CASE)
            break;
        const double start = bench_now();
        for (int32_t row = 0; row < k; row++)
            sink = sink + sb_log_sum_exp(logits + (size_t)row * (size_t)vocab, (size_t)vocab);
        keep_smallest(&times->logsumexp, start);
        double since = bench_now();
        status = sb_decoder_advance(sbs, logits, (size_t)vocab, err);
        keep_smallest(&times->sbs, since);
        since = bench_now();
        if (status == SB_OK)
            status = sb_decoder_advance(beam, logits, (size_t)vocab, err);
        keep_smallest(&times->beam, since);
        spent += bench_now() - start;
        if (i < SLOW_REPEATS) {
            since = bench_now();
            algorithm1_step(parents, (size_t)k, logits, (size_t)vocab, temperature, (size_t)k,
                            uniform, &state, scratch, best);
            keep_smallest(&times->algorithm1, since);
        }
    }
    sb_decoder_close(sbs);
    sb_decoder_close(beam);
    free(scratch);
    free(parents);
    free(best);
    return status;
}

static void write_case(output *out, bool json, int32_t k, int32_t vocab, double temperature,
                       const struct times *t)
{
    if (!json) {
        output_format(out, "%5d %7d %4g %9.3f %9.3f %9.3f %11.3f %8.2f %8.1f\n", k, vocab,
                      temperature, 1e3 * t->sbs, 1e3 * t->beam, 1e3 * t->logsumexp,
                      1e3 * t->algorithm1, t->sbs / t->logsumexp, t->algorithm1 / t->sbs);
        return;
    }
    const bench_number numbers[] = {
        {"k", k},
        {"vocab", vocab},
        {"temperature", temperature},
        {"sbs_ms", 1e3 * t->sbs},
        {"beam_ms", 1e3 * t->beam},
        {"logsumexp_ms", 1e3 * t->logsumexp},
        {"algorithm1_ms", 1e3 * t->algorithm1},
        {"sbs_over_logsumexp", t->sbs / t->logsumexp},
        {"algorithm1_over_sbs", t->algorithm1 / t->sbs},
    };
    output_char(out, '{');
    bench_write_numbers(out, numbers, sizeof numbers / sizeof *numbers);
    output_text(out, "}\n");
}

static void write_titles(output *out)
{
    bench_write_machine(out, 1);
    output_format(out, "; repeats %d to %d, of algorithm1 %d\n", FEWEST_REPEATS, MOST_REPEATS,
                  SLOW_REPEATS);
    output_text(out, "milliseconds per step, fastest of the repeats\n"
                     "    k   vocab    T       sbs      beam logsumexp  algorithm1  sbs/lse  "
                     "alg1/sbs\n");
}

int bench_search(bool json)
{
    static const int32_t ks[] = {5, 20, 100}, vocabs[] = {8000, 32000, 128000};
    static const double temperatures[] = {1, 0.3};
    const size_t most = 100 * (size_t)128000;
    float *const logits = cli_realloc(NULL, most, sizeof *logits);
    fill_logits(logits, most);
    output out = {0};
    if (!json)
        write_titles(&out);
    int code = EXIT_FINE;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 3 && code == EXIT_FINE; j++) {
                struct times times;
                sb_error err = {SB_OK, ""};
                if (measure(ks[i], vocabs[j], temperatures[t], logits, &times, &err) != SB_OK)
                    code = cli_error("bench", &err);
                else
                    write_case(&out, json, ks[i], vocabs[j], temperatures[t], &times);
                if (!output_flush(&out))
                    code = EXIT_FAILED;
            }
    output_free(&out);
    free(logits);
    return code;
}
