/* Maps whole files as read-only memory, for weights that are too large to copy. */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

struct mapping {
    const uint8_t *data; /* NULL if the file is empty */
    size_t size;
};

/* Maps a regular file. Anything else (a directory, a pipe, a device) is SB_ERR_IO; a pipe is not
 * waited for. On success *map is the caller's to close. The file must not shrink while it is
 * mapped: reading past its new end would kill the process. */
sb_status mapping_open(struct mapping *map, const char *path, sb_error *err);
/* Releases the memory and zeroes *map. A zeroed mapping is allowed. */
void mapping_close(struct mapping *map);

#endif
