/* What the benchmarks share, and how cmd_bench.c calls them. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/output.h"
#include "sbeam/config.h"

/* Seconds on a clock that never goes back. */
double bench_now(void);

/* The median of n >= 1 values, which it sorts. */
double bench_median(double *values, int32_t n);

/* n items of zeros, the caller's to free. */
void *bench_zeroed(size_t n, size_t size);

/* The most memory that the process has had so far. */
double bench_peak_mib(void);

/* Names the processor and the kernels in use: "AMD EPYC; threads 2; kernels avx2". */
void bench_write_machine(output *out, int32_t threads);

/* Members of a JSON object. */
typedef struct bench_number {
    const char *key;
    double value;
} bench_number;
void bench_write_numbers(output *out, const bench_number *numbers, size_t n);

/* A step of search on logits made up for it. Returns the exit code. */
int bench_search(bool json);

enum { BENCH_MOST_VALUES = 32 };

/* No method: k rows that go straight on, each from itself, without any search. What the model
 * takes for the same number of rows, to compare the methods with. */
enum { BENCH_ROWS = -1 };

/* What `bench decode` measures: each method with each k. */
typedef struct bench_plan {
    const char *model;              /* its path, or NULL for the default */
    int methods[BENCH_MOST_VALUES]; /* an sb_method, or BENCH_ROWS */
    int32_t ks[BENCH_MOST_VALUES];
    size_t n_methods, n_ks;
    int32_t source_len; /* tokens of an input, the end token included */
    int32_t len;        /* tokens of each sequence */
    int32_t batch;      /* inputs that travel together, per thread */
    int32_t threads, repeats;
    double temperature;
    bool json;
} bench_plan;

/* Decoding with a model. Returns the exit code. */
int bench_decode(const bench_plan *plan);

#endif
