/* Fits settings to a model or a host: refuses those that do not go together with it, and replaces
 * automatic values. */
#ifndef DECODE_FIT_H
#define DECODE_FIT_H

#include "sbeam/config.h"
#include "sbeam/model.h"

/* Fits valid settings to a model. */
sb_status fit_to_model(sb_config *config, const sb_model *model, sb_error *err);
/* Replaces the automatic values of search and parallel, for rows of a type. `why_not` is NULL if
 * best-first search is possible, else a clause that says why it is not. Settings that need it are
 * then refused. */
sb_status fit_search(sb_config *config, sb_row_type row_type, const char *why_not, sb_error *err);

#endif
