/* Maps files by mmap: a page is read when it is first used, and processes that use the same model
 * share its pages. Only regular files have a reliable size, so all others are refused. */
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Maps an open file. */
static sb_status map_file(struct mapping *map, int fd, const char *name, sb_error *err)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return status_fail(err, SB_ERR_IO, "%s: %s", name, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return fail_kind(name, facts.st_mode, err);
    const size_t size = (size_t)facts.st_size;
    if ((off_t)size != facts.st_size)
        return status_fail(err, SB_ERR_LIMIT, "%s: the file is too large for this machine", name);
    void *data = NULL;
    if (size > 0) { /* mmap refuses an empty range */
        data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED)
            return status_fail(err, SB_ERR_IO, "%s: cannot map the file into memory: %s", name,
                               strerror(errno));
    }
    *map = (struct mapping){data, size};
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
    const sb_status status = map_file(map, fd, name, err);
    close(fd); /* the mapping stays */
    return status;
}

void mapping_close(struct mapping *map)
{
    if (map->data != NULL)
        munmap((void *)(uintptr_t)map->data, map->size);
    *map = (struct mapping){0};
}
