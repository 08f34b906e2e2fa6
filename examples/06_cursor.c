/* Draws sequences one by one, and decides after each whether to go on: until the holidays of
 * models/weather.json that were drawn have a quarter of the probability of all. A cursor needs no
 * k; its first k sequences are those of a draw of k, for any k.
 *
 * The number of sequences depends on the sample here, so they have no weights, and no mean should
 * be estimated from them (sb_cursor_get_result says what to do instead). */
#include <math.h>
#include <stdio.h>

#include <sbeam/sbeam.h>

static void print_sequence(const sb_model *model, const sb_sequence *sequence, double total)
{
    char *text;
    if (sb_model_decode(model, sequence->tokens, sequence->n_tokens, &text, NULL) != SB_OK)
        return;
    printf("p %.4f  total %.4f  %s\n", exp(sequence->log_p), total, text);
    sb_free(text);
}

int main(int argc, char **argv)
{
    const double wanted = 0.25;
    sb_model *model = NULL;
    sb_cursor *cursor = NULL;
    sb_sequence sequence;
    sb_error err = {SB_OK, ""};
    sb_config config;
    double total = 0;
    int found = -1;

    sb_config_default(&config);
    config.seed = 7;
    if (sb_model_open(&model, argc > 1 ? argv[1] : "models/weather.json", &err) == SB_OK &&
        sb_cursor_open(&cursor, model, NULL, &config, &err) == SB_OK)
        while (total < wanted && (found = sb_cursor_next(cursor, &sequence, &err)) == 1) {
            total += exp(sequence.log_p);
            print_sequence(model, &sequence, total);
        }
    if (found < 0)
        fprintf(stderr, "06_cursor: %s\n", err.message);
    else
        printf("%d sequences, %d rows of the model, the next G is %.3f\n",
               (int)sb_cursor_get_use(cursor).sequences, (int)sb_cursor_get_use(cursor).model_rows,
               sb_cursor_threshold(cursor));
    sb_cursor_close(cursor);
    sb_model_close(model);
    return found < 0 ? 1 : 0;
}
