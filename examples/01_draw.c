/* Draws three distinct sequences from a model file in one call, and prints their probabilities and
 * weights. */
#include <math.h>
#include <stdio.h>

#include <sbeam/sbeam.h>

int main(int argc, char **argv)
{
    sb_model *model = NULL;
    sb_result *result = NULL;
    sb_error err = {SB_OK, ""};
    sb_config config;

    sb_config_default(&config);
    config.k = 3;
    config.seed = 7;
    sb_status status = sb_model_open(&model, argc > 1 ? argv[1] : "models/fig1.json", &err);
    if (status == SB_OK)
        status = sb_result_open(&result, &err);
    if (status == SB_OK)
        status = sb_draw(model, NULL, &config, result, &err);
    for (int32_t i = 0; status == SB_OK && i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        char *text;
        status = sb_model_decode(model, s->tokens, s->n_tokens, &text, &err);
        if (status == SB_OK) {
            printf("p %.4f  weight %.4f  %s\n", exp(s->log_p), exp(s->log_weight), text);
            sb_free(text);
        }
    }
    if (status != SB_OK)
        fprintf(stderr, "01_draw: %s\n", err.message);
    sb_result_close(result);
    sb_model_close(model);
    return status == SB_OK ? 0 : 1;
}
