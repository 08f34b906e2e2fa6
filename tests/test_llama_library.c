/* Tests how llama.cpp is found, checked and refused.
 *
 * The program contains a llama_library.c that does not know the folder of llama.cpp, as in a
 * package that was built on another machine. LLAMA_FOLDER is that folder. The tests depend on their
 * order: llama.cpp is loaded once, by the last. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/llama_library.h"

enum { N_THREADS = 8 };

static int clear_environment(void **state)
{
    (void)state;
    static const char *const names[] = {"SBEAM_LLAMA", "SBEAM_LLAMA_PACKAGE",
                                        "SBEAM_LLAMA_UNCHECKED", "LD_LIBRARY_PATH"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return 0;
}

/* Expects that no llama.cpp can be loaded, and all of some words in the message, separated by '|'.
 */
static void expect_refusal(sb_status expected, const char *words)
{
    sb_error err = {.message = ""};
    assert_int_equal(llama_library_load("model.gguf", &err), expected);
    assert_int_equal(strncmp(err.message, "model.gguf: ", 12), 0);
    assert_true(strlen(err.message) + 1 < sizeof err.message); /* the message was not cut */
    while (*words != '\0') {
        char word[200];
        const size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (strstr(err.message, word) == NULL)
            fail_msg("expected '%s' in: %s", word, err.message);
        words += length + (words[length] == '|');
    }
}

static void expect_described(const char *found)
{
    char text[200];
    snprintf(text, sizeof text, "%s (%s)", SBEAM_LLAMA_VERSION, found);
    assert_string_equal(llama_library_describe(), text);
}

static void without_one_it_says_how_to_get_it(void **state)
{
    (void)state;
    if (strstr(llama_library_describe(), "(not found)") == NULL) {
        print_message("skipped: no llama.cpp: this system has one\n");
        skip();
    }
    expect_refusal(SB_ERR_IO,
                   "without llama.cpp " SBEAM_LLAMA_VERSION
                   ", which was not found|'pip install llama-cpp-python==" SBEAM_LLAMA_PYPI
                   "'|scripts/setup --with llama|SBEAM_LLAMA|the system's folders");
    setenv("SBEAM_LLAMA_PACKAGE", "/nonexistent", 1);
    expect_refusal(SB_ERR_IO, "the system's folders and llama-cpp-python");
}

/* The variable decides, even if there is a llama.cpp in the other places. */
static void a_wrong_place_is_named(void **state)
{
    (void)state;
    setenv("SBEAM_LLAMA_PACKAGE", LLAMA_FOLDER, 1);
    expect_described("found");
    setenv("SBEAM_LLAMA", "/nonexistent", 1);
    expect_described("not found");
    expect_refusal(SB_ERR_IO, "SBEAM_LLAMA names '/nonexistent', which has no libllama.so");
    setenv("SBEAM_LLAMA", TEXT_FILE, 1);
    expect_described("found"); /* there is a file; it was not loaded */
    expect_refusal(SB_ERR_IO, "test_llama_library.c cannot be loaded: ");
}

static void another_library_is_refused(void **state)
{
    (void)state;
    setenv("SBEAM_LLAMA", STUB_NONE, 1);
    expect_refusal(SB_ERR_FORMAT, "is another library: it has no function llama_backend_init");
}

static void another_version_is_refused(void **state)
{
    (void)state;
    setenv("SBEAM_LLAMA", STUB_OTHER, 1);
    expect_refusal(SB_ERR_FORMAT,
                   "is llama.cpp 9.9.9, ggml 8.8.8|built for llama.cpp " SBEAM_LLAMA_VERSION
                   "|'pip install llama-cpp-python==" SBEAM_LLAMA_PYPI "'");
    setenv("SBEAM_LLAMA_UNCHECKED", "1", 1); /* a function that is missing stays an error */
    expect_refusal(SB_ERR_FORMAT,
                   "lacks the function llama_batch_free of llama.cpp " SBEAM_LLAMA_VERSION);
    setenv("SBEAM_LLAMA_UNCHECKED", "0", 1);
    expect_refusal(SB_ERR_FORMAT, "is llama.cpp 9.9.9");
}

static void another_layout_is_refused(void **state)
{
    (void)state;
    setenv("SBEAM_LLAMA", STUB_MOVED, 1);
    expect_refusal(SB_ERR_FORMAT,
                   "is llama.cpp " SBEAM_LLAMA_VERSION
                   ", as this sbeam was built for|another commit, whose structs differ");
}

static void *load_one(void *status)
{
    *(sb_status *)status = llama_library_load("model.gguf", NULL);
    return NULL;
}

static void threads_may_load_it_at_once(void **state)
{
    (void)state;
    pthread_t threads[N_THREADS];
    sb_status statuses[N_THREADS];
    setenv("SBEAM_LLAMA_PACKAGE", LLAMA_FOLDER, 1);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_one, &statuses[i]), 0);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(statuses[i], SB_OK);
    }
    assert_string_equal(llama_library.folder, LLAMA_FOLDER);
    assert_int_equal(llama_library.context_default_params().type_k, GGML_TYPE_F16);
    setenv("SBEAM_LLAMA", "/nonexistent", 1); /* it is loaded, and stays */
    assert_int_equal(llama_library_load("model.gguf", NULL), SB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_one_it_says_how_to_get_it, clear_environment),
        cmocka_unit_test_setup(a_wrong_place_is_named, clear_environment),
        cmocka_unit_test_setup(another_library_is_refused, clear_environment),
        cmocka_unit_test_setup(another_version_is_refused, clear_environment),
        cmocka_unit_test_setup(another_layout_is_refused, clear_environment),
        cmocka_unit_test_setup(threads_may_load_it_at_once, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
