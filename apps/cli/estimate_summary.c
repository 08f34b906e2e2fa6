/* The reduction over draws: mean, percentiles, and how far from the truth. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/estimate.h"
#include "common/cli.h"

void estimate_summary_add(estimate_summary *summary, const estimate_row *row)
{
    if (summary->n_rows == summary->capacity) {
        summary->capacity = summary->capacity < 512 ? 1024 : 2 * summary->capacity;
        summary->rows = cli_realloc(summary->rows, summary->capacity, sizeof(*summary->rows));
    }
    summary->rows[summary->n_rows++] = *row;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* By what a line stands for. */
static int compare_groups(const estimate_row *a, const estimate_row *b)
{
    int order = COMPARE(a->stream, b->stream);
    if (order == 0)
        order = COMPARE(a->temperature, b->temperature);
    if (order == 0)
        order = COMPARE(a->estimator, b->estimator);
    return order != 0 ? order : COMPARE(a->k, b->k);
}

static int compare_rows(const void *x, const void *y)
{
    const estimate_row *const a = x, *const b = y;
    const int order = compare_groups(a, b);
    return order != 0 ? order : COMPARE(a->draw, b->draw);
}

static int compare_numbers(const void *x, const void *y)
{
    const double *const a = x, *const b = y;
    return COMPARE(*a, *b);
}

static sb_status check_rows(const estimate_summary *summary, sb_error *err)
{
    for (size_t i = 1; i < summary->n_rows; i++) {
        const estimate_row *const row = &summary->rows[i];
        if (compare_rows(row - 1, row) == 0)
            return sb_error_set(err, SB_ERR_INPUT,
                                "draw %" PRIu64 " of stream %" PRIu64
                                " at temperature %g gives %s at k = %d twice: are there two runs "
                                "with the same numbers?",
                                row->draw, row->stream, row->temperature,
                                sb_estimator_name(row->estimator), (int)row->k);
    }
    return SB_OK;
}

/* Between sorted numbers, linearly: 0 is the first and 1 the last. */
static double percentile(const double *sorted, size_t n, double share)
{
    const double place = share * (double)(n - 1);
    const size_t below = (size_t)place;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

static void put_group(output *out, const estimate_row *rows, size_t n, double truth, double *values)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double from_truth = rows[i].value - truth;
        values[i] = rows[i].value;
        mean += rows[i].value / (double)n;
        squares += from_truth * from_truth / (double)n;
    }
    qsort(values, n, sizeof(*values), compare_numbers);
    output_format(out, "{\"stream\":%" PRIu64, rows->stream);
    output_key_number(out, "temperature", rows->temperature);
    output_format(out, ",\"estimator\":\"%s\",\"k\":%d,\"draws\":%zu",
                  sb_estimator_name(rows->estimator), (int)rows->k, n);
    output_key_number(out, "mean", mean);
    output_key_number(out, "p025", percentile(values, n, 0.025));
    output_key_number(out, "p975", percentile(values, n, 0.975));
    output_key_number(out, "bias", mean - truth);
    output_key_number(out, "rmse", sqrt(squares));
    output_text(out, "}\n");
}

sb_status estimate_summary_write(estimate_summary *summary, estimate_truth *truth, output *out,
                                 sb_error *err)
{
    const size_t n_rows = summary->n_rows;
    if (n_rows == 0)
        return SB_OK;
    qsort(summary->rows, n_rows, sizeof(*summary->rows), compare_rows);
    const sb_status status = check_rows(summary, err);
    if (status != SB_OK)
        return status;
    double *const values = cli_realloc(NULL, n_rows, sizeof(*values));
    size_t n;
    for (size_t i = 0; i < n_rows; i += n) {
        const estimate_row *const rows = &summary->rows[i];
        for (n = 1; i + n < n_rows && compare_groups(rows, rows + n) == 0; n++)
            ;
        put_group(out, rows, n, estimate_truth_get(truth, rows->stream, rows->temperature), values);
    }
    free(values);
    return SB_OK;
}
