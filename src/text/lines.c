/* Reads lines through a buffer over gzread. gzgets copies byte by byte and cannot return a zero
 * byte.
 *
 * The unread bytes are buffer[begin .. end). If a line does not fit, it moves to the front and the
 * buffer doubles, up to the longest line. zlib reads plain files unchanged. It reports late that a
 * stream ends too early, so that is checked when the data run out. */
#include "text/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/status.h"

enum { FIRST_BUFFER = 1 << 18, ZLIB_BUFFER = 1 << 17 };

/* Maximum number of bytes that lines_read_rest reads for each byte of a compressed file. gzip can
 * make 1,032 bytes of one, so a small file could fill the memory. Models with numbers of 16 digits
 * have a ratio of 2 to 3. Some models with many equal numbers have a ratio of 80 to 470, so the
 * limit applies only if the text becomes larger than LINES_MAX_LINE; the user can decompress such a
 * file. */
enum { MOST_PER_BYTE = 32 };

struct lines_reader {
    char name[STATUS_NAME_SIZE];
    gzFile file;        /* NULL: memory */
    size_t file_size;   /* in bytes as stored; 0 if unknown, as of a pipe */
    const char *memory; /* the rest of the caller's data */
    size_t memory_size;
    char *buffer;
    size_t capacity, begin, end;
    size_t number;
    bool started, at_end;
};

static sb_status make_reader(lines_reader **reader, const char *name, sb_error *err)
{
    lines_reader *const r = alloc_zeroed(1, sizeof *r);
    if (r == NULL)
        return status_no_memory(err);
    status_name(r->name, name);
    r->buffer = alloc_array(FIRST_BUFFER, 1);
    r->capacity = FIRST_BUFFER;
    if (r->buffer == NULL) {
        lines_close(r);
        return status_no_memory(err);
    }
    *reader = r;
    return SB_OK;
}

sb_status lines_open(lines_reader **reader, const char *path, sb_error *err)
{
    lines_reader *r = NULL;
    char name[STATUS_NAME_SIZE];
    status_name(name, path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status_fail(err, SB_ERR_IO, "%s: %s", name, strerror(errno));
    struct stat facts;
    const bool is_known = fstat(fd, &facts) == 0;
    if (is_known && S_ISDIR(facts.st_mode)) {
        close(fd);
        return status_fail(err, SB_ERR_IO, "%s: expected a file, found a directory", name);
    }
    const sb_status status = make_reader(&r, path, err);
    if (status != SB_OK) {
        close(fd);
        return status;
    }
    r->file = gzdopen(fd, "rb");
    if (r->file == NULL) {
        close(fd);
        lines_close(r);
        return status_no_memory(err);
    }
    gzbuffer(r->file, ZLIB_BUFFER);
    r->file_size = is_known && S_ISREG(facts.st_mode) ? (size_t)facts.st_size : 0;
    *reader = r;
    return SB_OK;
}

sb_status lines_open_memory(lines_reader **reader, const char *name, const void *data, size_t size,
                            sb_error *err)
{
    lines_reader *r = NULL;
    const sb_status status = make_reader(&r, name, err);
    if (status != SB_OK)
        return status;
    r->memory = data;
    r->memory_size = size;
    *reader = r;
    return SB_OK;
}

void lines_close(lines_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->file != NULL)
        gzclose_r(reader->file);
    alloc_free(reader->buffer);
    alloc_free(reader);
}

const char *lines_name(const lines_reader *reader)
{
    return reader->name;
}

size_t lines_number(const lines_reader *reader)
{
    return reader->number;
}

static sb_status fail_read(const lines_reader *r, sb_error *err)
{
    const size_t line = r->number + 1;
    int code;
    const char *const what = gzerror(r->file, &code);
    switch (code) {
    case Z_BUF_ERROR:
        return status_fail(err, SB_ERR_FORMAT, "%s:%zu: the gzip data end too early", r->name,
                           line);
    case Z_DATA_ERROR:
        return status_fail(err, SB_ERR_FORMAT, "%s:%zu: the gzip data are damaged", r->name, line);
    case Z_MEM_ERROR: return status_no_memory(err);
    case Z_ERRNO: return status_fail(err, SB_ERR_IO, "%s:%zu: %s", r->name, line, strerror(errno));
    default: return status_fail(err, SB_ERR_IO, "%s:%zu: %s", r->name, line, what);
    }
}

/* Fills the free part of the buffer, or less of it at the end of the data. */
static sb_status fill_buffer(lines_reader *r, sb_error *err)
{
    const size_t room = r->capacity - r->end;
    if (r->file == NULL) {
        const size_t n = room < r->memory_size ? room : r->memory_size;
        if (n > 0)
            memcpy(r->buffer + r->end, r->memory, n);
        r->memory = n > 0 ? r->memory + n : r->memory;
        r->memory_size -= n;
        r->end += n;
        r->at_end = r->memory_size == 0;
    } else {
        errno = 0;
        const int n = gzread(r->file, r->buffer + r->end, (unsigned)room);
        if (n < 0)
            return fail_read(r, err);
        r->end += (size_t)n;
        r->at_end = (size_t)n < room;
        int code = Z_OK;
        if (r->at_end)
            gzerror(r->file, &code);
        if (code != Z_OK && code != Z_STREAM_END)
            return fail_read(r, err);
    }
    if (!r->started && r->end >= 3 && memcmp(r->buffer, "\xef\xbb\xbf", 3) == 0)
        r->begin = 3;
    r->started = true;
    return SB_OK;
}

/* Makes more bytes available: moves the unread bytes to the front, and doubles the buffer if they
 * fill it. */
static sb_status read_more(lines_reader *r, sb_error *err)
{
    if (r->begin > 0) {
        memmove(r->buffer, r->buffer + r->begin, r->end - r->begin);
        r->end -= r->begin;
        r->begin = 0;
    } else if (r->end == r->capacity) {
        if (r->capacity >= LINES_MAX_LINE)
            return status_fail(err, SB_ERR_LIMIT, "%s:%zu: the line is longer than %d bytes",
                               r->name, r->number + 1, LINES_MAX_LINE);
        if (alloc_reserve(&r->buffer, &r->capacity, r->capacity * 2, 1) != SB_OK)
            return status_no_memory(err);
    }
    return fill_buffer(r, err);
}

sb_status lines_peek(lines_reader *reader, const char **data, size_t *size, sb_error *err)
{
    while (!reader->at_end && reader->end - reader->begin < LINES_PEEK_SIZE) {
        const sb_status status = read_more(reader, err);
        if (status != SB_OK)
            return status;
    }
    const size_t n = reader->end - reader->begin;
    *data = reader->buffer + reader->begin;
    *size = n < LINES_PEEK_SIZE ? n : LINES_PEEK_SIZE;
    return SB_OK;
}

sb_status lines_next(lines_reader *reader, const char **line, size_t *size, sb_error *err)
{
    lines_reader *const r = reader;
    size_t searched = 0;
    const char *newline;
    for (;;) {
        const size_t n = r->end - r->begin;
        newline = n > searched ? memchr(r->buffer + r->begin + searched, '\n', n - searched) : NULL;
        if (newline != NULL || r->at_end)
            break;
        searched = r->started ? n : 0; /* a byte order mark would move `begin` */
        const sb_status status = read_more(r, err);
        if (status != SB_OK)
            return status;
    }
    const char *const start = r->buffer + r->begin;
    size_t n = newline != NULL ? (size_t)(newline - start) : r->end - r->begin;
    if (newline == NULL && n == 0) {
        *line = NULL;
        *size = 0;
        return SB_OK;
    }
    r->begin += n + (newline != NULL);
    r->number++;
    if (n > 0 && start[n - 1] == '\r')
        n--;
    *line = start;
    *size = n;
    return SB_OK;
}

/* Returns the maximum size of a compressed file after decompression, or SIZE_MAX for other
 * sources. */
static size_t most_bytes(const lines_reader *r)
{
    if (r->file == NULL || gzdirect(r->file))
        return SIZE_MAX;
    const size_t most =
        r->file_size < SIZE_MAX / MOST_PER_BYTE ? MOST_PER_BYTE * r->file_size : SIZE_MAX;
    return most > LINES_MAX_LINE ? most : LINES_MAX_LINE;
}

static sb_status fail_too_large(const lines_reader *r, size_t limit, bool is_compressed,
                                sb_error *err)
{
    if (!is_compressed)
        return status_fail(err, SB_ERR_LIMIT, "%s: the file is larger than %zu bytes", r->name,
                           limit);
    return status_fail(err, SB_ERR_LIMIT,
                       "%s: the file becomes larger than %zu bytes when decompressed; the limit is "
                       "16 MiB or %d times its size, whichever is more; if you trust it, "
                       "decompress it first (gunzip)",
                       r->name, limit, MOST_PER_BYTE);
}

sb_status lines_read_rest(lines_reader *reader, size_t limit, char **text, size_t *size,
                          sb_error *err)
{
    lines_reader *const r = reader;
    char *all = NULL;
    size_t n_all = 0, capacity = 0;
    const size_t most = most_bytes(r);
    const bool is_compressed = most < limit;
    limit = is_compressed ? most : limit;
    sb_status status = SB_OK;
    while (status == SB_OK) {
        const size_t n = r->end - r->begin;
        if (n > limit - n_all) {
            status = fail_too_large(r, limit, is_compressed, err);
            break;
        }
        if (alloc_reserve(&all, &capacity, n_all + n + 1, 1) != SB_OK) {
            status = status_no_memory(err);
            break;
        }
        memcpy(all + n_all, r->buffer + r->begin, n);
        n_all += n;
        r->begin = r->end = 0;
        if (r->at_end) {
            all[n_all] = '\0';
            *text = all;
            *size = n_all;
            return SB_OK;
        }
        status = fill_buffer(r, err);
    }
    alloc_free(all);
    return status;
}
