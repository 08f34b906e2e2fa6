/* Tests opening models: files that are recognised, files that are refused, failing memory. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "model_check.h"

#define TREE(children) "{\"format\":\"sbeam-tree\",\n\"tree\":\n" children "}"

static void test_tree_refused(void **state)
{
    (void)state;
    static const refusal refusals[] = {
        {"", SB_ERR_FORMAT, "t: expected a model, found an empty file"},
        {"{", SB_ERR_FORMAT, "t:1: not valid JSON: "},
        {"{\n\"a\": x}", SB_ERR_FORMAT, "t:2: not valid JSON: "},
        {"{\"a\":1,\n\"a\":2}", SB_ERR_FORMAT, "t:2: not valid JSON: duplicate object key"},
        {"{\"a\":\"\xff\"}", SB_ERR_FORMAT, "t:1: not valid JSON: unable to decode"},
        {"{}", SB_ERR_FORMAT, "t:1: expected an entry \"format\": sbeam-tree or sbeam-chain"},
        {"\n{\"format\":\"x\"}", SB_ERR_FORMAT,
         "t:2: expected \"format\": sbeam-tree or sbeam-chain, found \"x\""},
        {"{\"format\":\"sbeam-tree\"}", SB_ERR_FORMAT,
         "t:1: expected an entry \"tree\" with an object"},
        {"{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[1,null]},\"trees\":1}", SB_ERR_FORMAT,
         "t:1: unknown entry \"trees\""},
        {TREE("{}"), SB_ERR_FORMAT, "t:3: the root: expected at least one child; a leaf is null"},
        {TREE("{\"a\":[1,{}]}"), SB_ERR_FORMAT, "t:3: 'a': expected at least one child"},
        {TREE("{\"a\":0.5}"), SB_ERR_FORMAT, "t:3: 'a': expected [probability, subtree or null]"},
        {TREE("{\"a\":[1]}"), SB_ERR_FORMAT, "t:3: 'a': expected [probability, subtree or null]"},
        {TREE("{\"a\":[1,2]}"), SB_ERR_FORMAT, "'a': expected [probability, subtree or null]"},
        {TREE("{\"a\":[\"1\",null]}"), SB_ERR_FORMAT, "expected [probability, subtree or null]"},
        {TREE("{\"a\":[1,null,null]}"), SB_ERR_FORMAT, "expected [probability, subtree or null]"},
        {TREE("{\"a\":[-0.1,null],\"b\":[1.1,null]}"), SB_ERR_FORMAT,
         "t:3: 'a': expected a probability of at least 0"},
        {TREE("{\"a\":[1e999,null]}"), SB_ERR_FORMAT, "t:3: not valid JSON: real number"},
        {TREE("{\"a\":[NaN,null]}"), SB_ERR_FORMAT, "t:3: not valid JSON: invalid token"},
        {TREE("{\"a\":[0,null]}"), SB_ERR_FORMAT, "the root: the children sum to 0, expected 1"},
        {TREE("{\"a\":[0.5,\n{\"[{\":[1,\n\n{\"b\":[0.3,null],\"c\":[0.6,null]}]}],"
              "\"b\":[0.5,null]}"),
         SB_ERR_FORMAT, "t:6: 'a [{': the children sum to 0.9, expected 1"},
        {TREE("{\"\\\"{\":[0.5,null],\n\"b\":[0.5,{\"c\":[2,null]}]}"), SB_ERR_FORMAT,
         "t:4: 'b': the children sum to 2, expected 1"},
        {TREE("{\"a\":[0.999998,null]}"), SB_ERR_FORMAT, "the children sum to 0.999998"},
        {TREE("{\"\":[1,null]}"), SB_ERR_FORMAT,
         "expected a token that is not empty and has no white space"},
        {TREE("{\"a b\":[1,null]}"), SB_ERR_FORMAT,
         "'a b': expected a token that is not empty and has"},
        {TREE("{\"a\\nb\":[1,null]}"), SB_ERR_FORMAT,
         "'a\\nb': expected a token that is not empty and has"},
        {"[1]", SB_ERR_FORMAT, "t: not a model file; expected one of: a JSON tree"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_refusal("t", &refusals[i]);
    sb_model_close(open_text("t", TREE("{\"a\":[0.9999995,null]}")));
    sb_model_close(open_text("t", "\xef\xbb\xbf" TREE("{\"a\":[1,null]}")));
}

#define CHAIN(vocab, eos, start, next)                                                             \
    "{\"format\":\"sbeam-chain\",\n\"vocab\":" vocab ",\n\"eos\":" eos ",\n\"start\":" start       \
    ",\n\"next\":{\n" next "}}"
#define AB "[\"a\",\"b\"]"

static void test_chain_refused(void **state)
{
    (void)state;
    static const refusal refusals[] = {
        {CHAIN("{}", "\"b\"", "[0.5,0.5]", ""), SB_ERR_FORMAT,
         "c:1: expected a list of tokens in 'vocab'"},
        {CHAIN("[1]", "\"b\"", "[1]", ""), SB_ERR_FORMAT, "c:2: expected only strings in 'vocab'"},
        {CHAIN("[\"a\",\"a\"]", "\"a\"", "[1]", ""), SB_ERR_FORMAT,
         "c:2: vocab has a duplicate token 'a'"},
        {CHAIN("[\"a\",\"b c\"]", "\"a\"", "[1]", ""), SB_ERR_FORMAT,
         "c:2: expected tokens that are not empty and have no white space, found 'b c'"},
        {CHAIN("[]", "\"a\"", "[]", ""), SB_ERR_FORMAT,
         "c:1: expected a token of the vocab in eos, found 'a'"},
        {CHAIN(AB, "1", "[1,0]", ""), SB_ERR_FORMAT, "c:1: expected a token of the vocab in 'eos'"},
        {CHAIN(AB, "\"b\"", "1", ""), SB_ERR_FORMAT,
         "c:1: expected a list of probabilities for 'start'"},
        {CHAIN(AB, "\"b\"", "[1]", ""), SB_ERR_FORMAT,
         "c:4: 'start': expected 2 probabilities, found 1"},
        {CHAIN(AB, "\"b\"", "[1,-0.1]", ""), SB_ERR_FORMAT,
         "c:4: expected probabilities of at least 0 for 'start'"},
        {CHAIN(AB, "\"b\"", "[1,\"0\"]", ""), SB_ERR_FORMAT,
         "c:4: expected probabilities of at least 0 for 'start'"},
        {CHAIN(AB, "\"b\"", "[0.3,0.6]", ""), SB_ERR_FORMAT,
         "c:4: 'start': the probabilities sum to 0.9, expected 1"},
        {CHAIN(AB, "\"b\"", "[1,0]", ""), SB_ERR_FORMAT, "c:5: next lacks a row for 'a'"},
        {CHAIN(AB, "\"b\"", "[1,0]", "\"a\":[1,0],\"z\":[1,0]"), SB_ERR_FORMAT,
         "c:5: next has a row for an unknown token, 'z'"},
        {CHAIN(AB, "\"b\"", "[1,0]", "\"a\":[1,0],\"b\":[1,0]"), SB_ERR_FORMAT,
         "c:5: nothing follows the end token, but next has a row for 'b'"},
        {CHAIN(AB, "\"b\"", "[1,0]", "\"a\":[0.4,0.5]"), SB_ERR_FORMAT,
         "c:6: 'a': the probabilities sum to 0.9, expected 1"},
        {CHAIN(AB, "\"b\"", "[1,0]", "\"a\":null"), SB_ERR_FORMAT,
         "c:5: expected a list of probabilities for 'a'"},
        {"{\"format\":\"sbeam-chain\",\"vocab\":[\"a\"],\"eos\":\"a\",\"start\":[1]}",
         SB_ERR_FORMAT, "c:1: expected an object of rows in 'next'"},
        {"{\"format\":\"sbeam-chain\",\"tree\":{}}", SB_ERR_FORMAT, "c:1: unknown entry \"tree\""},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        check_refusal("c", &refusals[i]);
    sb_model_close(open_text("c", CHAIN(AB, "\"b\"", "[1,0]", "\"a\":[0,1]")));
}

static char *append(char *end, const char *text)
{
    const size_t size = strlen(text);
    memcpy(end, text, size + 1);
    return end + size;
}

/* A tree of n levels with one child each, and `bottom` under the last. */
static char *deep_tree(int n, const char *bottom)
{
    static const char open[] = "{\"a\":[1,", close[] = "]}";
    const size_t level = sizeof open + sizeof close - 2;
    char *const text = malloc((size_t)n * level + strlen(bottom) + 100);
    assert_non_null(text);
    char *end = append(text, "{\"format\":\"sbeam-tree\",\"tree\":");
    for (int i = 0; i < n; i++)
        end = append(end, open);
    end = append(end, bottom);
    for (int i = 0; i < n; i++)
        end = append(end, close);
    append(end, "}");
    return text;
}

static void test_deep_trees(void **state)
{
    (void)state;
    char *text = deep_tree(1000, "null");
    sb_model *const model = open_text("deep", text);
    char prefix[2 * 999 + 1] = "";
    for (int i = 0; i < 999; i++)
        memcpy(prefix + 2 * i, "a ", 3);
    double row[1] = {7};
    row_after(model, prefix, row);
    check_near(row[0], 0);
    sb_model_close(model);
    free(text);
    text = deep_tree(20000, "null");
    check_refusal("deep", &(refusal){text, SB_ERR_FORMAT,
                                     "deep:1: the JSON is nested deeper than 2047 levels"});
    free(text);
    text = deep_tree(200, "{\"b\":[0.5,null]}"); /* a long path loses its beginning */
    check_refusal("deep", &(refusal){text, SB_ERR_FORMAT, "deep:1: '... a a a a "});
    check_refusal("deep", &(refusal){text, SB_ERR_FORMAT, " a a': the children sum to 0.5"});
    free(text);
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void check_file_refused(const char *path, sb_status expected, const char *message)
{
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    assert_int_equal(sb_model_open(&model, path, &err), expected);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s', found '%s'", message, err.message);
    assert_null(model);
}

static void test_files_refused(void **state)
{
    (void)state;
    char folder[] = "/tmp/sbeam-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    check_file_refused(folder, SB_ERR_IO, "expected a file, found a directory");
    snprintf(path, sizeof path, "%s/model", folder);
    check_file_refused(path, SB_ERR_IO, "/model: No such file or directory");
    write_file(path, "", 0);
    check_file_refused(path, SB_ERR_FORMAT, "expected a model, found an empty file");
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0), 0);
        check_file_refused(path, SB_ERR_IO, "Permission denied");
        assert_int_equal(chmod(path, 0600), 0);
    }
    write_file(path,
               "\xfd"
               "7zXZ\0...",
               9);
    check_file_refused(path, SB_ERR_FORMAT, "found an xz file; decompress it first (xz -dk)");
    write_file(path, "mmap lm http://kheafield.com/code format version 5\n", 51);
    check_file_refused(path, SB_ERR_FORMAT,
                       "found a KenLM binary file; use the ARPA file that it was made from");
    write_file(path, "PK\3\4....", 8);
    check_file_refused(path, SB_ERR_FORMAT, "convert it with tools/convert_fairseq.py");
    write_file(path, "\x80\2\x8a\nl\xfc....", 10);
    check_file_refused(path, SB_ERR_FORMAT, "found a PyTorch checkpoint; convert it with");
    write_file(path, "\1\2\3 \\data\\ \0 nothing", 21);
    check_file_refused(path, SB_ERR_FORMAT, "not a model file; expected one of: a JSON tree");
    /* A gzip header alone, and one with a damaged body. */
    write_file(path, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
    check_file_refused(path, SB_ERR_FORMAT, "/model:1: the gzip data end too early");
    write_file(path, "\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff\xff\xff\xff", 16);
    check_file_refused(path, SB_ERR_FORMAT, "/model:1: the gzip data are damaged");
    unlink(path);
    rmdir(folder);
}

static void test_gzipped_json(void **state)
{
    (void)state;
    char folder[] = "/tmp/sbeam-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model", folder);
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_true(gzputs(file, TREE("{\"a\":[1,null]}")) > 0);
    assert_int_equal(gzclose(file), Z_OK);
    sb_model_close(open_file(path));
    unlink(path);
    rmdir(folder);
}

/* Writes a gzip file of a tree whose comment has `n` characters: equal, or random digits. */
static void write_comment(const char *path, size_t n, bool is_random)
{
    static char part[1 << 16];
    uint32_t state = 1;
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_true(
        gzputs(file, "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[1,null]},\"comment\":\"") > 0);
    for (size_t done = 0; done < n; done += sizeof part) {
        for (size_t i = 0; i < sizeof part; i++) {
            state = state * 1664525 + 1013904223;
            part[i] = is_random ? (char)('0' + (state >> 24) % 10) : 'x';
        }
        assert_int_equal(gzwrite(file, part, sizeof part), sizeof part);
    }
    assert_true(gzputs(file, "\"}") > 0);
    assert_int_equal(gzclose(file), Z_OK);
}

/* A small compressed file that would become large in memory is refused. */
static void test_gzip_bomb(void **state)
{
    (void)state;
    char folder[] = "/tmp/sbeam-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/model", folder);
    write_comment(path, 15 << 20, false); /* below the longest line every ratio is fine */
    sb_model_close(open_file(path));
    write_comment(path, 17 << 20, true); /* above it, an ordinary ratio */
    sb_model_close(open_file(path));
    write_comment(path, 64 << 20, false);
    check_file_refused(path, SB_ERR_LIMIT,
                       "/model: the file becomes larger than 16777216 bytes when decompressed; the "
                       "limit is 16 MiB or 32 times its size, whichever is more; if you trust it");
    unlink(path);
    rmdir(folder);
}

static void test_memory_failures(void **state)
{
    (void)state;
    static const char *const paths[] = {TEST_DATA "/fig1.json", TEST_DATA "/uneven.json",
                                        TEST_DATA "/chain.json"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        check_allocation_failures(paths[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_refused),    cmocka_unit_test(test_chain_refused),
        cmocka_unit_test(test_deep_trees),      cmocka_unit_test(test_files_refused),
        cmocka_unit_test(test_gzipped_json),    cmocka_unit_test(test_gzip_bomb),
        cmocka_unit_test(test_memory_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
