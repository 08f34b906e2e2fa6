/* Helpers for the tests of models: opening from text, expecting an error, reading a row. */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/backend.h"
#include "sbeam/model.h"
#include "session_rows.h"

#ifndef TEST_DATA
#define TEST_DATA "tests/data"
#endif

/* A text that must be refused, and a part of the message that it must cause. */
typedef struct refusal {
    const char *text;
    sb_status status;
    const char *message;
} refusal;

static inline void check_refusal(const char *name, const refusal *r)
{
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    const sb_status status = model_open_memory(&model, name, r->text, strlen(r->text), &err);
    if (status != r->status || strstr(err.message, r->message) == NULL)
        print_error("for:\n%s\nexpected: %s\nfound: %s\n", r->text, r->message, err.message);
    assert_int_equal(status, r->status);
    assert_int_equal(err.status, r->status);
    assert_non_null(strstr(err.message, r->message));
    assert_null(model);
}

static inline sb_model *open_file(const char *path)
{
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    if (sb_model_open(&model, path, &err) != SB_OK)
        fail_msg("%s", err.message);
    return model;
}

static inline sb_model *open_text(const char *name, const char *text)
{
    sb_model *model = NULL;
    sb_error err = {.message = ""};
    if (model_open_memory(&model, name, text, strlen(text), &err) != SB_OK)
        fail_msg("%s", err.message);
    return model;
}

static inline int32_t token_of(const sb_model *model, const char *text)
{
    const int32_t token = sb_model_find_token(model, text, strlen(text));
    assert_true(token >= 0);
    return token;
}

/* Writes the row after a prefix to `row`. */
static inline void row_after(const sb_model *model, const char *prefix, double *row)
{
    sb_session *session;
    sb_error err = {.message = ""};
    const int32_t root = -1, input = 0;
    assert_int_equal(sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 1}, &err),
                     SB_OK);
    if (sb_session_begin(session, 0, prefix, strlen(prefix), &err) != SB_OK)
        fail_msg("%s", err.message);
    assert_int_equal(session_rows(session, 1, &root, &root, &input, row, &err), SB_OK);
    sb_session_close(session);
}

/* Checks that sb_session_begin refuses the prefix with exactly this message. */
static inline void check_prefix_refused(const sb_model *model, const char *prefix,
                                        const char *message)
{
    sb_session *session;
    sb_error err = {.message = ""};
    assert_int_equal(sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 1}, NULL),
                     SB_OK);
    assert_int_equal(sb_session_begin(session, 0, prefix, strlen(prefix), &err), SB_ERR_INPUT);
    assert_string_equal(err.message, message);
    sb_session_close(session);
}

static inline void check_near(double found, double expected)
{
    if (found == expected)
        return;
    if (!(fabs(found - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

/* Opens a model and takes two steps, unless memory runs out before. */
static inline sb_status open_and_step(const char *path)
{
    const int32_t root = -1, first[2] = {0, 0}, input[2] = {0, 0};
    int32_t token[2] = {0, 0};
    sb_model *model = NULL;
    sb_session *session = NULL;
    sb_error err;
    sb_status status = sb_model_open(&model, path, &err);
    if (status != SB_OK)
        return status;
    double *const rows = malloc(2 * (size_t)sb_model_get_info(model)->vocab_size * sizeof *rows);
    assert_non_null(rows);
    status = sb_session_open(&session, model, &(sb_session_spec){.max_inputs = 1}, &err);
    if (status == SB_OK)
        status = sb_session_begin(session, 0, NULL, 0, &err);
    if (status == SB_OK)
        status = session_rows(session, 1, &root, &root, input, rows, &err);
    while (status == SB_OK && sb_session_is_leaf(session, 0, token[0]))
        token[1] = ++token[0];
    if (status == SB_OK)
        status = session_rows(session, 2, first, token, input, rows, &err);
    sb_session_close(session);
    sb_model_close(model);
    free(rows);
    return status;
}

/* Makes each allocation fail in turn. The sanitizers report what leaks. */
static inline void check_allocation_failures(const char *path)
{
    long n = 1;
    for (;; n++) {
        alloc_fail_at(n);
        const sb_status status = open_and_step(path);
        const bool failed = alloc_has_failed();
        alloc_fail_at(0);
        assert_int_equal(status, failed ? SB_ERR_MEMORY : SB_OK);
        if (!failed)
            break;
    }
    assert_true(n > 5);
}

#endif
