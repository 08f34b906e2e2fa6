/* Fuzzes the settings and what is drawn with them: "name=value" lines set a config, and whatever
 * passes the check must draw, by any method and search, from rows made of the remaining bytes.
 * Sequences are in order, and their log-probabilities at most 0. Each row continues a state that
 * the host has, and takes the place of no state but one that a row of this step continues. Lines
 * "allow=DIGITS" are permitted outputs, one token a digit: every sequence must be one of them. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbeam/sbeam.h"

enum { VOCAB = 5, MOST_STEPS = 200, MOST_STATES = 100000, MOST_LINES = 64 };

/* The permitted outputs; none: all. */
struct list {
    int32_t tokens[64 * MOST_LINES];
    uint64_t ends[MOST_LINES];
    size_t n;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void add_line(struct list *list, const char *digits)
{
    if (list->n == MOST_LINES)
        return;
    uint64_t at = list->n > 0 ? list->ends[list->n - 1] : 0;
    for (; *digits != '\0'; digits++)
        list->tokens[at++] = *digits - '0';
    list->ends[list->n++] = at;
}

static bool has_line(const struct list *list, const sb_sequence *sequence)
{
    const size_t n = (size_t)sequence->n_tokens;
    for (size_t i = 0; i < list->n; i++) {
        const uint64_t begin = i > 0 ? list->ends[i - 1] : 0;
        if (list->ends[i] - begin == n &&
            (n == 0 || memcmp(list->tokens + begin, sequence->tokens, n * sizeof(int32_t)) == 0))
            return true;
    }
    return false;
}

/* Takes lines up to an empty one; returns what is left. */
static const uint8_t *read_settings(sb_config *config, struct list *list, const uint8_t *data,
                                    const uint8_t *end)
{
    while (data < end) {
        const uint8_t *const stop = memchr(data, '\n', (size_t)(end - data));
        if (stop == NULL || stop == data)
            return stop == NULL ? end : stop + 1;
        char line[64] = "";
        if (stop - data < (long)sizeof line)
            memcpy(line, data, (size_t)(stop - data));
        char *const equals = strchr(line, '=');
        if (equals != NULL) {
            *equals = '\0';
            sb_error err;
            if (strcmp(line, "allow") == 0)
                add_line(list, equals + 1);
            else if (sb_config_set(config, line, equals + 1, &err) != SB_OK)
                require(err.message[0] != '\0');
        }
        data = stop + 1;
    }
    return data;
}

static void check_result(const sb_result *result, const struct list *list)
{
    require(result->n_sequences >= 0 && result->n_sequences <= result->k);
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const s = &result->sequences[i];
        require(s->log_p <= 1e-6 && s->end != SB_END_NONE);
        require(list->n == 0 || has_line(list, s));
        require(isnan(s->g) || i == 0 || s->g <= result->sequences[i - 1].g);
        require(isnan(result->kappa) || isnan(s->g) || s->g >= result->kappa);
    }
}

/* Two sequences have the same text if their first tokens are the same. */
static int is_new_text(void *user, int32_t slot, int32_t rank, const sb_sequence *sequence)
{
    bool *const seen = user;
    require(slot == 0 && rank >= 0);
    if (rank == 0)
        memset(seen, 0, (VOCAB + 1) * sizeof *seen);
    const int32_t text = sequence->n_tokens > 0 ? sequence->tokens[0] : VOCAB;
    require(text >= 0 && text <= VOCAB);
    const int is_new = !seen[text];
    seen[text] = true;
    return is_new;
}

/* Follows the states of a step: `held` says which numbers the host has. */
static void keep_states(sb_decoder *decoder, int32_t n_rows, bool *held)
{
    const int32_t *from, *to, *released;
    sb_error err;
    const int32_t n_released = sb_decoder_states(decoder, &from, &to, &released, &err);
    require(n_released >= 0);
    for (int32_t i = 0; i < n_rows; i++)
        require(from[i] == -1 || (from[i] >= 0 && from[i] < MOST_STATES && held[from[i]]));
    for (int32_t i = 0; i < n_released; i++) {
        require(released[i] >= 0 && released[i] < MOST_STATES && held[released[i]]);
        held[released[i]] = false;
    }
    for (int32_t i = 0; i < n_rows; i++)
        if (from[i] >= 0)
            held[from[i]] = false;
    for (int32_t i = 0; i < n_rows; i++) {
        require(to[i] >= 0 && to[i] < MOST_STATES && !held[to[i]]);
        held[to[i]] = true;
    }
    for (int32_t i = 0; i < n_rows; i++)
        if (from[i] >= 0)
            held[from[i]] = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *const end = data + size;
    sb_config config;
    sb_config_default(&config);
    config.k = 3;
    struct list list = {.n = 0};
    const uint8_t *at = read_settings(&config, &list, data, end);
    sb_error err;
    if (sb_config_check(&config, &err) != SB_OK)
        return 0;
    config.k = config.k > 8 ? 8 : config.k; /* what a fuzzer has time for */
    config.groups = config.groups > 0 && config.k % config.groups != 0 ? 1 : config.groups;
    config.max_samples = config.max_samples > 100 ? 100 : config.max_samples;
    config.max_len = config.max_len > 6 ? 6 : config.max_len;
    config.min_len = config.min_len > config.max_len ? config.max_len : config.min_len;
    if (config.method != SB_METHOD_REJECT) {
        sb_config defaults;
        sb_config_default(&defaults);
        config.max_samples = defaults.max_samples;
    }
    bool seen[VOCAB + 1];
    static bool held[MOST_STATES];
    memset(held, 0, sizeof held);
    const sb_decoder_spec spec = {.vocab_size = VOCAB,
                                  .eos = 4,
                                  .row_type = SB_ROW_FLOAT,
                                  .max_slots = 1,
                                  .keeps_states = true,
                                  .user = seen,
                                  .is_new_text = is_new_text};
    const sb_job job = {0};
    sb_decoder *decoder;
    sb_result *result;
    sb_trie *trie = NULL;
    if (list.n > 0 && sb_trie_open(&trie, list.tokens, list.ends, list.n, &err) != SB_OK) {
        require(err.message[0] != '\0');
        return 0;
    }
    config.allow = trie;
    const sb_status opened = sb_decoder_open(&decoder, &spec, &config, &err);
    if (opened == SB_ERR_INPUT && trie != NULL) { /* a line that cannot be a sequence */
        sb_trie_close(trie);
        return 0;
    }
    require(opened == SB_OK);
    require(sb_result_open(&result, &err) == SB_OK);
    sb_status status = sb_decoder_add(decoder, &job, NULL, &err);
    for (int step = 0; status == SB_OK && !sb_decoder_done(decoder) && step < MOST_STEPS; step++) {
        const int32_t *parent, *token, *input;
        const int32_t n = sb_decoder_rows(decoder, &parent, &token, &input);
        keep_states(decoder, n, held);
        float *const rows = calloc((size_t)n * VOCAB, sizeof *rows);
        require(rows != NULL);
        for (int32_t i = 0; i < n * VOCAB && at < end; i++)
            rows[i] = *at < 8 ? -INFINITY : *at == 255 ? NAN : (float)*at / 8, at++;
        status = sb_decoder_advance(decoder, rows, VOCAB, &err);
        free(rows);
    }
    const int32_t slot = sb_decoder_finished(decoder);
    if (status == SB_OK && slot >= 0) {
        require(sb_decoder_take(decoder, slot, result, &err) == SB_OK);
        check_result(result, &list);
    } else if (status != SB_OK) {
        require(err.message[0] != '\0');
    }
    sb_result_close(result);
    sb_decoder_close(decoder);
    sb_trie_close(trie);
    return 0;
}
