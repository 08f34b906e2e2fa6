/* Gives whole files as read-only memory. Small files are read, and large ones are mapped. */
#ifndef BASE_MAPPING_H
#define BASE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

struct mapping {
    const uint8_t *data; /* NULL if the file is empty */
    size_t size;
    bool is_mapped; /* false: data is a copy */
};

/* Files of at most this size, in bytes, are read, so later changes of the file do not matter.
 * Larger files are mapped, because new memory takes time: opening the shipped model, 13 MB, took 39
 * ms if it was read and 30 ms if it was mapped. At 1 MB the difference is below 1 ms. */
enum { MAPPING_SMALL = 1 << 20 };

/* Reads or maps a regular file. Anything else (a directory, a pipe, a device) is SB_ERR_IO, and the
 * function does not wait for a pipe. On success *map is the caller's to close. A mapped file must
 * not shrink: reading past its new end raises SIGBUS, which ends the process unless the program
 * handles it. */
sb_status mapping_open(struct mapping *map, const char *path, sb_error *err);
/* Releases the memory and zeroes *map. A zeroed mapping is allowed. */
void mapping_close(struct mapping *map);

#endif
