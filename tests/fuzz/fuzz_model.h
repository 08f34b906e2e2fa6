/* Opens bytes as a model and takes some steps: what the model fuzzers share. Whatever the bytes,
 * the rows hold no NaN and no +inf. */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../session_rows.h"
#include "model/backend.h"

enum { FUZZ_ROWS = 3, FUZZ_STEPS = 4 };

static inline void fuzz_check(int holds)
{
    if (!holds)
        abort();
}

static inline void fuzz_steps(sb_session *session, int32_t n_words, double *rows)
{
    int32_t parent[FUZZ_ROWS] = {-1, -1, -1}, token[FUZZ_ROWS] = {-1, -1, -1};
    const int32_t input[FUZZ_ROWS] = {0, 1, 1};
    for (int32_t step = 0; step < FUZZ_STEPS; step++) {
        if (session_rows(session, FUZZ_ROWS, parent, token, input, rows, NULL) != SB_OK)
            return; /* past a leaf */
        for (size_t i = 0; i < FUZZ_ROWS * (size_t)n_words; i++)
            fuzz_check(rows[i] < INFINITY);
        for (int32_t i = 0; i < FUZZ_ROWS; i++) {
            parent[i] = (i + 1) % FUZZ_ROWS;
            token[i] = (step * 5 + i * 3) % n_words;
            while (token[i] + 1 < n_words && sb_session_is_leaf(session, parent[i], token[i]))
                token[i]++;
        }
    }
}

static inline void fuzz_model(const uint8_t *data, size_t size)
{
    sb_model *model;
    sb_error err = {.message = ""};
    if (model_open_memory(&model, "fuzz", data, size, &err) != SB_OK) {
        fuzz_check(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
        return;
    }
    const int32_t n_words = sb_model_get_info(model)->vocab_size;
    double *const rows = malloc((size_t)n_words * FUZZ_ROWS * sizeof *rows);
    sb_session *session = NULL;
    fuzz_check(rows != NULL && sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 2},
                                               &err) == SB_OK);
    /* The second half of the file serves as a prefix, too. */
    (void)sb_session_begin(session, 0, (const char *)data + size / 2, size - size / 2, &err);
    fuzz_steps(session, n_words, rows);
    for (int32_t t = 0; t < n_words; t++) {
        const char *const text = sb_model_token_text(model, t);
        fuzz_check(sb_model_find_token(model, text, strlen(text)) == t);
    }
    sb_session_close(session);
    sb_model_close(model);
    free(rows);
}

#endif
