/* The lines of a file of draws. */
#ifndef CLI_RECORD_LINES_H
#define CLI_RECORD_LINES_H

#include "common/line_reader.h"

/* Reads the next line as line_reader_next does, but skips the partial lines of sbeam draw --each.
 * The record of their draw holds the same sequences. */
int record_lines_next(line_reader *reader, sb_error *err);

#endif
