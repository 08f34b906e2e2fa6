/* One thread of `bench decode`: a session, a decoder for each case, and its inputs. */
#ifndef CLI_BENCH_WORKER_H
#define CLI_BENCH_WORKER_H

#include "cli/bench.h"
#include "sbeam/sbeam.h"

typedef struct bench_worker {
    const sb_model *model;
    const bench_plan *plan;
    uint64_t first_input;
    char **texts; /* (batch), owned */
    sb_session *session;
    sb_decoder **decoders; /* one per case; NULL for BENCH_ROWS */
    size_t current;        /* the case under way */
    sb_result *result;
    void *rows; /* grows in the warm-up */
    size_t rows_capacity;
    int32_t *states;   /* (k * batch) 0, 1, ...: row i of a step gets state i */
    int32_t *straight; /* (3, k * batch) parents, tokens and inputs of BENCH_ROWS */
    /* Results of the last round. */
    double model_seconds, search_seconds;
    uint64_t n_rows;
    sb_status status;
    sb_error err;
} bench_worker;

/* The cases of a plan are each method with each k; the cases of one k follow each other. */
size_t bench_n_cases(const bench_plan *plan);
int bench_method_of(const bench_plan *plan, size_t i);
int32_t bench_k_of(const bench_plan *plan, size_t i);

/* Opens a worker whose memory is zero. The caller closes it even if this fails. */
sb_status bench_worker_open(bench_worker *worker, const sb_model *model, const bench_plan *plan,
                            sb_error *err);
void bench_worker_close(bench_worker *worker);

/* Prepares a round of case i with the inputs from number `first_input` on. */
void bench_worker_prepare(bench_worker *worker, size_t i, uint64_t first_input);

/* Run the two phases of a round; their type is that of pthread_create. The result is in
 * worker->status. */
void *bench_worker_begin(void *worker);
void *bench_worker_run(void *worker);

#endif
