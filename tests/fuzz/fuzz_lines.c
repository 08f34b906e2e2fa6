/* Fuzzes the reader of plain and gzip files. The first byte says what the others are: a file as it
 * is, or the contents of a gzip file, which is then whole, cut, or damaged in one byte.
 *
 * For any bytes, reading the file line by line gives the same result as reading it at once. A whole
 * gzip file gives the bytes that were compressed. A cut gzip file gives an error, never a shorter
 * text. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/alloc.h"
#include "run_command.h"
#include "text/lines.h"

enum { AS_IT_IS, WHOLE, CUT, DAMAGED, N_KINDS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Compresses into a new buffer with a gzip header. */
static uint8_t *compress_bytes(const uint8_t *data, size_t size, size_t *packed_size)
{
    enum { GZIP_WINDOW = 15 + 16 };
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size};
    const size_t room = size + size / 1000 + 64;
    uint8_t *const packed = malloc(room);
    run_require(packed != NULL);
    run_require(deflateInit2(&stream, 1, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    run_require(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    *packed_size = room - stream.avail_out;
    deflateEnd(&stream);
    return packed;
}

static void check_error(sb_status status, const sb_error *err)
{
    run_require(err->status == status && err->message[0] != '\0');
    run_require(strchr(err->message, '\n') == NULL);
}

/* Reads line by line; compares with the lines of `text` if it is not NULL. */
static sb_status read_lines(const char *path, const char *text, size_t size)
{
    lines_reader *reader = NULL;
    sb_error err = {.message = ""};
    run_require(lines_open(&reader, path, &err) == SB_OK);
    const char *line, *at = text;
    size_t line_size, number = 0;
    sb_status status;
    while ((status = lines_next(reader, &line, &line_size, &err)) == SB_OK && line != NULL) {
        run_require(lines_number(reader) == ++number);
        run_require(memchr(line, '\n', line_size) == NULL);
        if (text == NULL)
            continue;
        run_require(memcmp(line, at, line_size) == 0);
        at += line_size;
        at += at < text + size && *at == '\r';
        at += at < text + size && *at == '\n';
    }
    run_require(status != SB_OK || text == NULL || at == text + size);
    if (status != SB_OK)
        check_error(status, &err);
    lines_close(reader);
    return status;
}

/* Reads the whole file after a look at its beginning; the text is the caller's. */
static sb_status read_whole(const char *path, char **text, size_t *size)
{
    lines_reader *reader = NULL;
    sb_error err = {.message = ""};
    run_require(lines_open(&reader, path, &err) == SB_OK);
    const char *head;
    size_t head_size = 0;
    sb_status status = lines_peek(reader, &head, &head_size, &err);
    char *const kept = malloc(head_size + 1);
    run_require(kept != NULL);
    if (status == SB_OK) {
        memcpy(kept, head, head_size);
        status = lines_read_rest(reader, 1 << 22, text, size, &err);
    }
    if (status == SB_OK)
        run_require(*size >= head_size && memcmp(*text, kept, head_size) == 0);
    else
        check_error(status, &err);
    free(kept);
    lines_close(reader);
    return status;
}

/* Reads a file in both ways and compares. Returns whether it could be read. */
static bool read_file(const uint8_t *data, size_t size)
{
    const char *const path = run_file(0, data, size);
    char *text = NULL;
    size_t text_size = 0;
    const sb_status status = read_whole(path, &text, &text_size);
    const sb_status by_lines = read_lines(path, status == SB_OK ? text : NULL, text_size);
    run_require(by_lines == status || status == SB_ERR_LIMIT || by_lines == SB_ERR_LIMIT);
    alloc_free(text);
    return status == SB_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const int kind = data[0] % N_KINDS;
    const uint8_t where = data[1];
    if (kind == AS_IT_IS) {
        read_file(data + 1, size - 1);
        return 0;
    }
    size_t packed_size;
    uint8_t *const packed = compress_bytes(data + 2, size - 2, &packed_size);
    if (kind == WHOLE) {
        char *text = NULL;
        size_t text_size = 0;
        const bool has_mark = size >= 5 && memcmp(data + 2, "\xef\xbb\xbf", 3) == 0;
        const size_t skipped = has_mark ? 5 : 2;
        run_require(read_file(packed, packed_size));
        run_require(read_whole(run_file(0, packed, packed_size), &text, &text_size) == SB_OK);
        run_require(text_size == size - skipped && memcmp(text, data + skipped, text_size) == 0);
        alloc_free(text);
    } else if (kind == CUT) {
        const size_t kept = 2 + where % (packed_size - 2); /* two bytes make it a gzip file */
        run_require(!read_file(packed, kept));
    } else {
        packed[where % packed_size] ^= 0x55;
        read_file(packed, packed_size);
    }
    free(packed);
    return 0;
}
