/* Tests safetensors files: reading, every error and its message, damage at every byte, failing
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/safetensors.h"
#include "text/json.h"

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

/* A file of its own size exactly, so that the address sanitizer sees what reads past it. Byte i of
 * the data is 7 i + 3. */
static bytes make_file(const char *header, size_t data_size)
{
    const size_t n = strlen(header);
    bytes file = {malloc(8 + n + data_size), 8 + n + data_size};
    assert_non_null(file.data);
    for (int i = 0; i < 8; i++)
        file.data[i] = (uint8_t)((uint64_t)n >> 8 * i);
    memcpy(file.data + 8, header, n);
    for (size_t i = 0; i < data_size; i++)
        file.data[8 + n + i] = (uint8_t)(7 * i + 3);
    return file;
}

static safetensors *open_bytes(bytes file)
{
    safetensors *f = NULL;
    sb_error err = {.message = ""};
    if (safetensors_open_memory(&f, "t", file.data, file.size, &err) != SB_OK)
        fail_msg("%s", err.message);
    return f;
}

/* Looks at everything that a file offers; what is within it the sanitizers see. */
static void walk(const safetensors *f, bytes file)
{
    const char *name = NULL, *before = NULL;
    const tensor *t;
    size_t total = 0;
    for (size_t i = 0; (t = safetensors_get(f, i, &name)) != NULL; i++, before = name) {
        assert_true(before == NULL || strcmp(before, name) < 0);
        assert_ptr_equal(safetensors_find(f, name), t);
        size_t n = 1;
        for (int32_t d = 0; d < t->n_dims; d++)
            n *= t->shape[d];
        assert_int_equal(n, t->n);
        const size_t size = n * tensor_element_size(t->type);
        assert_true(t->data >= file.data + 8 && size <= file.size);
        assert_true(t->data + size <= file.data + file.size);
        total += size;
        float last;
        if (n > 0 && (t->type == TENSOR_F32 || t->type == TENSOR_F16))
            tensor_read(t, n - 1, 1, &last);
    }
    assert_true(total + 8 <= file.size);
}

static const char two_tensors[] =
    "{\"__metadata__\":{\"sbeam\":\"{}\",\"about\":\"Gr\\u00fc\\u00dfe\"},"
    "\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[4,28]},"
    "\"a.h\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4]},"
    "\"scalar\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[28,32]},"
    "\"none\":{\"dtype\":\"F32\",\"shape\":[3,0,5],\"data_offsets\":[28,28]},"
    "\"text\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[32,35]}}   ";

static void test_good_file(void **state)
{
    (void)state;
    const bytes file = make_file(two_tensors, 35);
    safetensors *const f = open_bytes(file);
    const uint8_t *const data = file.data + file.size - 35;
    walk(f, file);
    assert_string_equal(safetensors_name(f), "t");
    assert_string_equal(safetensors_metadata(f, "sbeam"), "{}");
    assert_string_equal(safetensors_metadata(f, "about"), "Gr\xc3\xbc\xc3\x9f"
                                                          "e");
    assert_null(safetensors_metadata(f, "b"));
    assert_null(safetensors_find(f, "c"));
    assert_null(safetensors_find(f, ""));
    assert_null(safetensors_find(f, "__metadata__"));
    static const char *const names[] = {"a.h", "b", "none", "scalar", "text"};
    const char *name = NULL;
    for (size_t i = 0; i < 5; i++) {
        assert_non_null(safetensors_get(f, i, &name));
        assert_string_equal(name, names[i]);
    }
    assert_null(safetensors_get(f, 5, &name));
    const tensor *t = safetensors_find(f, "b");
    assert_true(t->type == TENSOR_F32 && t->n_dims == 2 && t->n == 6 && t->data == data + 4);
    assert_true(t->shape[0] == 2 && t->shape[1] == 3);
    t = safetensors_find(f, "a.h");
    assert_true(t->type == TENSOR_F16 && t->n_dims == 1 && t->n == 2 && t->data == data);
    t = safetensors_find(f, "scalar");
    assert_true(t->type == TENSOR_I32 && t->n_dims == 0 && t->n == 1 && t->data == data + 28);
    t = safetensors_find(f, "none");
    assert_true(t->type == TENSOR_F32 && t->n_dims == 3 && t->n == 0);
    tensor_read(t, 0, 0, NULL);
    t = safetensors_find(f, "text");
    assert_true(t->type == TENSOR_U8 && t->n == 3 && t->data == data + 32);
    safetensors_close(f);
    free(file.data);
    safetensors_close(NULL);
}

static void test_empty_files(void **state)
{
    (void)state;
    static const char *const headers[] = {"{}", "{ }    ", "{\"__metadata__\":{}}"};
    for (size_t i = 0; i < 3; i++) {
        const bytes file = make_file(headers[i], 0);
        safetensors *const f = open_bytes(file);
        const char *name;
        assert_null(safetensors_get(f, 0, &name));
        assert_null(safetensors_find(f, "a"));
        assert_null(safetensors_metadata(f, "sbeam"));
        safetensors_close(f);
        free(file.data);
    }
}

static void check_refused(bytes file, const char *message)
{
    safetensors *f = NULL;
    sb_error err = {.message = ""};
    const sb_status status = safetensors_open_memory(&f, "t", file.data, file.size, &err);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s', found '%s'", message, err.message);
    assert_int_equal(status, SB_ERR_FORMAT);
    assert_int_equal(err.status, SB_ERR_FORMAT);
    assert_null(f);
    assert_int_equal(safetensors_open_memory(&f, "t", file.data, file.size, NULL), SB_ERR_FORMAT);
}

#define PLACE(offsets) "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" offsets "}}"
#define SHAPE(shape)   "{\"x\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[0,8]}}"
#define TYPE(type)     "{\"x\":{\"dtype\":" type ",\"shape\":[2],\"data_offsets\":[0,8]}}"
#define PAIR(first, second)                                                                        \
    "{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" first "},"                          \
    "\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" second "}}"
#define NAME_60 "123456789_123456789_123456789_123456789_123456789_123456789_"

/* Each header comes with eight bytes of data. */
static const struct {
    const char *header, *message;
} refusals[] = {
    {"{ ", "t: header:1: not valid JSON: "},
    {"{\n\"a\": x}", "t: header:2: not valid JSON: "},
    {"{}{}", "t: header:1: not valid JSON: end of file expected"},
    {"{\"a\":1,\"a\":2}", "t: header:1: not valid JSON: duplicate object key"},
    {"{\"\\u0000\":1}", "t: header:1: not valid JSON: NUL byte in object key"},
    {" {}", "t: not a safetensors file: expected its header to begin with '{'"},
    {"[]", "t: not a safetensors file: expected its header to begin with '{'"},
    {"{\"__metadata__\":[]}", "t: expected an object of strings in \"__metadata__\""},
    {"{\"__metadata__\":{\"a\":\"\",\"k\\n\":1}}",
     "t: expected a string in the entry \"k\\n\" of \"__metadata__\""},
    {"{\"x\":1}",
     "t: tensor 'x' is not an object; expected \"dtype\", \"shape\" and \"data_offsets\""},
    {"{\"x\":[]}", "t: tensor 'x' is not an object"},
    {"{\"x\":{}}", "t: tensor 'x' lacks a type: expected a string in \"dtype\""},
    {"{\"\\u001b[2J\":{}}", "t: tensor '\\x1b[2J' lacks a type"},
    {"{\"" NAME_60 NAME_60 "\":{}}", "t: tensor '" NAME_60 "' lacks a type"},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}",
     "t: tensor 'x' has an unknown entry \"more\""},
    {TYPE("1"), "t: tensor 'x' lacks a type: expected a string in \"dtype\""},
    {TYPE("\"BF16\""), "t: tensor 'x' has type BF16; expected F32, F16, U8 or I32"},
    {TYPE("\"f32\""), "t: tensor 'x' has type f32; expected F32, F16, U8 or I32"},
    {TYPE("\"" NAME_60 "1\""), "t: tensor 'x' has type " NAME_60 "; expected F32"},
    {"{\"x\":{\"dtype\":\"F32\"}}", "t: tensor 'x' lacks a shape: expected a list in \"shape\""},
    {SHAPE("2"), "t: tensor 'x' lacks a shape: expected a list in \"shape\""},
    {SHAPE("[1,1,1,1,2]"), "t: tensor 'x' has 5 dimensions; expected at most 4"},
    {SHAPE("[-1]"), "t: tensor 'x' has an invalid shape; expected whole numbers"},
    {SHAPE("[2.0]"), "t: tensor 'x' has an invalid shape; expected whole numbers"},
    {SHAPE("[\"2\"]"), "t: tensor 'x' has an invalid shape; expected whole numbers"},
    {SHAPE("[true]"), "t: tensor 'x' has an invalid shape; expected whole numbers"},
    {SHAPE("[9223372036854775808]"), "t: tensor 'x' has an invalid shape; expected whole"},
    {SHAPE("[18446744073709551616]"), "t: header:1: not valid JSON: too big integer"},
    {SHAPE("[9223372036854775807]"),
     "t: tensor 'x' has a shape with too many elements for any memory"},
    {SHAPE("[4294967296,4294967296]"), "'x' has a shape with too many elements for any memory"},
    {SHAPE("[0,4294967296,4294967296]"), "'x' has a shape with too many elements for any memory"},
    {SHAPE("[4294967296,4294967296,0]"), "'x' has a shape with too many elements for any memory"},
    {SHAPE("[3]"), "t: tensor 'x' has 8 bytes; expected 12 for its type and shape"},
    {SHAPE("[0]"), "t: tensor 'x' has 8 bytes; expected 0 for its type and shape"},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2]}}",
     "t: tensor 'x' lacks its offsets: expected [begin, end], two whole numbers of at least 0"},
    {PLACE("8"), "t: tensor 'x' lacks its offsets: expected [begin, end]"},
    {PLACE("[8]"), "t: tensor 'x' lacks its offsets: expected [begin, end]"},
    {PLACE("[0,8,8]"), "t: tensor 'x' lacks its offsets: expected [begin, end]"},
    {PLACE("[-8,0]"), "t: tensor 'x' lacks its offsets: expected [begin, end]"},
    {PLACE("[0,null]"), "t: tensor 'x' lacks its offsets: expected [begin, end]"},
    {PLACE("[8,0]"), "t: tensor 'x' begins at byte 8 of the data, after its end at 0"},
    {PLACE("[1,9]"),
     "t: tensor 'x' ends at byte 9 of the data, but there are 8: the file is truncated"},
    {PLACE("[0,9223372036854775807]"), "t: tensor 'x' ends at byte 9223372036854775807"},
    {PLACE("[0,7]"), "t: tensor 'x' has 7 bytes; expected 8 for its type and shape"},
    {PAIR("[0,4]", "[2,6]"), "t: tensor 'y' overlaps tensor 'x'"},
    {PAIR("[2,6]", "[0,4]"), "t: tensor 'x' overlaps tensor 'y'"},
    {PAIR("[0,4]", "[0,4]"), "overlaps tensor '"},
    {"{\"x\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]},"
     "\"y\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]}}",
     "t: tensor 'y' overlaps tensor 'x'"},
    {"{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
     "t: tensor 'x' begins at byte 4 of the data; expected 0, because no bytes may lie between"},
    {"{\"x\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}",
     "t: expected the file to end with its last tensor, at byte 5 of the data, found 3 bytes more"},
    {"{}", "t: expected the file to end with its last tensor, at byte 0 of the data, found 8"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const bytes file = make_file(refusals[i].header, 8);
        check_refused(file, refusals[i].message);
        free(file.data);
    }
    const bytes good = make_file(PAIR("[4,8]", "[0,4]"), 8);
    safetensors_close(open_bytes(good));
    free(good.data);
}

/* The eight bytes before the header. */
static void test_sizes_refused(void **state)
{
    (void)state;
    uint8_t file[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    safetensors_close(open_bytes((bytes){file, 10}));
    check_refused((bytes){NULL, 0}, "t: expected a safetensors file, found an empty one");
    check_refused((bytes){file, 7}, "t: the file is truncated: a safetensors file begins with 8");
    check_refused((bytes){file, 8}, "truncated: expected a header of 2 bytes, found 0");
    check_refused((bytes){file, 9}, "truncated: expected a header of 2 bytes, found 1");
    file[0] = 1;
    check_refused((bytes){file, 10},
                  "t: not a safetensors file: expected a header of 2 to 100000000 bytes, found 1");
    file[0] = 3;
    check_refused((bytes){file, 10}, "truncated: expected a header of 3 bytes, found 2");
    memcpy(file, "\x00\xe1\xf5\x05", 4);
    check_refused((bytes){file, 10}, "truncated: expected a header of 100000000 bytes, found 2");
    file[0] = 1;
    check_refused((bytes){file, 10}, "expected a header of 2 to 100000000 bytes, found 100000001");
    memset(file, 0xff, 8);
    check_refused((bytes){file, 10}, "bytes, found 18446744073709551615");
    uint8_t packed[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3}; /* read as a size it is plausible */
    check_refused((bytes){packed, 10}, "found a gzip file; decompress it first");
}

static void test_probe(void **state)
{
    (void)state;
    const bytes file = make_file(two_tensors, 35);
    const char *const head = (const char *)file.data;
    for (size_t size = 0; size <= file.size; size++)
        assert_int_equal(safetensors_probe(head, size), size >= 8);
    free(file.data);
    assert_false(safetensors_probe("\1\0\0\0\0\0\0\0{}", 10));
    assert_true(safetensors_probe("\0\xe1\xf5\5\0\0\0\0{}", 10));
    assert_false(safetensors_probe("\1\xe1\xf5\5\0\0\0\0{}", 10));
    assert_false(safetensors_probe("\2\0\0\0\0\0\0\0[]", 10));
    static const char *const others[] = {"{\"format\":\"sbeam-tree\"}", "\\data\\\nngram 1=2\n",
                                         "        {}", "\n\n\n\n\n\n\n\n{", "mmap lm http://"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(safetensors_probe(others[i], strlen(others[i])));
}

/* A file that is cut anywhere is refused; the copy lets the sanitizer see any byte past its end. */
static void test_truncated(void **state)
{
    (void)state;
    const bytes file = make_file(two_tensors, 35);
    for (size_t size = 0; size < file.size; size++) {
        uint8_t *const part = malloc(size > 0 ? size : 1);
        assert_non_null(part);
        memcpy(part, file.data, size);
        check_refused((bytes){part, size}, size == 0 ? "empty" : "truncated");
        free(part);
    }
    free(file.data);
}

/* Any bit of the header may be wrong: the file is refused, or good in another way (a name with
 * another letter). */
static void test_flipped_bits(void **state)
{
    (void)state;
    const bytes file = make_file(two_tensors, 35);
    size_t n_refused = 0, n_opened = 0;
    for (size_t bit = 0; bit < 8 * (file.size - 35); bit++) {
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        safetensors *f = NULL;
        sb_error err = {.message = ""};
        const sb_status status = safetensors_open_memory(&f, "t", file.data, file.size, &err);
        if (status == SB_OK) {
            walk(f, file);
            n_opened++;
        } else {
            assert_int_equal(status, SB_ERR_FORMAT);
            assert_int_equal(strncmp(err.message, "t: ", 3), 0);
            assert_null(f);
            n_refused++;
        }
        safetensors_close(f);
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(n_opened > 100 && n_refused > 1000);
    free(file.data);
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void check_path_refused(const char *path, sb_status expected, const char *message)
{
    safetensors *f = NULL;
    sb_error err = {.message = ""};
    assert_int_equal(safetensors_open(&f, path, &err), expected);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s', found '%s'", message, err.message);
    assert_null(f);
}

static void test_paths(void **state)
{
    (void)state;
    char folder[] = "/tmp/sbeam-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    check_path_refused(folder, SB_ERR_IO, "expected a file, found a directory");
    snprintf(path, sizeof path, "%s/model", folder);
    check_path_refused(path, SB_ERR_IO, "/model: No such file or directory");
    write_file(path, "", 0);
    check_path_refused(path, SB_ERR_FORMAT, "/model: expected a safetensors file, found an empty");
    const bytes file = make_file(two_tensors, 35);
    write_file(path, file.data, file.size - 1);
    check_path_refused(path, SB_ERR_FORMAT, "/model: tensor 'text' ends at byte 35 of the data");
    write_file(path, file.data, file.size);
    safetensors *f = NULL;
    assert_int_equal(safetensors_open(&f, path, NULL), SB_OK);
    assert_string_equal(safetensors_name(f), path);
    const tensor *const t = safetensors_find(f, "b");
    float numbers[6];
    unlink(path); /* what is mapped stays */
    tensor_read(t, 0, 6, numbers);
    assert_memory_equal(numbers, file.data + file.size - 31, sizeof numbers);
    safetensors_close(f);
    free(file.data);
    assert_int_equal(mkfifo(path, 0600), 0);
    check_path_refused(path, SB_ERR_IO, "/model: expected a regular file, which can be mapped");
    check_path_refused(path, SB_ERR_IO, "into memory, found a pipe");
    check_path_refused("/dev/null", SB_ERR_IO, "into memory, found a device");
    unlink(path);
    rmdir(folder);
}

/* A long path keeps its end, and whole characters. */
static void test_long_names(void **state)
{
    (void)state;
    char path[402] = "";
    for (size_t i = 0; i < 200; i++)
        memcpy(path + 2 * i, "\xc3\xa9", 2);
    path[400] = 'e';
    check_path_refused(path, SB_ERR_IO, "...\xc3\xa9");
    const uint8_t file[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    safetensors *f = NULL;
    assert_int_equal(safetensors_open_memory(&f, path, file, sizeof file, NULL), SB_OK);
    assert_int_equal(strlen(safetensors_name(f)), 3 + 199);
    assert_string_equal(safetensors_name(f) + 3, path + 401 - 199);
    safetensors_close(f);
}

static void test_memory_failures(void **state)
{
    (void)state;
    char path[] = "/tmp/sbeam-test-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const bytes file = make_file(two_tensors, 35);
    write_file(path, file.data, file.size);
    for (int mapped = 0; mapped < 2; mapped++) {
        long n = 1;
        for (bool ended = false; !ended; n++) {
            safetensors *f = NULL;
            sb_error err = {.message = ""};
            alloc_fail_at(n);
            const sb_status status =
                mapped ? safetensors_open(&f, path, &err)
                       : safetensors_open_memory(&f, "t", file.data, file.size, &err);
            ended = !alloc_has_failed();
            alloc_fail_at(0);
            assert_int_equal(status, ended ? SB_OK : SB_ERR_MEMORY);
            assert_true((f != NULL) == ended);
            safetensors_close(f);
        }
        assert_true(n > 4);
    }
    free(file.data);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_file),    cmocka_unit_test(test_empty_files),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_sizes_refused),
        cmocka_unit_test(test_probe),        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped_bits), cmocka_unit_test(test_paths),
        cmocka_unit_test(test_long_names),   cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
