/* Fuzzes GGUF models: the bytes are a file, which sbeam opens through llama.cpp, and if that
 * succeeds, a prompt is evaluated and continued. Whatever the bytes, there is a row without NaN and
 * +inf or a message.
 *
 * llama.cpp itself is not instrumented, so the fuzzer sees only our code, and changes files without
 * knowing what they reach. The seeds are therefore whole files that are as small as possible. */
#include <stdlib.h>
#include <string.h>

#include "run_command.h"
#include "sbeam/sbeam.h"

enum { MOST_WORDS = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* llama.cpp does not free everything if a damaged file ends its work by an exception. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libllama\nleak:libggml\n";
}

static void check_texts(const sb_model *model, int32_t n_words)
{
    for (int32_t t = 0; t < n_words && t < 300; t++) {
        const char *const text = sb_model_token_text(model, t);
        run_require(text != NULL);
        (void)sb_model_find_token(model, text, strlen(text));
    }
    sb_error err = {.message = ""};
    char *text = NULL;
    if (sb_model_decode(model, (const int32_t[]){0, n_words - 1}, 2, &text, &err) == SB_OK)
        sb_free(text);
    else
        run_require(err.message[0] != '\0');
}

static void check_rows(sb_session *session, int32_t n_words)
{
    float *const rows = malloc((size_t)n_words * 2 * sizeof *rows);
    const int32_t parents[][2] = {{-1, 0}, {0, 0}, {1, 0}}, n_rows[] = {1, 2, 2};
    const int32_t input[2] = {0, 0};
    run_require(rows != NULL);
    for (int step = 0; step < 3; step++) {
        const int32_t token[2] = {step == 0 ? -1 : 0, n_words - 1};
        sb_error err = {.message = ""};
        if (sb_session_step(session, n_rows[step], parents[step], token, input, rows, &err) !=
            SB_OK) {
            run_require(err.message[0] != '\0');
            break;
        }
    }
    free(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    if (size < 4 || memcmp(data, "GGUF", 4) != 0)
        return 0; /* other harnesses fuzz other files */
    if (sb_model_open(&model, run_file(0, data, size), &err) != SB_OK) {
        run_require(model == NULL && err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
        return 0;
    }
    const int32_t n_words = sb_model_get_info(model)->vocab_size;
    run_require(n_words > 0);
    check_texts(model, n_words);
    sb_session *session = NULL;
    const sb_session_spec spec = {.max_inputs = 1, .max_rows = 2, .max_len = 4};
    if (n_words <= MOST_WORDS && sb_session_open(&session, model, &spec, &err) == SB_OK) {
        if (sb_session_begin(session, 0, "ab", 2, &err) == SB_OK)
            check_rows(session, n_words);
        sb_session_close(session);
    }
    sb_model_close(model);
    return 0;
}
