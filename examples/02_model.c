/* A model of your own: balanced brackets. A state is the number of open brackets. */
#include <math.h>
#include <sbeam/sbeam.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPEN, SHUT, END, N_TOKENS, MOST_STATES = 32 };

/* The states of one thread. The search numbers them. */
struct session {
    int n_open[MOST_STATES];
};

static sb_status session_open(const void *self, const sb_session_spec *spec, void **session,
                              sb_error *err)
{
    (void)self, (void)spec, (void)err;
    *session = calloc(1, sizeof(struct session));
    return *session != NULL ? SB_OK : SB_ERR_MEMORY;
}

/* Row i continues state from[i] with token[i] and becomes state to[i]. The states in `from` are
 * those before the call. */
static sb_status step(void *session, int32_t n_rows, const int32_t *from, const int32_t *to,
                      const int32_t *token, const int32_t *input, void *rows, sb_error *err)
{
    (void)input, (void)err;
    struct session *const s = session;
    const struct session before = *s;
    for (int32_t i = 0; i < n_rows; i++) {
        double *const row = (double *)rows + i * N_TOKENS;
        int *const n = &s->n_open[to[i]];
        *n = from[i] < 0 ? 0 : before.n_open[from[i]] + (token[i] == OPEN ? 1 : -1);
        row[OPEN] = log(0.3); /* the library normalises rows */
        row[SHUT] = *n > 0 ? log(0.7) : -INFINITY;
        row[END] = *n == 0 && from[i] >= 0 ? log(0.7) : -INFINITY;
    }
    return SB_OK;
}

static const char *token_text(const void *self, int32_t token)
{
    (void)self;
    return token == OPEN ? "(" : token == SHUT ? ")" : "end";
}

int main(void)
{
    const sb_model_ops ops = {.session_open = session_open,
                              .session_close = free,
                              .step = step,
                              .token_text = token_text};
    const sb_model_info info = {.kind = "brackets",
                                .vocab_size = N_TOKENS,
                                .eos = END,
                                .row_type = SB_ROW_DOUBLE,
                                .max_rows = MOST_STATES};
    sb_model *model = NULL;
    sb_result *result = NULL;
    sb_error err = {SB_OK, ""};
    sb_config config;
    sb_config_default(&config);
    config.seed = 5;
    sb_status status = sb_model_open_custom(&model, &ops, &info, NULL, &err);
    if (status == SB_OK)
        status = sb_result_open(&result, &err);
    if (status == SB_OK)
        status = sb_draw(model, NULL, &config, result, &err);
    for (int32_t i = 0; status == SB_OK && i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        printf("p %.5f  ", exp(s->log_p));
        for (int32_t t = 0; t < s->n_tokens; t++)
            fputs(sb_model_token_text(model, s->tokens[t]), stdout);
        puts("");
    }
    if (status != SB_OK)
        fprintf(stderr, "02_model: %s\n", err.message);
    sb_result_close(result);
    sb_model_close(model);
    return status == SB_OK ? 0 : 1;
}
