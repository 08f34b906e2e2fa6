/* Tests SentencePiece behind its C functions: text both ways, any bytes as text, any bytes as a
 * model. data/make_pieces.py makes data/pieces.model. */
#include <fcntl.h>
#include <unistd.h>

#include "model_check.h"
#include "text/pieces.h"

static char *model_bytes;
static size_t model_size;

/* The pieces of the kept model; NULL where the build is without SentencePiece. */
static pieces *open_kept(void)
{
    pieces *p = NULL;
    sb_error err = {.message = ""};
    if (pieces_open(&p, "kept", model_bytes, model_size, &err) != SB_OK &&
        strstr(err.message, "sbeam was built without") == NULL)
        fail_msg("%s", err.message);
    return p;
}

static int read_kept(void **state)
{
    (void)state;
    FILE *const file = fopen(TEST_DATA "/pieces.model", "rb");
    assert_non_null(file);
    model_bytes = malloc(1 << 16);
    assert_non_null(model_bytes);
    model_size = fread(model_bytes, 1, 1 << 16, file);
    fclose(file);
    return 0;
}

static int drop_kept(void **state)
{
    (void)state;
    free(model_bytes);
    return 0;
}

static void check_round(const pieces *p, const char *text, size_t size, const char *expected)
{
    int32_t *ids, n;
    char *decoded;
    sb_error err;
    assert_int_equal(pieces_encode(p, text, size, &ids, &n, &err), SB_OK);
    assert_int_equal(pieces_decode(p, ids, n, &decoded, &err), SB_OK);
    assert_string_equal(decoded, expected);
    alloc_free(decoded);
    alloc_free(ids);
}

static void test_text(void **state)
{
    (void)state;
    pieces *const p = open_kept();
    if (p == NULL)
        skip();
    check_round(p, "The kettle sang.", 16, "The kettle sang.");
    check_round(p, "", 0, "");
    check_round(p, "  two   boats ", 14, "two boats");
    check_round(p, "\xef\xac\x81ve pears\xe2\x80\xa6", 14, "five pears..."); /* its rules */
    check_round(p, "<url>", 5, "<url>");
    check_round(p, "la rivi\xc3\xa8re", 11, "la rivi\xc3\xa8re");
    /* What it has no piece for, malformed bytes and zero bytes are unknown, and decode says so. */
    check_round(p,
                "a\xff"
                "b",
                3, "a \xe2\x81\x87 b");
    check_round(p, "a\xe2\x81", 3, "a \xe2\x81\x87 ");
    check_round(p, "a\xed\xa0\x80 b", 6, "a \xe2\x81\x87  b");
    check_round(p, "a\0b", 3, "a \xe2\x81\x87 b");
    /* A text beyond the limit is refused before SentencePiece copies it several times. */
    const size_t too_long = (size_t)(1 << 24) + 1;
    char *const text = calloc(too_long, 1);
    int32_t *ids, n;
    sb_error err = {.message = ""};
    assert_non_null(text);
    assert_int_equal(pieces_encode(p, text, too_long, &ids, &n, &err), SB_ERR_LIMIT);
    assert_non_null(strstr(err.message, "16777217 bytes; expected at most 16777216"));
    free(text);
    pieces_close(p);
    pieces_close(NULL);
}

static void test_ids(void **state)
{
    (void)state;
    pieces *const p = open_kept();
    if (p == NULL)
        skip();
    assert_int_equal(pieces_size(p), 150);
    for (int32_t i = 0; i < pieces_size(p); i++) {
        const char *const text = pieces_text(p, i);
        assert_int_equal(pieces_find(p, text, strlen(text)), i);
    }
    assert_string_equal(pieces_text(p, 3), "<unk>");
    assert_null(pieces_text(p, -1));
    assert_null(pieces_text(p, 150));
    assert_int_equal(pieces_find(p, "", 0), -1);
    assert_int_equal(pieces_find(p, "snow", 4), -1);
    assert_int_equal(pieces_find(p, "<unk>\0", 6), -1);
    char *text;
    sb_error err;
    assert_int_equal(pieces_decode(p, (int32_t[]){5, 150}, 2, &text, &err), SB_ERR_ARGUMENT);
    assert_string_equal(err.message,
                        "piece 150, at position 1, is out of range; expected 0 to 149");
    assert_int_equal(pieces_decode(p, (int32_t[]){-1}, 1, &text, &err), SB_ERR_ARGUMENT);
    alloc_fail_at(1);
    assert_int_equal(pieces_decode(p, (int32_t[]){5}, 1, &text, &err), SB_ERR_MEMORY);
    int32_t *ids, n;
    alloc_fail_at(1);
    assert_int_equal(pieces_encode(p, "a", 1, &ids, &n, &err), SB_ERR_MEMORY);
    alloc_fail_at(0);
    pieces_close(p);
}

/* Opens a copy of the exact size, so that a sanitizer sees the end, and uses what opens. */
static bool try_model(const char *bytes, size_t size)
{
    static const char text[] =
        "The \xef\xac\x81ve boats\xe2\x80\xa6 <url> \xff\xa0 aaaaaaaaaaaaaaaaaaa";
    char *const copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    pieces *p;
    sb_error err = {.message = ""};
    const sb_status status = pieces_open(&p, "hostile", copy, size, &err);
    free(copy);
    if (status != SB_OK) {
        assert_true(status == SB_ERR_FORMAT || status == SB_ERR_LIMIT);
        assert_memory_equal(err.message, "hostile: ", 9);
        return false;
    }
    int32_t *ids, n;
    char *decoded;
    if (pieces_encode(p, text, sizeof text - 1, &ids, &n, &err) == SB_OK) {
        assert_int_equal(pieces_decode(p, ids, n, &decoded, &err), SB_OK);
        alloc_free(decoded);
        alloc_free(ids);
    }
    pieces_close(p);
    return true;
}

static void test_damaged(void **state)
{
    (void)state;
    pieces *const p = open_kept();
    pieces_close(p);
    if (p == NULL)
        skip();
    size_t n_opened = 0;
    for (size_t size = 0; size < model_size; size++)
        n_opened += try_model(model_bytes, size);
    assert_true(n_opened < 200); /* cut between two pieces it is a model of fewer */
    for (size_t i = 0; i < model_size; i++)
        for (int bit = 0; bit < 8; bit += 7) {
            model_bytes[i] = (char)(model_bytes[i] ^ 1 << bit);
            try_model(model_bytes, model_size);
            model_bytes[i] = (char)(model_bytes[i] ^ 1 << bit);
        }
    assert_true(try_model(model_bytes, model_size));
    for (long i = 1; i <= 3; i++) {
        pieces *q;
        alloc_fail_at(i);
        if (pieces_open(&q, "kept", model_bytes, model_size, NULL) == SB_OK)
            pieces_close(q);
        else
            assert_true(alloc_has_failed());
    }
    alloc_fail_at(0);
}

/* --- models made by hand: a writer of protobuf --- */

typedef struct message {
    char bytes[1 << 17];
    size_t size;
} message;

static void put_varint(message *m, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        m->bytes[m->size++] = (char)(value | 0x80);
    m->bytes[m->size++] = (char)value;
}

static void put_bytes(message *m, unsigned number, const char *bytes, size_t size)
{
    put_varint(m, number << 3 | 2);
    put_varint(m, size);
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put_piece(message *m, const char *text, size_t size, uint64_t type)
{
    static message piece;
    piece.size = 0;
    put_bytes(&piece, 1, text, size);
    put_varint(&piece, 3 << 3);
    put_varint(&piece, type);
    put_bytes(m, 1, piece.bytes, piece.size);
}

/* Starts a model that is well as it is. */
static message *start_model(void)
{
    static message m;
    m.size = 0;
    put_piece(&m, "<unk>", 5, 2);
    put_piece(&m, "a", 1, 1);
    return &m;
}

static void expect(message *m, const char *problem)
{
    pieces *p;
    sb_error err = {.message = ""};
    if (problem == NULL) {
        assert_true(try_model(m->bytes, m->size));
        return;
    }
    assert_int_not_equal(pieces_open(&p, "made", m->bytes, m->size, &err), SB_OK);
    if (strstr(err.message, problem) == NULL)
        fail_msg("expected: %s\nfound: %s", problem, err.message);
}

static void test_hostile_pieces(void **state)
{
    (void)state;
    pieces *const p = open_kept();
    pieces_close(p);
    if (p == NULL)
        skip();
    static char run[70000];
    memset(run, 'a', sizeof run);
    message *m = start_model();
    expect(m, NULL);
    put_piece(m, run, 1024, 1);
    expect(m, NULL);
    put_piece(m, run, 1025, 1); /* SentencePiece recurses by byte */
    expect(m, "piece 3 of the SentencePiece model has 1025 bytes");
    m = start_model();
    put_piece(m, "b\0c", 3, 1);
    expect(m, "piece 2 of the SentencePiece model has 3 bytes; expected 1 to 1024 bytes of UTF-8");
    m = start_model();
    put_piece(m, "\xff", 1, 1);
    expect(m, "has 1 bytes; expected 1 to 1024 bytes of UTF-8");
    m = start_model();
    put_piece(m, "", 0, 1);
    expect(m, "has 0 bytes; expected 1 to 1024 bytes of UTF-8");
    m = start_model();
    put_piece(m, "a", 1, 1);
    expect(m, "already defined"); /* in SentencePiece's words */
    m = start_model();
    for (size_t i = 1; i <= 64; i++)
        put_piece(m, run, i + 1, 4);
    expect(m, NULL);
    put_piece(m, run, 66, 4);
    expect(m, "more than 64 user-defined pieces");
    m = start_model();
    put_varint(m, 1 << 3 | 2);
    put_varint(m, UINT64_C(1) << 40);
    expect(m, "malformed");
    m = start_model();
    put_bytes(m, 1, "", 0); /* a piece without a text */
    expect(m, "piece 2 of the SentencePiece model is empty");
    m = start_model();
    put_varint(m, 1 << 3);
    memcpy(m->bytes + m->size, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10); /* 2^64 */
    m->size += 10;
    expect(m, "malformed");
    m->size = 0;
    expect(m, "has no pieces");
}

/* A failing self-test would make SentencePiece refuse the model and print why. */
static void test_silent(void **state)
{
    (void)state;
    pieces *const p = open_kept();
    pieces_close(p);
    if (p == NULL)
        skip();
    message *const m = start_model();
    static const char sample[] = "\x0a\x06\x0a\x01"
                                 "a"
                                 "\x12\x01"
                                 "b";
    put_bytes(m, 4, sample, sizeof sample - 1);
    FILE *const caught = tmpfile();
    assert_non_null(caught);
    const int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fileno(caught), STDERR_FILENO) >= 0);
    const bool opened = try_model(m->bytes, m->size);
    m->bytes[0] = 9;
    const bool opened_bad = try_model(m->bytes, m->size);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    assert_true(opened);
    assert_false(opened_bad);
    assert_int_equal(lseek(fileno(caught), 0, SEEK_END), 0);
    fclose(caught);
}

/* A model whose character map is `units`, then the replacement "b". */
static void expect_map(const uint32_t *units, size_t n, const char *problem)
{
    static message map, normalizer;
    map.size = normalizer.size = 0;
    for (size_t i = 0; i <= n; i++) {
        const uint32_t word = i == 0 ? (uint32_t)(4 * n) : units[i - 1];
        for (int byte = 0; byte < 4; byte++)
            map.bytes[map.size++] = (char)(word >> 8 * byte);
    }
    memcpy(map.bytes + map.size, "b", 2);
    map.size += 2;
    put_bytes(&normalizer, 2, map.bytes, map.size);
    message *const m = start_model();
    put_bytes(m, 3, normalizer.bytes, normalizer.size);
    expect(m, problem);
}

/* A unit with this label whose children lie at `base`; it is number i. */
static uint32_t make_unit(uint32_t i, uint32_t base, uint32_t label, bool has_value)
{
    return (i ^ base) << 10 | (has_value ? 1u << 8 : 0) | label;
}

static void test_hostile_maps(void **state)
{
    (void)state;
    pieces *const p = open_kept();
    pieces_close(p);
    if (p == NULL)
        skip();
    enum { N = 256 * 36, A = 'a' };
    static uint32_t units[N];
    /* "a", "aa", ...: the k-th state's children lie at 256 k, its value too. */
    for (uint32_t depth = 32; depth <= 33; depth++) {
        memset(units, 0, sizeof units);
        units[0] = make_unit(0, 256, 0, false);
        units[256] = UINT32_C(1) << 31; /* else it would be the child by a zero byte */
        for (uint32_t k = 1; k <= depth; k++) {
            units[256 * k + A] = make_unit(256 * k + A, 256 * (k + 1), A, true);
            units[256 * (k + 1)] = UINT32_C(1) << 31;
        }
        expect_map(units, N,
                   depth == 32 ? NULL : "too many of its entries are prefixes of one another");
    }
    memset(units, 0, sizeof units);
    units[0] = make_unit(0, 1, 0, false);
    units[1] = UINT32_C(1) << 31;
    units[1 ^ A] = make_unit(1 ^ A, 2, A, true);
    units[2] = UINT32_C(1) << 31;
    expect_map(units, 256, NULL);
    expect_map(units, 255, "its sizes do not agree");
    units[2] = UINT32_C(1) << 31 | 2;
    expect_map(units, 256, "a replacement lies outside it");
    units[1 ^ A] = make_unit(1 ^ A, 1, A, false);
    expect_map(units, 256, "it has a cycle");
    units[1 ^ A] = make_unit(1 ^ A, 256, A, false);
    expect_map(units, 256, "an offset points outside it");
    units[0] |= UINT32_C(1) << 31;
    expect_map(units, 256, "it has no root");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),    cmocka_unit_test(test_ids),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_hostile_pieces),
        cmocka_unit_test(test_silent),  cmocka_unit_test(test_hostile_maps),
    };
    return cmocka_run_group_tests(tests, read_kept, drop_kept);
}
