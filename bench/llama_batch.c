/* llama_batch MODEL [-k N] [--len N] [--source-len N] [--repeats N] [--threads N] [--f32]
 *
 * The contestant of `sbeam bench decode` with GGUF models: llama.cpp alone, decoding a batch of k
 * sequences with a common prompt for `len` tokens, without any search. The tokens are made up: what
 * they are does not change what they cost. The logits are there to be read, and are not read.
 *
 * The cache is as llama.cpp has it by default: half precision, flash attention where it thinks that
 * this is better; with --f32 as sbeam has it. Prints a JSON line with the keys of sbeam's. */
#include <llama.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    int k, len, source_len, repeats, threads;
    bool f32;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void keep_quiet(enum ggml_log_level level, const char *text, void *user)
{
    (void)level, (void)text, (void)user;
}

static void push(struct llama_batch *batch, int token, int position, int sequence,
                 bool wants_logits)
{
    const int i = batch->n_tokens++;
    batch->token[i] = token;
    batch->pos[i] = position;
    batch->n_seq_id[i] = 1;
    batch->seq_id[i][0] = sequence;
    batch->logits[i] = wants_logits;
}

static void run(struct llama_context *context, struct llama_batch batch)
{
    if (llama_decode(context, batch) != 0) {
        fprintf(stderr, "llama_batch: llama.cpp could not decode\n");
        exit(1);
    }
    if (llama_get_logits_ith(context, batch.n_tokens - 1) == NULL)
        exit(1);
}

/* Seconds of a round, without the prompt. */
static double measure(struct llama_context *context, const struct options *o, int n_vocab)
{
    const llama_memory_t memory = llama_get_memory(context);
    struct llama_batch batch = llama_batch_init(512, 0, 1);
    const int first = 259 < n_vocab / 2 ? 259 : 3; /* past what is no word */
    llama_memory_clear(memory, true);
    for (int i = 0; i < o->source_len; i++)
        push(&batch, first + 127 * i % (n_vocab - first), i, 0, i + 1 == o->source_len);
    run(context, batch);
    const double start = now();
    for (int s = 1; s < o->k; s++)
        llama_memory_seq_cp(memory, 0, s, -1, -1);
    for (int step = 1; step < o->len; step++) { /* the first token is drawn after the prompt */
        batch.n_tokens = 0;
        for (int s = 0; s < o->k; s++)
            push(&batch, first + (7919 * s + 127 * step) % (n_vocab - first),
                 o->source_len + step - 1, s, true);
        run(context, batch);
    }
    const double seconds = now() - start;
    llama_batch_free(batch);
    return seconds;
}

static struct options parse(int argc, char **argv)
{
    struct options o = {.k = 16, .len = 64, .source_len = 20, .repeats = 5, .threads = 1};
    const struct {
        const char *name;
        int *value;
    } numbers[] = {{"-k", &o.k},
                   {"--len", &o.len},
                   {"--source-len", &o.source_len},
                   {"--repeats", &o.repeats},
                   {"--threads", &o.threads}};
    for (int i = 2; i < argc; i++) {
        o.f32 = o.f32 || strcmp(argv[i], "--f32") == 0;
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers && i + 1 < argc; j++)
            if (strcmp(argv[i], numbers[j].name) == 0)
                *numbers[j].value = atoi(argv[i + 1]);
    }
    if (argc < 2 || o.k < 1 || o.k > 256 || o.len < 2 || o.source_len < 1 || o.source_len > 512 ||
        o.repeats < 1 || o.threads < 1) {
        fprintf(stderr, "usage: llama_batch MODEL [-k N] [--len N] [--source-len N] [--repeats N] "
                        "[--threads N] [--f32]\n");
        exit(2);
    }
    return o;
}

int main(int argc, char **argv)
{
    const struct options o = parse(argc, argv);
    llama_log_set(keep_quiet, NULL);
    struct llama_model *const model =
        llama_model_load_from_file(argv[1], llama_model_default_params());
    if (model == NULL) {
        fprintf(stderr, "llama_batch: llama.cpp cannot load %s\n", argv[1]);
        return 1;
    }
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = (uint32_t)(o.source_len + o.k * o.len);
    params.n_batch = params.n_ubatch = 512;
    params.n_seq_max = (uint32_t)o.k;
    params.kv_unified = true;
    params.n_threads = params.n_threads_batch = o.threads;
    if (o.f32) {
        params.type_k = params.type_v = GGML_TYPE_F32;
        params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    }
    struct llama_context *const context = llama_init_from_model(model, params);
    if (context == NULL) {
        fprintf(stderr, "llama_batch: llama.cpp makes no context\n");
        return 1;
    }
    const int n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    measure(context, &o, n_vocab); /* warm-up */
    double best = INFINITY;
    for (int i = 0; i < o.repeats; i++) {
        const double seconds = measure(context, &o, n_vocab);
        best = seconds < best ? seconds : best;
    }
    printf("{\"program\":\"llama.cpp\",\"method\":\"%s\",\"vocab\":%d,\"k\":%d,\"threads\":%d,"
           "\"len\":%d,\"step_ms\":%.6f,\"tokens_per_second\":%.1f}\n",
           o.f32 ? "f32" : "default", n_vocab, o.k, o.threads, o.len, 1e3 * best / o.len,
           (double)o.k * o.len / best);
    llama_free(context);
    llama_model_free(model);
    return 0;
}
