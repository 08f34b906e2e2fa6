/* sbeam bench decode: measures the time of a step of decoding with a model.
 *
 * A round decodes `batch` inputs per thread to `len` tokens (bench_worker.c). First the model
 * begins the inputs (begin_ms; a translation model runs its encoder), then there are `len` steps.
 * The rounds of the cases are interleaved and the fastest is reported, because machines are noisy.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench_worker.h"
#include "common/cli.h"
#include "common/model_path.h"
#include "common/utf.h"
#include "sbeam/sbeam.h"

/* The times of one case, in seconds. begin, model and search belong to the fastest repeat. */
typedef struct bench_case {
    double *seconds; /* (repeats) the steps of each round */
    double fastest, begin, model, search;
    double rows; /* per step, over all threads */
} bench_case;

typedef struct decode_bench {
    const bench_plan *plan;
    sb_model *model;
    const char *file_name; /* of the model, without its folders */
    double open_seconds;
    bench_case *cases; /* (n_cases) */
    size_t n_cases;
    uint64_t n_inputs; /* used so far: each round has new ones, as a model may remember old ones */
    bench_worker *workers; /* (n_workers) */
    int32_t n_workers;     /* one per thread, or one if the model itself has threads */
    sb_error err;
} decode_bench;

/* --- a round --- */

/* Runs a phase in every thread; the caller's thread is the first. Returns the seconds it took, or
 * -1 and sets bench->err. */
static double run_phase(decode_bench *bench, void *(*phase)(void *))
{
    pthread_t threads[1024];
    const int32_t n = bench->n_workers;
    int32_t made = 1;
    const double start = bench_now();
    while (made < n && pthread_create(&threads[made], NULL, phase, &bench->workers[made]) == 0)
        made++;
    phase(&bench->workers[0]);
    for (int32_t i = 1; i < made; i++)
        pthread_join(threads[i], NULL);
    const double seconds = bench_now() - start;
    if (made < n) {
        sb_error_set(&bench->err, SB_ERR_MEMORY, "cannot start thread %d of %d", made + 1, n);
        return -1;
    }
    for (int32_t i = 0; i < n; i++)
        if (bench->workers[i].status != SB_OK) {
            bench->err = bench->workers[i].err;
            bench->err.status = bench->workers[i].status;
            return -1;
        }
    return seconds;
}

/* Runs a round of case c as repeat number `repeat`; -1 is a warm-up that is not recorded. */
static bool run_round(decode_bench *bench, size_t c, int32_t repeat)
{
    const bench_plan *const plan = bench->plan;
    bench_case *const one = &bench->cases[c];
    for (int32_t i = 0; i < bench->n_workers; i++) {
        bench_worker_prepare(&bench->workers[i], c, bench->n_inputs);
        bench->n_inputs += (uint64_t)plan->batch;
    }
    const double begin = run_phase(bench, bench_worker_begin);
    const double seconds = begin < 0 ? -1 : run_phase(bench, bench_worker_run);
    if (seconds < 0)
        return false;
    if (repeat < 0)
        return true;
    one->seconds[repeat] = seconds;
    if (seconds >= one->fastest)
        return true;
    one->fastest = seconds;
    one->begin = begin;
    one->model = one->search = one->rows = 0;
    for (int32_t i = 0; i < bench->n_workers; i++) {
        one->model += bench->workers[i].model_seconds / bench->n_workers;
        one->search += bench->workers[i].search_seconds / bench->n_workers;
        one->rows += (double)bench->workers[i].n_rows / plan->len;
    }
    return true;
}

/* --- preparation --- */

/* Allocates everything but the model. close_bench may be called from here on. */
static void prepare(decode_bench *bench)
{
    const bench_plan *const plan = bench->plan;
    bench->n_cases = bench_n_cases(plan);
    bench->cases = bench_zeroed(bench->n_cases, sizeof *bench->cases);
    for (size_t i = 0; i < bench->n_cases; i++) {
        bench->cases[i].seconds =
            bench_zeroed((size_t)plan->repeats, sizeof *bench->cases[i].seconds);
        bench->cases[i].fastest = INFINITY;
    }
    bench->n_workers = sb_model_get_info(bench->model)->has_threads ? 1 : plan->threads;
    bench->workers = bench_zeroed((size_t)bench->n_workers, sizeof *bench->workers);
}

static void close_bench(decode_bench *bench)
{
    for (int32_t i = 0; i < bench->n_workers; i++)
        bench_worker_close(&bench->workers[i]);
    for (size_t c = 0; c < bench->n_cases; c++)
        free(bench->cases[c].seconds);
    free(bench->workers);
    free(bench->cases);
    sb_model_close(bench->model);
}

/* Refuses a plan that exceeds the limits of the model. Returns the exit code. */
static int check_limits(const decode_bench *bench)
{
    const sb_model_info *const info = sb_model_get_info(bench->model);
    const bench_plan *const plan = bench->plan;
    if (sb_model_has_leaves(bench->model))
        return cli_usage("bench",
                         "a model of kind '%s' fixes where its sequences end; bench decode needs a "
                         "model whose sequences can have --len tokens",
                         info->kind);
    if (info->max_len > 0 && plan->len > info->max_len)
        return cli_usage("bench", "--len is %d, but this model's sequences have at most %d tokens",
                         plan->len, info->max_len);
    const int32_t most = info->max_rows > 0 ? info->max_rows : INT32_MAX;
    for (size_t i = 0; i < plan->n_ks; i++)
        if (plan->ks[i] > most / plan->batch)
            return cli_usage("bench",
                             "-k %d with --batch %d needs more rows than the model has, which is "
                             "%d",
                             plan->ks[i], plan->batch, most);
    return EXIT_FINE;
}

/* --- output --- */

static const char *file_name(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void write_titles(output *out, const decode_bench *bench)
{
    const bench_plan *const plan = bench->plan;
    const sb_model_info *const info = sb_model_get_info(bench->model);
    bench_write_machine(out, plan->threads);
    output_format(out, "; repeats %d\n", plan->repeats);
    utf_put_cut(out, bench->file_name, strlen(bench->file_name), SIZE_MAX, true);
    output_format(out, ", %s, vocabulary %d, opened in %.0f ms\n", info->kind, info->vocab_size,
                  1e3 * bench->open_seconds);
    if (info->needs_input)
        output_format(out, "sources of %d tokens; ", plan->source_len);
    else
        output_text(out, "no source: the empty prefix; ");
    output_format(out, "%d tokens\n", plan->len);
    output_text(out, "milliseconds per step: fastest, median; model and search of the fastest;\n"
                     "rows per step; milliseconds to begin the inputs, before the first step\n"
                     "method      k batch    rows     step   median    model  search   begin "
                     "tokens/s\n");
}

static void write_case(output *out, const decode_bench *bench, size_t i)
{
    bench_case *const one = &bench->cases[i];
    const bench_plan *const plan = bench->plan;
    const sb_model_info *const info = sb_model_get_info(bench->model);
    const double per_step = 1e3 / plan->len;
    const double median = per_step * bench_median(one->seconds, plan->repeats);
    const int number = bench_method_of(plan, i);
    const char *const method = number == BENCH_ROWS ? "rows" : sb_method_name((sb_method)number);
    const int32_t k = bench_k_of(plan, i);
    const double sequences = (double)k * plan->batch * bench->n_workers;
    const double tokens = sequences * plan->len / one->fastest;
    if (!plan->json) {
        output_format(out, "%-8s %4d %5d %7.1f %8.3f %8.3f %8.3f %7.3f %7.2f %8.0f\n", method, k,
                      plan->batch, one->rows, per_step * one->fastest, median,
                      per_step * one->model, per_step * one->search, 1e3 * one->begin, tokens);
        return;
    }
    const bench_number numbers[] = {
        {"vocab", info->vocab_size},
        {"k", k},
        {"batch", plan->batch},
        {"threads", plan->threads},
        {"source_len", info->needs_input ? plan->source_len : 0},
        {"len", plan->len},
        {"temperature", plan->temperature},
        {"repeats", plan->repeats},
        {"step_ms", per_step * one->fastest},
        {"step_ms_median", median},
        {"model_ms", per_step * one->model},
        {"search_ms", per_step * one->search},
        {"begin_ms", 1e3 * one->begin},
        {"rows_per_step", one->rows},
        {"tokens_per_second", tokens},
        {"open_ms", 1e3 * bench->open_seconds},
        {"peak_mib", bench_peak_mib()},
    };
    output_text(out, "{\"program\":\"sbeam\"");
    output_key(out, "model");
    output_json_string(out, bench->file_name, strlen(bench->file_name));
    output_key(out, "method");
    output_json_string(out, method, strlen(method));
    bench_write_numbers(out, numbers, sizeof numbers / sizeof *numbers);
    output_text(out, "}\n");
}

static bool write_all(const decode_bench *bench)
{
    output out = {0};
    if (!bench->plan->json)
        write_titles(&out, bench);
    for (size_t c = 0; c < bench->n_cases; c++)
        write_case(&out, bench, c);
    if (!bench->plan->json)
        output_format(&out, "peak memory %.0f MiB\n", bench_peak_mib());
    const bool written = output_flush(&out);
    output_free(&out);
    return written;
}

/* Shuffles the cases, for each repeat anew. A case finds the processor's caches as the case before
 * it left them, so in a fixed order the case after the largest would always be slower. */
static void shuffle(size_t *order, size_t n, uint32_t *state)
{
    for (size_t i = n; i > 1; i--) {
        *state = *state * 1664525u + 1013904223u;
        const size_t j = (size_t)((uint64_t)*state * i >> 32), swapped = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swapped;
    }
}

static bool measure(decode_bench *bench)
{
    for (int32_t i = 0; i < bench->n_workers; i++)
        if (bench_worker_open(&bench->workers[i], bench->model, bench->plan, &bench->err) != SB_OK)
            return false;
    size_t *const order = cli_realloc(NULL, bench->n_cases, sizeof *order);
    for (size_t c = 0; c < bench->n_cases; c++)
        order[c] = c;
    bool is_fine = true;
    uint32_t state = 20190515;
    for (int32_t repeat = -1; is_fine && repeat < bench->plan->repeats; repeat++) {
        shuffle(order, bench->n_cases, &state);
        for (size_t c = 0; is_fine && c < bench->n_cases; c++)
            is_fine = run_round(bench, order[c], repeat);
    }
    free(order);
    return is_fine;
}

int bench_decode(const bench_plan *plan)
{
    char *const path = model_path_find("bench", plan->model);
    if (path == NULL)
        return EXIT_USAGE;
    decode_bench bench = {.plan = plan, .file_name = file_name(path)};
    const double start = bench_now();
    int code = cli_open_model("bench", path, NULL, &bench.model);
    if (code != EXIT_FINE)
        goto done;
    bench.open_seconds = bench_now() - start;
    prepare(&bench);
    code = check_limits(&bench);
    if (code == EXIT_FINE && sb_model_set_pretokenized(bench.model, true, &bench.err) != SB_OK)
        code = cli_error("bench", &bench.err);
    if (code == EXIT_FINE && !measure(&bench))
        code = cli_failure("bench", "%s", bench.err.message);
    if (code == EXIT_FINE && !write_all(&bench))
        code = EXIT_FAILED;
    close_bench(&bench);

done:
    free(path);
    return code;
}
