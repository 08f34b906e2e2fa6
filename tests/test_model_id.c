/* Tests the checksum of model files. The known answers are from the package xxhash of PyPI (3.5),
 * which wraps Yann Collet's library. The answer for the large file is from the same package, by the
 * rule of model/model_id.c. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "model/model_id.h"
#include "model_check.h"

static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint64_t checksum;
    } known[] = {{0, 0xef46db3751d8e999},   {1, 0xe934a84adb052768},   {3, 0x9ff70a635a6209ab},
                 {4, 0xae5acdc00a55ac41},   {7, 0xd734a6b26f3da63e},   {8, 0x87116b3365b924eb},
                 {15, 0x02c53ab1e360882f},  {31, 0x0f187c62b1e722b7},  {32, 0x91b0cb0931a8c629},
                 {33, 0x931b043cf8d65b94},  {63, 0x219110bf13e2fa26},  {64, 0xbf3052e3445775d0},
                 {100, 0x8e2272c08247d5db}, {1000, 0x25275608a9cfc168}};
    unsigned char bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        for (size_t cut = 0; cut <= known[i].size; cut++) {
            struct checksum sum;
            checksum_open(&sum);
            checksum_add(&sum, bytes, cut);
            checksum_add(&sum, bytes + cut, known[i].size - cut);
            assert_int_equal(checksum_get(&sum), known[i].checksum);
        }
}

static void write_at(int file, off_t offset, const char *text)
{
    const size_t size = strlen(text);
    assert_int_equal(pwrite(file, text, size, offset), (ssize_t)size);
}

/* A sparse file above the limit: only its size and fixed parts count. */
static void test_large_file(void **state)
{
    (void)state;
    const off_t size = ((off_t)256 << 20) + 12345, distance = 268712;
    char path[] = "/tmp/sbeam-test-XXXXXX", id[MODEL_ID_SIZE];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, size), 0);
    write_at(file, 0, "GGUF");
    write_at(file, 500 * distance, "m");
    write_at(file, size - 1, "z");
    assert_int_equal(model_id_of_file(path, id, NULL), SB_OK);
    assert_string_equal(id, "ac2b15607b97d44c");
    write_at(file, 500 * distance + 4096, "x"); /* between two blocks */
    assert_int_equal(model_id_of_file(path, id, NULL), SB_OK);
    assert_string_equal(id, "ac2b15607b97d44c");
    write_at(file, 500 * distance + 4095, "x");
    assert_int_equal(model_id_of_file(path, id, NULL), SB_OK);
    assert_string_not_equal(id, "ac2b15607b97d44c");
    close(file);
    unlink(path);
}

static void test_files(void **state)
{
    (void)state;
    char id[MODEL_ID_SIZE];
    sb_error err;
    assert_int_equal(model_id_of_file("/nonexistent/model", id, &err), SB_ERR_IO);
    assert_non_null(strstr(err.message, "/nonexistent/model: cannot compute the checksum"));
    char path[] = "/tmp/sbeam-test-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(model_id_of_file(path, id, &err), SB_OK); /* and does not wait for a writer */
    assert_string_equal(id, "");
    unlink(path);
}

/* The id of a model file is the checksum of its bytes. A custom model has the id of its info. */
static void test_models(void **state)
{
    (void)state;
    const char *const text = "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[1,null]}}";
    char id[MODEL_ID_SIZE];
    sb_model *const model = open_text("t", text);
    model_id_of_memory(text, strlen(text), id);
    assert_string_equal(sb_model_get_info(model)->id, id);
    sb_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
