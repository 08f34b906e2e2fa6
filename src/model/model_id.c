/* A file of at most 256 MiB is read whole. For a larger file the checksum covers its size (8 bytes,
 * little-endian), the first and the last MiB, and 1,000 blocks of 4 KiB at fixed, evenly spaced
 * positions. Reading all of a language model would take longer than drawing from it. */
#include "model/model_id.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checksum.h"
#include "base/status.h"

enum { END = 1 << 20, BLOCK = 4096, N_BLOCKS = 1000 };
enum { PIECE = 1 << 16 }; /* read at a time */
static const uint64_t whole_size = (uint64_t)256 << 20;

static void write_id(const struct checksum *sum, char id[MODEL_ID_SIZE])
{
    snprintf(id, MODEL_ID_SIZE, "%016" PRIx64, checksum_get(sum));
}

/* Adds `size` bytes from `offset` on. Returns 0 or an errno; a file that ends early is EIO. */
static int add_range(struct checksum *sum, int file, uint64_t offset, uint64_t size, char *piece)
{
    while (size > 0) {
        const ssize_t n = pread(file, piece, size < PIECE ? (size_t)size : PIECE, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        checksum_add(sum, piece, (size_t)n);
        offset += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return 0;
}

static int add_excerpts(struct checksum *sum, int file, uint64_t size, char *piece)
{
    unsigned char digits[8];
    for (int i = 0; i < 8; i++)
        digits[i] = (unsigned char)(size >> (8 * i));
    checksum_add(sum, digits, sizeof digits);
    int error = add_range(sum, file, 0, END, piece);
    if (error == 0)
        error = add_range(sum, file, size - END, END, piece);
    const uint64_t distance = (size - BLOCK) / (N_BLOCKS - 1);
    for (uint64_t i = 0; error == 0 && i < N_BLOCKS; i++)
        error = add_range(sum, file, i * distance, BLOCK, piece);
    return error;
}

sb_status model_id_of_file(const char *path, char id[MODEL_ID_SIZE], sb_error *err)
{
    struct stat facts;
    struct checksum sum;
    id[0] = '\0';
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *const piece = alloc_array(PIECE, 1);
    int error = file < 0 || fstat(file, &facts) != 0 ? errno : 0;
    checksum_open(&sum);
    if (error == 0 && piece != NULL && S_ISREG(facts.st_mode)) {
        const uint64_t size = (uint64_t)facts.st_size;
        error = size <= whole_size ? add_range(&sum, file, 0, size, piece)
                                   : add_excerpts(&sum, file, size, piece);
        if (error == 0)
            write_id(&sum, id);
    }
    if (file >= 0)
        close(file);
    alloc_free(piece);
    if (piece == NULL)
        return status_no_memory(err);
    if (error != 0)
        return status_fail(err, SB_ERR_IO, "%s: cannot compute the checksum: %s", path,
                           strerror(error));
    return SB_OK;
}

void model_id_of_memory(const void *data, size_t size, char id[MODEL_ID_SIZE])
{
    struct checksum sum;
    checksum_open(&sum);
    checksum_add(&sum, data, size);
    write_id(&sum, id);
}
