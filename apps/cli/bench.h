/* Helpers that the benchmarks share, and their entry points. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/output.h"
#include "sbeam/config.h"

/* Returns seconds on a clock that never goes back. */
double bench_now(void);

/* Sorts n >= 1 values and returns their median. */
double bench_median(double *values, int32_t n);

/* Returns memory for n items, filled with zeros; the caller frees it. Never returns NULL: the
 * program ends if memory is short. */
void *bench_zeroed(size_t n, size_t size);

/* Returns the largest memory of the process so far, in MiB. */
double bench_peak_mib(void);

/* Writes the processor and the kernels in use: "AMD EPYC; threads 2; kernels avx2". */
void bench_write_machine(output *out, int32_t threads);

/* A member of a JSON object. */
typedef struct bench_number {
    const char *key;
    double value;
} bench_number;
/* Writes n members. */
void bench_write_numbers(output *out, const bench_number *numbers, size_t n);

/* Measures a step of search on random logits. Returns the exit code. */
int bench_search(bool json);

enum { BENCH_MOST_VALUES = 32 };

/* Stands for the model without search: k rows, each of which continues itself. It shows the time of
 * the model for the same number of rows, to compare the methods with. */
enum { BENCH_ROWS = -1 };

/* The plan of `bench decode`, which measures each method with each k. */
typedef struct bench_plan {
    const char *model;              /* its path, or NULL for the default */
    int methods[BENCH_MOST_VALUES]; /* an sb_method, or BENCH_ROWS */
    int32_t ks[BENCH_MOST_VALUES];
    size_t n_methods, n_ks;
    int32_t source_len; /* tokens of an input, the end token included */
    int32_t len;        /* tokens of each sequence */
    int32_t batch;      /* inputs in one batch, per thread */
    int32_t threads, repeats;
    double temperature;
    bool json;
} bench_plan;

/* Measures decoding with a model. Returns the exit code. */
int bench_decode(const bench_plan *plan);

#endif
