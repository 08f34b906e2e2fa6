/* Says what a cache of rows saved: to people on standard error, to programs in a file. */
#ifndef CLI_CACHE_REPORT_H
#define CLI_CACHE_REPORT_H

#include <stdio.h>

#include "sbeam/draw.h"

/* Prints a line on standard error if the plan has a cache and rows were asked for. */
void cache_report_print(const sb_plan *plan);

/* Writes plan->cache_stats to `file` as one JSON line. Returns the exit code, after a
 * message if it is not EXIT_FINE. */
int cache_report_write(const sb_plan *plan, FILE *file);

#endif
