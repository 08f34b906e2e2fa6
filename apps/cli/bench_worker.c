/* The loop of decoder.h as a host would write it, with separate times for model and search.
 *
 * min_len = max_len = len forbids every earlier end, so that k rows stay alive from the second step
 * on. The first step has one row per input. */
#include "cli/bench_worker.h"

#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

size_t bench_n_cases(const bench_plan *plan)
{
    return plan->n_methods * plan->n_ks;
}

int bench_method_of(const bench_plan *plan, size_t i)
{
    return plan->methods[i % plan->n_methods];
}

int32_t bench_k_of(const bench_plan *plan, size_t i)
{
    return plan->ks[i / plan->n_methods];
}

/* --- inputs --- */

/* Returns a token above 3: in most models the special tokens come first and the others are words.
 */
static int32_t made_up_token(const bench_worker *worker, uint64_t number)
{
    const int32_t vocab = sb_model_get_info(worker->model)->vocab_size;
    return vocab > 4 ? 4 + (int32_t)(number % ((uint64_t)vocab - 4)) : vocab - 1;
}

/* Returns tokens of the model, separated by blanks, that differ between inputs; empty for models
 * that need no input. The tokens are of the output vocabulary: those that the source vocabulary
 * lacks are unknown tokens there. The caller frees the text. */
static char *make_text(const bench_worker *worker, uint64_t input)
{
    const sb_model_info *const info = sb_model_get_info(worker->model);
    const int32_t n = info->needs_input ? worker->plan->source_len - 1 : 0;
    char *text = cli_realloc(NULL, 1, 1);
    size_t size = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t id = made_up_token(worker, input * 7919 + (uint64_t)i * 127);
        const char *const token = sb_model_token_text(worker->model, id);
        const char *const word = token != NULL ? token : "word";
        const size_t word_size = strlen(word);
        text = cli_realloc(text, size + word_size + 2, 1);
        if (i > 0)
            text[size++] = ' ';
        memcpy(text + size, word, word_size);
        size += word_size;
    }
    text[size] = '\0';
    return text;
}

void bench_worker_prepare(bench_worker *worker, size_t i, uint64_t first_input)
{
    worker->current = i;
    worker->first_input = first_input;
    worker->model_seconds = worker->search_seconds = 0;
    worker->n_rows = 0;
    for (int32_t j = 0; j < worker->plan->batch; j++) {
        free(worker->texts[j]);
        worker->texts[j] = make_text(worker, first_input + (uint64_t)j);
    }
}

/* --- a round --- */

void *bench_worker_begin(void *argument)
{
    bench_worker *const worker = argument;
    sb_decoder *const decoder = worker->decoders[worker->current];
    for (int32_t i = 0; i < worker->plan->batch && worker->status == SB_OK; i++) {
        const sb_job job = {.stream = worker->first_input + (uint64_t)i};
        int32_t slot = i;
        if (decoder != NULL)
            worker->status = sb_decoder_add(decoder, &job, &slot, &worker->err);
        if (worker->status == SB_OK)
            worker->status = sb_session_begin(worker->session, slot, worker->texts[i],
                                              strlen(worker->texts[i]), &worker->err);
    }
    return NULL;
}

/* Makes one step of the model. */
static sb_status step_model(bench_worker *worker, int32_t n, const int32_t *parent,
                            const int32_t *token, const int32_t *input)
{
    const sb_model_info *const info = sb_model_get_info(worker->model);
    if ((size_t)n > worker->rows_capacity) {
        const size_t element = info->row_type == SB_ROW_FLOAT ? sizeof(float) : sizeof(double);
        worker->rows = cli_realloc(worker->rows, (size_t)n, (size_t)info->vocab_size * element);
        worker->rows_capacity = (size_t)n;
    }
    const double start = bench_now();
    const sb_status status = sb_session_step(worker->session, n, parent, worker->states, token,
                                             input, worker->rows, &worker->err);
    worker->model_seconds += bench_now() - start;
    worker->n_rows += (uint64_t)n;
    return status;
}

/* Makes one step of the model, then one of the search. */
static sb_status step(bench_worker *worker, sb_decoder *decoder)
{
    const int32_t *parent, *token, *input;
    const int32_t n = sb_decoder_rows(decoder, &parent, &token, &input);
    sb_status status = step_model(worker, n, parent, token, input);
    const double start = bench_now();
    if (status == SB_OK)
        status =
            sb_decoder_advance(decoder, worker->rows,
                               (size_t)sb_model_get_info(worker->model)->vocab_size, &worker->err);
    worker->search_seconds += bench_now() - start;
    return status;
}

/* Runs the model without search: the first row of each input, then k rows of each, every one
 * continuing itself with made-up tokens. */
static void run_rows(bench_worker *worker)
{
    const bench_plan *const plan = worker->plan;
    const int32_t k = bench_k_of(plan, worker->current), n = k * plan->batch;
    int32_t *const parent = worker->straight, *const token = parent + n, *const input = token + n;
    for (int32_t step = 0; step < plan->len && worker->status == SB_OK; step++) {
        const int32_t n_rows = step == 0 ? plan->batch : n;
        for (int32_t i = 0; i < n_rows; i++) {
            input[i] = step == 0 ? i : i / k;
            parent[i] = step == 0 ? -1 : step == 1 ? input[i] : i;
            token[i] = step == 0 ? -1 : made_up_token(worker, 7919 * (uint64_t)i + (uint64_t)step);
        }
        worker->status = step_model(worker, n_rows, parent, token, input);
    }
}

void *bench_worker_run(void *argument)
{
    bench_worker *const worker = argument;
    sb_decoder *const decoder = worker->decoders[worker->current];
    if (decoder == NULL)
        run_rows(worker);
    while (worker->status == SB_OK && !sb_decoder_done(decoder))
        worker->status = step(worker, decoder);
    int32_t slot;
    while (worker->status == SB_OK && (slot = sb_decoder_finished(decoder)) >= 0)
        worker->status = sb_decoder_take(decoder, slot, worker->result, &worker->err);
    return NULL;
}

/* --- opening and closing --- */

static sb_status open_decoder(bench_worker *worker, size_t i, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(worker->model);
    const bench_plan *const plan = worker->plan;
    sb_config config;
    sb_config_default(&config);
    config.method = (sb_method)bench_method_of(plan, i);
    config.k = bench_k_of(plan, i);
    config.temperature = plan->temperature;
    config.kappa = !sb_method_takes(config.method, "kappa"); /* k rows, not k + 1 */
    config.min_len = config.max_len = plan->len;
    config.seed = 1;
    const sb_decoder_spec spec = {
        .vocab_size = info->vocab_size,
        .eos = info->eos,
        .row_type = info->row_type,
        .max_slots = plan->batch,
    };
    return sb_decoder_open(&worker->decoders[i], &spec, &config, err);
}

sb_status bench_worker_open(bench_worker *worker, const sb_model *model, const bench_plan *plan,
                            sb_error *err)
{
    const size_t n_cases = bench_n_cases(plan);
    worker->model = model;
    worker->plan = plan;
    worker->texts = bench_zeroed((size_t)plan->batch, sizeof *worker->texts);
    worker->decoders = bench_zeroed(n_cases, sizeof *worker->decoders);
    sb_session_spec spec = {
        .max_inputs = plan->batch, .max_len = plan->len, .threads = plan->threads};
    for (size_t i = 0; i < plan->n_ks; i++)
        if (plan->ks[i] * plan->batch > spec.max_rows)
            spec.max_rows = plan->ks[i] * plan->batch; /* bench_decode has checked the limit */
    sb_status status = sb_result_open(&worker->result, err);
    if (status == SB_OK)
        status = sb_session_open(&worker->session, model, &spec, err);
    worker->straight = cli_realloc(NULL, 3 * (size_t)spec.max_rows, sizeof *worker->straight);
    worker->states = cli_realloc(NULL, (size_t)spec.max_rows, sizeof *worker->states);
    for (int32_t i = 0; i < spec.max_rows; i++)
        worker->states[i] = i;
    for (size_t i = 0; i < n_cases && status == SB_OK; i++)
        if (bench_method_of(plan, i) != BENCH_ROWS)
            status = open_decoder(worker, i, err);
    return status;
}

void bench_worker_close(bench_worker *worker)
{
    if (worker->plan == NULL)
        return; /* it was not opened */
    for (size_t i = 0; i < bench_n_cases(worker->plan); i++)
        sb_decoder_close(worker->decoders[i]);
    sb_session_close(worker->session);
    sb_result_close(worker->result);
    for (int32_t i = 0; i < worker->plan->batch; i++)
        free(worker->texts[i]);
    free(worker->texts);
    free(worker->decoders);
    free(worker->rows);
    free(worker->straight);
    free(worker->states);
}
