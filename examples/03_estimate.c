/* An estimate with its standard error: the mean length of a holiday in models/weather.json, which
 * is 5 days. With w_i = p_i / q_i, q_i = 1 - exp(-exp(log p_i - kappa)) and W the sum of the
 * weights:
 *
 *     mu = sum w_i f_i / W,    se^2 = sum (1 - q_i) w_i^2 (f_i - mu)^2 / W^2.
 *
 * One draw of k distinct sequences, each looked at once; doc/estimating.md says how far to trust
 * it. */
#include <math.h>
#include <stdio.h>

#include <sbeam/sbeam.h>

struct estimate {
    double mean, error, sum_of_weights;
};

static struct estimate estimate_length(const sb_result *result)
{
    struct estimate e = {0, 0, 0};
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        const double weight = exp(s->log_weight);
        e.sum_of_weights += weight;
        e.mean += weight * s->n_tokens;
    }
    e.mean /= e.sum_of_weights;
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        const double not_drawn =
            exp(-exp(s->log_p - result->kappa)); /* 1 - q; kappa -inf gives 0 */
        const double term = exp(s->log_weight) * (s->n_tokens - e.mean);
        e.error += not_drawn * term * term;
    }
    e.error = sqrt(e.error) / e.sum_of_weights;
    return e;
}

int main(int argc, char **argv)
{
    const double exact = 5;
    sb_model *model = NULL;
    sb_result *result = NULL;
    sb_error err = {SB_OK, ""};
    sb_config config;
    bool agrees = true;

    sb_config_default(&config);
    config.seed = 7;
    sb_status status = sb_model_open(&model, argc > 1 ? argv[1] : "models/weather.json", &err);
    if (status == SB_OK)
        status = sb_result_open(&result, &err);
    puts("     k  mean length  standard error  sum of weights");
    for (config.k = 10; status == SB_OK && config.k <= 10000; config.k *= 10) {
        status = sb_draw(model, NULL, &config, result, &err);
        if (status != SB_OK)
            break;
        const struct estimate e = estimate_length(result);
        printf("%6d  %11.3f  %14.3f  %14.3f\n", config.k, e.mean, e.error, e.sum_of_weights);
        agrees = agrees && fabs(e.mean - exact) < 5 * e.error;
    }
    printf("exact   %11.3f\n", exact);
    if (status != SB_OK)
        fprintf(stderr, "03_estimate: %s\n", err.message);
    sb_result_close(result);
    sb_model_close(model);
    return status == SB_OK && agrees ? 0 : 1;
}
