/* sbeam bench: the command line of the benchmarks, and their shared helpers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cli/bench.h"
#include "cli/commands.h"
#include "common/cli.h"
#include "common/options.h"
#include "sbeam/sbeam.h"

/* --- shared --- */

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int32_t n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

double bench_peak_mib(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_maxrss / 1024 : NAN;
}

void *bench_zeroed(size_t n, size_t size)
{
    return memset(cli_realloc(NULL, n, size), 0, n * size);
}

/* Writes the name of the processor as Linux reports it. */
static void find_cpu(char *name, size_t size)
{
    snprintf(name, size, "unknown CPU");
    FILE *const file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model name", 10) != 0)
            continue;
        const char *const value = line + 10 + strspn(line + 10, "\t: ");
        snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file != NULL)
        fclose(file);
}

void bench_write_machine(output *out, int32_t threads)
{
    char cpu[128];
    find_cpu(cpu, sizeof cpu);
    output_format(out, "%s; threads %d; kernels %s", cpu, threads, sb_cpu());
}

void bench_write_numbers(output *out, const bench_number *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        output_key_number(out, numbers[i].key, numbers[i].value);
}

/* --- the command line --- */

enum { BENCH_METHOD, BENCH_K, BENCH_SOURCE_LEN, BENCH_LEN, BENCH_BATCH, BENCH_REPEATS, N_OPTIONS };

static const option bench_options[] = {
    [BENCH_METHOD] =
        {"method", 0, "NAME,...",
         "decode: sbs, beam, sample, diverse or resample, or a list of them; 'rows' is "
         "only the model: k rows without search (default: sbs)"},
    [BENCH_K] = {"k", 'k', "N,...", "decode: sequences per input, or a list (default: 5)"},
    [BENCH_SOURCE_LEN] = {"source-len", 0, "N",
                          "decode: tokens of an input, its end token included, 1 to 1000000 "
                          "(default: 20)"},
    [BENCH_LEN] = {"len", 0, "N", "decode: tokens of each sequence, 1 to 1000000 (default: 30)"},
    [BENCH_BATCH] = {"batch", 0, LIBRARY_SETTING,
                     "decode: inputs in one batch of each thread, 1 to 4096 (default: 1)"},
    [BENCH_REPEATS] = {"repeats", 0, "N", "decode: timed repeats, 1 to 1000 (default: 5)"},
    {0},
};

static bool takes_temperature(const sb_option *setting)
{
    return strcmp(setting->name, "temperature") == 0;
}

static const option_spec bench_spec = {
    .command = "bench",
    .synopsis = "search [-f FORMAT]\n"
                "       sbeam bench decode [-m FILE] [-k N,...] [OPTION...]",
    .about = "Measures how long search and decoding take.\n\n"
             "'search' compares an SBS step and a beam step with a log-sum-exp of the same\n"
             "rows and with the paper's Algorithm 1 in scalar C, for k = 5, 20, 100 and\n"
             "vocabularies of 8,000, 32,000 and 128,000, at T = 1, then T = 0.3. It uses one\n"
             "thread, interleaves the repeats and reports the fastest.\n\n"
             "'decode' measures a step of decoding with a model, and the shares of the model\n"
             "and of the search. Each of the k sequences has exactly --len tokens; SBS\n"
             "searches without kappa. The inputs are made up; models that need none continue\n"
             "the empty prefix. Each method is measured with each k, and the repeats are\n"
             "interleaved, after a warm-up.",
    .formats = "text|jsonl",
    .own = bench_options,
    .takes_model = true,
    .takes = takes_temperature,
};

/* Copies the next item of a list to `item`, cut if it is longer than any valid item. Returns false
 * at the end of the list. */
static bool next_item(const char **list, char *item, size_t size)
{
    if (*list == NULL)
        return false;
    const size_t n = strcspn(*list, ",");
    snprintf(item, size, "%.*s", n < size ? (int)n : (int)size - 1, *list);
    *list = (*list)[n] == ',' ? *list + n + 1 : NULL;
    return true;
}

/* The methods that `bench decode` measures, as bits. */
static const unsigned COMPARABLE = 1u << SB_METHOD_SBS | 1u << SB_METHOD_BEAM |
                                   1u << SB_METHOD_SAMPLE | 1u << SB_METHOD_DIVERSE |
                                   1u << SB_METHOD_RESAMPLE;

static int parse_methods(bench_plan *plan, const char *list)
{
    char item[64];
    plan->n_methods = 0;
    while (next_item(&list, item, sizeof item)) {
        sb_method method = SB_METHOD_SBS;
        const bool is_rows = strcmp(item, "rows") == 0;
        if (!is_rows && !(sb_method_find(item, &method) && (COMPARABLE >> method & 1) != 0)) {
            char names[128];
            options_list_methods(COMPARABLE, names, sizeof names);
            return cli_usage("bench",
                             "--method takes methods that need at most k rows per step: %s, rows, "
                             "or a list of them, not '%s'",
                             names, item);
        }
        if (plan->n_methods == BENCH_MOST_VALUES)
            return cli_usage("bench", "--method takes at most %d names", BENCH_MOST_VALUES);
        plan->methods[plan->n_methods++] = is_rows ? BENCH_ROWS : (int)method;
    }
    return EXIT_FINE;
}

static int parse_ks(bench_plan *plan, const char *list)
{
    char item[64];
    plan->n_ks = 0;
    while (next_item(&list, item, sizeof item)) {
        uint64_t k = 0;
        const int code = cli_parse_whole("bench", "-k", item, 1, 10000000, &k);
        if (code != EXIT_FINE)
            return code;
        if (plan->n_ks == BENCH_MOST_VALUES)
            return cli_usage("bench", "-k takes at most %d numbers", BENCH_MOST_VALUES);
        plan->ks[plan->n_ks++] = (int32_t)k;
    }
    return EXIT_FINE;
}

static int parse_own(bench_plan *plan, int i, const char *value)
{
    struct {
        const char *name;
        uint64_t max;
        int32_t *number;
    } const numbers[N_OPTIONS] = {
        /* BENCH_BATCH has no entry: the parser itself sets settings of the library. */
        [BENCH_SOURCE_LEN] = {"--source-len", 1000000, &plan->source_len},
        [BENCH_LEN] = {"--len", 1000000, &plan->len},
        [BENCH_REPEATS] = {"--repeats", 1000, &plan->repeats},
    };
    if (i == BENCH_METHOD)
        return parse_methods(plan, value);
    if (i == BENCH_K)
        return parse_ks(plan, value);
    uint64_t n = 0;
    const int code = cli_parse_whole("bench", numbers[i].name, value, 1, numbers[i].max, &n);
    if (code == EXIT_FINE)
        *numbers[i].number = (int32_t)n;
    return code;
}

int cmd_bench(int argc, char **argv)
{
    bench_plan plan = {.methods = {SB_METHOD_SBS},
                       .ks = {5},
                       .n_methods = 1,
                       .n_ks = 1,
                       .source_len = 20,
                       .len = 30,
                       .repeats = 5};
    options parsed;
    bool any_own = false;
    int i, code;
    options_open(&parsed, &bench_spec, argc, argv);
    parsed.plan.batch = 1; /* one input at a time shows what a step costs */
    while ((i = options_next(&parsed)) >= 0) {
        any_own = true;
        code = parse_own(&plan, i, parsed.value);
        if (code != EXIT_FINE)
            return code;
    }
    code = i == OPTIONS_STOP ? parsed.exit_code : options_check(&parsed);
    if (i == OPTIONS_STOP || code != EXIT_FINE)
        return code;
    const char *const what = parsed.n_args == 1 ? parsed.argv[1] : "";
    if (strcmp(what, "search") != 0 && strcmp(what, "decode") != 0)
        return cli_usage("bench", "say what to measure: search or decode");
    plan.json = parsed.format == 1;
    if (strcmp(what, "search") == 0) {
        if (any_own || options_has(&parsed, "batch") || parsed.model != NULL ||
            parsed.pretokenized || parsed.special || parsed.marker != NULL ||
            parsed.plan.threads != 1 || options_has(&parsed, "temperature"))
            return cli_usage("bench", "'search' takes no option but --format");
        return bench_search(plan.json);
    }
    if (parsed.special)
        return cli_usage("bench", "'decode' makes its inputs of tokens, so it takes no --special");
    if (parsed.n_temperatures > 1)
        return cli_usage("bench", "-T takes one temperature here, not a list");
    plan.model = parsed.model;
    plan.threads = parsed.plan.threads;
    plan.batch = parsed.plan.batch;
    plan.temperature = parsed.config.temperature;
    return bench_decode(&plan);
}
