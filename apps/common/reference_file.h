/* Reads references of segments: files with one line per segment, alternatives separated by tabs. */
#ifndef COMMON_REFERENCE_FILE_H
#define COMMON_REFERENCE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "sbeam/metric.h"

typedef struct reference_set reference_set;

/* Reads n_paths >= 1 files. Line i + 1 of each file holds references of segment i, separated by
 * tabs; empty ones are left out. All references of a segment, from all files, are alternatives. On
 * success *set is the caller's to close. */
sb_status reference_set_open(reference_set **set, const char *const *paths, size_t n_paths,
                             sb_error *err);
void reference_set_close(reference_set *set);

/* Return the number of lines of file `i`, and its name for messages. */
uint64_t reference_set_lines(const reference_set *set, size_t i);
const char *reference_set_name(const reference_set *set, size_t i);

/* Finds the references of segment `segment` (from 0) in all files: *n >= 1 of them, owned by the
 * set. The error names the file that has no such line, or the line if it has no reference. */
sb_status reference_set_get(const reference_set *set, uint64_t segment, const sb_text **texts,
                            size_t *n, sb_error *err);

#endif
