/* Fuzzes GGUF models. The bytes are a file, which sbeam opens through llama.cpp. If that succeeds,
 * sbeam draws from the model. For any bytes there are sequences with probabilities, or a message.
 *
 * llama.cpp itself is not instrumented, so the fuzzer sees only our code, and does not know which
 * code of llama.cpp a file reaches. The seeds are therefore whole files that are as small as
 * possible. */
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

static void check_draw(const sb_model *model)
{
    sb_config config;
    sb_config_default(&config);
    config.k = 2;
    config.max_len = 3;
    sb_result *result;
    sb_error err = {.message = ""};
    run_require(sb_result_open(&result, &err) == SB_OK);
    if (sb_draw(model, "ab", &config, result, &err) != SB_OK)
        run_require(err.message[0] != '\0' && result->n_sequences == 0);
    for (int32_t i = 0; i < result->n_sequences; i++)
        run_require(result->sequences[i].log_p <= 1e-6);
    sb_result_close(result);
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
    if (n_words <= MOST_WORDS)
        check_draw(model);
    sb_model_close(model);
    return 0;
}
