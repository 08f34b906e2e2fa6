/* Large files are mapped by mmap: a page is read when it is first used, and processes that use the
 * same model share its pages. Small files are copied into memory, so later changes of the file do
 * not matter. Only regular files have a reliable size, so all others are refused. */
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/status.h"

/* Writes the error for a file that is not regular. */
static sb_status fail_kind(const char *name, mode_t mode, sb_error *err)
{
    if (S_ISDIR(mode))
        return status_fail(err, SB_ERR_IO, "%s: expected a file, found a directory", name);
    return status_fail(err, SB_ERR_IO,
                       "%s: expected a regular file, which can be mapped into memory, found %s",
                       name, S_ISFIFO(mode) ? "a pipe" : "a device");
}

static sb_status map_whole(struct mapping *map, int fd, size_t size, const char *name,
                           sb_error *err)
{
    void *const data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return status_fail(err, SB_ERR_IO, "%s: cannot map the file into memory: %s", name,
                           strerror(errno));
    *map = (struct mapping){data, size, true};
    return SB_OK;
}

static sb_status read_whole(struct mapping *map, int fd, size_t size, const char *name,
                            sb_error *err)
{
    uint8_t *const data = alloc_array(size, 1);
    if (data == NULL)
        return status_no_memory(err);
    for (size_t n = 0; n < size;) {
        const ssize_t more = read(fd, data + n, size - n);
        if (more > 0) {
            n += (size_t)more;
        } else if (more == 0 || errno != EINTR) {
            const char *const why = strerror(errno);
            alloc_free(data);
            if (more < 0)
                return status_fail(err, SB_ERR_IO, "%s: %s", name, why);
            return status_fail(err, SB_ERR_IO,
                               "%s: the file was cut short while it was read: expected %zu bytes, "
                               "found %zu",
                               name, size, n);
        }
    }
    *map = (struct mapping){data, size, false};
    return SB_OK;
}

/* Reads or maps an open file. */
static sb_status take_file(struct mapping *map, int fd, const char *name, sb_error *err)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return status_fail(err, SB_ERR_IO, "%s: %s", name, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return fail_kind(name, facts.st_mode, err);
    const size_t size = (size_t)facts.st_size;
    if ((off_t)size != facts.st_size)
        return status_fail(err, SB_ERR_LIMIT, "%s: the file is too large for this machine", name);
    if (size > MAPPING_SMALL)
        return map_whole(map, fd, size, name, err);
    if (size > 0)
        return read_whole(map, fd, size, name, err);
    *map = (struct mapping){0};
    return SB_OK;
}

sb_status mapping_open(struct mapping *map, const char *path, sb_error *err)
{
    char name[STATUS_NAME_SIZE];
    status_name(name, path);
    /* Without O_NONBLOCK, opening a pipe would wait for a writer. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return status_fail(err, SB_ERR_IO, "%s: %s", name, strerror(errno));
    const sb_status status = take_file(map, fd, name, err);
    close(fd); /* the mapping stays */
    return status;
}

void mapping_close(struct mapping *map)
{
    void *const data = (void *)(uintptr_t)map->data;
    if (map->is_mapped)
        munmap(data, map->size);
    else
        alloc_free(data);
    *map = (struct mapping){0};
}
