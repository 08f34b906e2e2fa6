/* The summary over draws: for each stream, temperature, estimator and k the mean and the spread of
 * the estimates, and their distance from the truth. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/estimate.h"
#include "common/cli.h"

void estimate_summary_close(estimate_summary *summary)
{
    for (size_t i = 0; i < summary->n_settings; i++)
        free(summary->settings[i]);
    free(summary->settings);
    free(summary->rows);
    free(summary->groups);
}

/* A file has few different settings, so a search from the last one is enough. */
size_t estimate_summary_settings(estimate_summary *summary, const char *settings)
{
    for (size_t i = summary->n_settings; i-- > 0;)
        if (strcmp(summary->settings[i], settings) == 0)
            return i;
    cli_reserve(&summary->settings, &summary->settings_capacity, summary->n_settings + 1,
                sizeof *summary->settings);
    summary->settings[summary->n_settings] = cli_copy_text(settings);
    return summary->n_settings++;
}

void estimate_summary_add(estimate_summary *summary, const estimate_row *row)
{
    cli_reserve(&summary->rows, &summary->capacity, summary->n_rows + 1, sizeof *summary->rows);
    summary->rows[summary->n_rows++] = *row;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* Compares by stream, temperature, estimator and k: equal rows belong to one group. */
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
    int order = compare_groups(a, b);
    if (order == 0)
        order = COMPARE(a->seed, b->seed);
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
        const estimate_row *const row = &summary->rows[i], *const before = row - 1;
        if (compare_groups(before, row) == 0 && before->settings != row->settings)
            return sb_error_set(err, SB_ERR_INPUT,
                                "stream %" PRIu64 " at temperature %g has draws with different "
                                "settings, on line %" PRIu64 " \"%.100s\" and on line %" PRIu64
                                " \"%.100s\": summarise them separately",
                                row->stream, row->temperature, before->line,
                                summary->settings[before->settings], row->line,
                                summary->settings[row->settings]);
        if (compare_rows(before, row) == 0)
            return sb_error_set(err, SB_ERR_INPUT,
                                "draw %" PRIu64 " of stream %" PRIu64
                                " at temperature %g gives %s at k = %d twice: the input holds two "
                                "draws with these numbers",
                                row->draw, row->stream, row->temperature,
                                sb_estimator_name(row->estimator), (int)row->k);
    }
    return SB_OK;
}

/* Returns the number at `share` of the way from the first (0) to the last (1) of the sorted
 * numbers, linear between neighbours. */
static double percentile(const double *sorted, size_t n, double share)
{
    const double place = share * (double)(n - 1);
    const size_t below = (size_t)place;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* Returns the standard deviation of n numbers around their mean, with n - 1 degrees of freedom. The
 * deviations are divided by the largest first, so that no square overflows or underflows. */
static double deviation(const double *values, size_t n, double mean)
{
    double largest = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(values[i] - mean));
    if (n < 2 || largest == 0)
        return n < 2 ? NAN : 0;
    for (size_t i = 0; i < n; i++) {
        const double share = (values[i] - mean) / largest;
        squares += share * share;
    }
    return largest * sqrt(squares / (double)(n - 1));
}

/* Reduces n rows of one group. `values` has room for n numbers. */
static estimate_group reduce(const estimate_row *rows, size_t n, double truth, double *values)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double from_truth = rows[i].value - truth;
        values[i] = rows[i].value;
        mean += rows[i].value / (double)n;
        squares += from_truth * from_truth / (double)n;
    }
    qsort(values, n, sizeof *values, compare_numbers);
    const double sd = deviation(values, n, mean);
    return (estimate_group){.stream = rows->stream,
                            .temperature = rows->temperature,
                            .estimator = rows->estimator,
                            .k = rows->k,
                            .n_draws = n,
                            .mean = mean,
                            .p025 = percentile(values, n, 0.025),
                            .p975 = percentile(values, n, 0.975),
                            .sd = sd,
                            .se_mean = sd / sqrt((double)n),
                            .truth = truth,
                            .bias = mean - truth,
                            .rmse = sqrt(squares)};
}

sb_status estimate_summary_reduce(estimate_summary *summary, estimate_truth *truth, sb_error *err)
{
    const size_t n_rows = summary->n_rows;
    if (n_rows == 0)
        return SB_OK;
    qsort(summary->rows, n_rows, sizeof *summary->rows, compare_rows);
    const sb_status status = check_rows(summary, err);
    if (status != SB_OK)
        return status;
    double *const values = cli_realloc(NULL, n_rows, sizeof *values);
    size_t n, capacity = 0;
    for (size_t i = 0; i < n_rows; i += n) {
        const estimate_row *const rows = &summary->rows[i];
        for (n = 1; i + n < n_rows && compare_groups(rows, rows + n) == 0; n++)
            ;
        cli_reserve(&summary->groups, &capacity, summary->n_groups + 1, sizeof *summary->groups);
        const double exact = estimate_truth_get(truth, rows->stream, rows->temperature);
        summary->groups[summary->n_groups++] = reduce(rows, n, exact, values);
    }
    free(values);
    return SB_OK;
}
