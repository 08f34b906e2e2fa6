/* References of segments: files with a line per segment, alternatives separated by tabs. */
#ifndef COMMON_REFERENCE_FILE_H
#define COMMON_REFERENCE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "sbeam/metric.h"

typedef struct reference_set reference_set;

/* Reads n_paths >= 1 files. Line i of each holds references of segment i; between tabs, and over
 * the files, stand alternatives; an empty one is absent. *set is the caller's to close. */
sb_status reference_set_open(reference_set **set, const char *const *paths, size_t n_paths,
                             sb_error *err);
void reference_set_close(reference_set *set);

/* Segments that file number `i` has lines for, and its name for messages. */
uint64_t reference_set_lines(const reference_set *set, size_t i);
const char *reference_set_name(const reference_set *set, size_t i);

/* The references of segment `segment` (from 0), over all files: *n >= 1 of them, the set's own. An
 * error names the file that ends before it, or says that no reference is there. */
sb_status reference_set_get(const reference_set *set, uint64_t segment, const sb_text **texts,
                            size_t *n, sb_error *err);

#endif
