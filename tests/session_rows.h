/* Steps of a session whose states are numbered by the rows of the step: row i continues row
 * parent[i] of the step before. */
#ifndef TESTS_SESSION_ROWS_H
#define TESTS_SESSION_ROWS_H

#include <stdlib.h>

#include "sbeam/model.h"

static inline sb_status session_rows(sb_session *session, int32_t n_rows, const int32_t *parent,
                                     const int32_t *token, const int32_t *input, void *rows,
                                     sb_error *err)
{
    int32_t *const to = malloc((size_t)(n_rows > 0 ? n_rows : 1) * sizeof *to);
    for (int32_t i = 0; i < n_rows; i++)
        to[i] = i;
    const sb_status status = sb_session_step(session, n_rows, parent, to, token, input, rows, err);
    free(to);
    return status;
}

#endif
