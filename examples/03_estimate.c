/* Estimates, with a standard error, the mean length of a holiday in models/weather.json, which is 5
 * days. With w_i = p_i / q_i, q_i = 1 - exp(-exp(log p_i - kappa)) and W the sum of the weights:
 *
 *     mu = sum w_i f_i / W,    se^2 = sum (1 - q_i) w_i^2 (f_i - mu)^2 / W^2.
 *
 * One draw of k distinct sequences is enough, and f is computed once for each of them.
 * doc/estimating.md says how far to trust the result. */
#include <math.h>
#include <stdio.h>

#include <sbeam/sbeam.h>

enum { MOST = 10000 };

static sb_status estimate_length(const sb_result *result, sb_estimate *estimate, sb_error *err)
{
    static double length[MOST], log_p[MOST];
    for (int32_t i = 0; i < result->n_sequences; i++) {
        length[i] = result->sequences[i].n_tokens;
        log_p[i] = result->sequences[i].log_p;
    }
    return sb_estimate_compute(SB_ESTIMATOR_SBS_NORMALISED, length, log_p,
                               (size_t)result->n_sequences, result->kappa, estimate, err);
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
    for (config.k = 10; status == SB_OK && config.k <= MOST; config.k *= 10) {
        sb_estimate e;
        status = sb_draw(model, NULL, &config, result, &err);
        if (status == SB_OK)
            status = estimate_length(result, &e, &err);
        if (status != SB_OK)
            break;
        printf("%6d  %11.3f  %14.3f  %14.3f\n", config.k, e.value, e.se, e.weight_sum);
        agrees = agrees && fabs(e.value - exact) < 5 * e.se;
    }
    printf("exact   %11.3f\n", exact);
    if (status != SB_OK)
        fprintf(stderr, "03_estimate: %s\n", err.message);
    sb_result_close(result);
    sb_model_close(model);
    return status == SB_OK && agrees ? 0 : 1;
}
