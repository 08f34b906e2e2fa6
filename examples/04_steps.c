/* Draws step by step, for a program that owns its model: the decoder asks for rows, the program
 * computes their logits in any way it likes and gives them back.
 *
 * The model here is a walk over the alphabet that likes short steps. Two draws run at once: their
 * rows are computed in one batch, which is what makes a neural model fast. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sbeam/sbeam.h>

enum { N_LETTERS = 26, END = N_LETTERS, VOCAB = N_LETTERS + 1, N_DRAWS = 2 };

/* Computes one row of logits after `letter`, or at the start (-1). */
static void compute_logits(int32_t letter, float *logits)
{
    for (int32_t j = 0; j < N_LETTERS; j++)
        logits[j] = letter < 0 ? 0 : -0.5f * (float)abs(j - letter);
    logits[END] = letter < 0 ? -INFINITY : 0; /* no empty walk */
}

static void print_result(const sb_result *result)
{
    printf("draw %d, kappa %.3f\n", (int)result->draw, result->kappa);
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        printf("  g %6.3f  log_p %7.3f  ", s->g, s->log_p);
        for (int32_t t = 0; t < s->n_tokens; t++)
            putchar('a' + s->tokens[t]);
        puts("");
    }
}

int main(void)
{
    const sb_decoder_spec spec = {
        .vocab_size = VOCAB, .eos = END, .row_type = SB_ROW_FLOAT, .max_slots = N_DRAWS};
    float *logits = NULL;
    sb_decoder *decoder = NULL;
    sb_result *result = NULL;
    sb_error err = {SB_OK, ""};
    sb_config config;
    sb_config_default(&config);
    config.k = 4;
    config.seed = 7;
    sb_status status = sb_decoder_open(&decoder, &spec, &config, &err);
    if (status == SB_OK)
        status = sb_result_open(&result, &err);
    for (uint64_t draw = 0; draw < N_DRAWS && status == SB_OK; draw++) {
        const sb_job job = {.draw = draw};
        status = sb_decoder_add(decoder, &job, NULL, &err);
    }
    while (status == SB_OK && !sb_decoder_done(decoder)) {
        const int32_t *parent, *token, *input;
        const int32_t n = sb_decoder_rows(decoder, &parent, &token, &input);
        float *const grown = realloc(logits, (size_t)n * VOCAB * sizeof *logits);
        if (grown == NULL)
            break;
        logits = grown;
        for (int32_t i = 0; i < n; i++) /* this model needs only the last token */
            compute_logits(token[i], logits + (size_t)i * VOCAB);
        status = sb_decoder_advance(decoder, logits, VOCAB, &err);
        int32_t slot;
        while (status == SB_OK && (slot = sb_decoder_finished(decoder)) >= 0) {
            status = sb_decoder_take(decoder, slot, result, &err);
            if (status == SB_OK)
                print_result(result);
        }
    }
    const bool done = status == SB_OK && sb_decoder_done(decoder);
    if (!done)
        fprintf(stderr, "04_steps: %s\n", err.message);
    sb_result_close(result);
    sb_decoder_close(decoder);
    free(logits);
    return done ? 0 : 1;
}
