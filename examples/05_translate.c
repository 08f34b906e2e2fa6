/* Translates each argument; the inputs are drawn together. A source gives the inputs one by one,
 * and a sink takes the results in the same order, for any batch and any number of threads. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sbeam/sbeam.h>

struct work {
    const sb_model *model;
    char **next; /* the next sentence; *next is NULL at the end */
    uint64_t n;
};

static int give(void *user, sb_input *input, sb_error *err)
{
    struct work *const work = user;
    (void)err;
    if (*work->next == NULL)
        return 0;
    input->text = *work->next++;
    input->size = strlen(input->text);
    input->stream = work->n++;
    return 1;
}

static int take(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    const struct work *const work = user;
    printf("%s\n", input->text);
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        char *text;
        if (sb_model_decode(work->model, s->tokens, s->n_tokens, &text, err) != SB_OK)
            return -1;
        printf("  p %.4f  %s\n", exp(s->log_p), text);
        sb_free(text);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static char *examples[] = {"I have an idea.", "Are you sure?", NULL};
    sb_model *model = NULL;
    sb_error err = {SB_OK, ""};
    sb_config config;
    sb_plan plan;

    sb_config_default(&config);
    config.k = 3;
    config.temperature = 0.3;
    config.seed = 7;
    sb_plan_default(&plan);
    plan.threads = 2;
    sb_status status =
        sb_model_open(&model, argc > 1 ? argv[1] : "models/enfr-everyday.safetensors", &err);
    struct work work = {model, argc > 2 ? argv + 2 : examples, 0};
    const sb_pipe pipe = {.user = &work, .source = give, .sink = take};
    if (status == SB_OK)
        status = sb_draw_all(model, &config, &plan, &pipe, &err);
    if (status != SB_OK)
        fprintf(stderr, "05_translate: %s\n", err.message);
    sb_model_close(model);
    return status == SB_OK ? 0 : 1;
}
