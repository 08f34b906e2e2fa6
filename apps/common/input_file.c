/* Reads an input that may have several lines. The limit of 2^30 bytes is beyond what any model
 * takes; it ends the reading of a device that never ends, such as /dev/zero, with a message. */
#include "common/input_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/line_reader.h"

enum { MOST_BYTES = 1 << 30, FIRST_CAPACITY = 1 << 16 };

sb_status input_file_read(const char *path, char **text, size_t *size, sb_error *err)
{
    line_reader reader; /* opens the file and keeps its name for messages */
    sb_status status = line_reader_open(&reader, path, err);
    if (status != SB_OK)
        return status;
    size_t capacity = FIRST_CAPACITY, used = 0;
    ssize_t n;
    char *bytes = cli_realloc(NULL, capacity, 1); /* with a byte to spare for the terminator */
    while ((n = read(reader.file, bytes + used, capacity - used)) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        used += n > 0 ? (size_t)n : 0;
        if (used > MOST_BYTES)
            break;
        if (used == capacity) {
            capacity *= 2;
            bytes = cli_realloc(bytes, capacity, 1);
        }
    }
    if (used > MOST_BYTES)
        status =
            sb_error_set(err, SB_ERR_INPUT,
                         "%s: an input has at most 2^30 bytes; the file has more", reader.name);
    else if (n < 0)
        status = sb_error_set(err, SB_ERR_IO, "%s: %s", reader.name, strerror(errno));
    line_reader_close(&reader);
    if (status != SB_OK) {
        free(bytes);
        return status;
    }
    if (used >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        used -= 3;
        memmove(bytes, bytes + 3, used);
    }
    const bool has_newline = used > 0 && bytes[used - 1] == '\n';
    used -= has_newline;
    used -= has_newline && used > 0 && bytes[used - 1] == '\r';
    bytes[used] = '\0';
    *text = bytes;
    *size = used;
    return SB_OK;
}

bool input_is_waiting(void)
{
    struct stat what;
    if (fstat(STDIN_FILENO, &what) != 0)
        return false;
    if (S_ISREG(what.st_mode)) {
        const off_t place = lseek(STDIN_FILENO, 0, SEEK_CUR);
        return place >= 0 && place < what.st_size;
    }
    int n = 0;
    return S_ISFIFO(what.st_mode) && ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n > 0;
}
