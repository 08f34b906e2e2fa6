/* The output of sbeam estimate as tables for people, at most 80 columns wide.
 *
 * Each draw has a table of its estimates. A summary has a table for each stream and temperature.
 * Columns have fixed widths, because the estimates are written as they come; text_number shortens
 * the numbers that do not fit. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/estimate.h"
#include "cli/text_form.h"

enum { MOST_COLUMNS = 6, TRUTH_WIDTH = 12 };

/* A column of numbers. */
typedef struct column {
    const char *title;
    int width;
    bool is_second; /* it says nothing without the column before it */
} column;

static const column draw_columns[] = {{"value", 10, false},     {"se", 8, false},
                                      {"95 % from", 10, false}, {"to", 10, true},
                                      {"mc_equiv", 8, false},   {0}};

static const column group_columns[] = {{"mean", 9, false}, {"se_mean", 9, false}, {"sd", 9, false},
                                       {"p025", 9, false}, {"p975", 9, true},     {0}};

static const column truth_columns[] = {{"mean", 8, false},
                                       {"se_mean", 8, false},
                                       {"bias", 8, false},
                                       {"rmse", 8, true},
                                       {"p025", 8, false},
                                       {"p975", 8, true},
                                       {0}};

typedef struct layout {
    const column *columns;
    int n_columns; /* shown: a narrow terminal has no room for the last ones */
    int name_width, k_width, gap;
} layout;

static int count_digits(uint64_t n)
{
    return snprintf(NULL, 0, "%" PRIu64, n);
}

/* Returns the width of a line. k_width 0: the table has no column for k. */
static int get_width(const layout *table)
{
    int width = table->name_width + (table->k_width > 0 ? table->gap + table->k_width : 0);
    for (int i = 0; i < table->n_columns; i++)
        width += table->gap + table->columns[i].width;
    return width;
}

/* Puts two spaces between columns, or one if the line would be too wide. If it still is, leaves out
 * columns at the end. */
static layout lay_out(const terminal *term, const column *columns, int name_width, int k_width)
{
    layout table = {.columns = columns, .name_width = name_width, .k_width = k_width, .gap = 2};
    while (columns[table.n_columns].title != NULL)
        table.n_columns++;
    if (get_width(&table) > (int)term->width)
        table.gap = 1;
    while (table.n_columns > 1 && get_width(&table) > (int)term->width)
        table.n_columns -= columns[table.n_columns - 1].is_second ? 2 : 1;
    return table;
}

static void put_titles(estimate_writer *writer, const layout *table)
{
    output *const out = &writer->out;
    terminal_style(&writer->term, out, "2");
    output_format(out, "%-*s", table->name_width, "estimator");
    if (table->k_width > 0)
        output_format(out, "%*s", table->gap + table->k_width, "k");
    for (int i = 0; i < table->n_columns; i++)
        output_format(out, "%*s", table->gap + table->columns[i].width, table->columns[i].title);
    terminal_plain(&writer->term, out);
    output_char(out, '\n');
}

/* Writes a line of the table, with decimals[i] digits after the point in column i if they fit. */
static void put_row(output *out, const layout *table, sb_estimator estimator, int32_t k,
                    const double *numbers, const int *decimals)
{
    output_format(out, "%-*s", table->name_width, sb_estimator_name(estimator));
    if (table->k_width > 0)
        output_format(out, "%*" PRId32, table->gap + table->k_width, k);
    for (int i = 0; i < table->n_columns; i++) {
        const int width = table->columns[i].width;
        char text[TEXT_SIZE];
        output_format(out, "%*s", table->gap + width,
                      text_number(text, numbers[i], decimals[i], width));
    }
    output_char(out, '\n');
}

/* Returns the decimals for a value: four significant digits, and two of its error. */
static int find_decimals(double value, double error)
{
    const int of_value = text_decimals(value, 4), of_error = text_decimals(error, 2);
    return error > 0 && of_error > of_value ? of_error : of_value;
}

/* --- the header of a table --- */

/* Starts a header, after an empty line unless it is the first. */
static void start_header(estimate_writer *writer)
{
    if (writer->has_blocks)
        output_char(&writer->out, '\n');
    writer->has_blocks = true;
    terminal_style(&writer->term, &writer->out, "1");
}

static void end_header(estimate_writer *writer)
{
    terminal_plain(&writer->term, &writer->out);
    output_char(&writer->out, '\n');
}

static void put_field(estimate_writer *writer, size_t *used, const char *field)
{
    text_put_field(&writer->term, &writer->out, used, field);
}

static void put_count(estimate_writer *writer, size_t *used, const char *name, uint64_t n)
{
    char field[TEXT_SIZE];
    snprintf(field, sizeof field, "%s %" PRIu64, name, n);
    put_field(writer, used, field);
}

/* Writes "NAME LEAST", or "NAME LEAST to LARGEST" if they differ. */
static void put_range(estimate_writer *writer, size_t *used, const char *name, uint64_t least,
                      uint64_t largest)
{
    char field[TEXT_SIZE];
    if (least == largest) {
        put_count(writer, used, name, least);
        return;
    }
    snprintf(field, sizeof field, "%s %" PRIu64 " to %" PRIu64, name, least, largest);
    put_field(writer, used, field);
}

static void put_temperature(estimate_writer *writer, size_t *used, double temperature)
{
    char field[TEXT_SIZE];
    snprintf(field, sizeof field, "T %g", temperature);
    put_field(writer, used, field);
}

/* --- estimates of one draw --- */

static void put_draw_header(estimate_writer *writer, const sb_record *record)
{
    size_t used = 0;
    start_header(writer);
    if (record->input_size > 0)
        text_put_input(&writer->term, &writer->out, record->stream, record->input,
                       record->input_size);
    put_field(writer, &used, sb_method_name(record->method));
    if (record->input_size == 0)
        put_count(writer, &used, "stream", record->stream);
    put_count(writer, &used, "k", (uint64_t)record->k);
    put_temperature(writer, &used, record->temperature);
    put_count(writer, &used, "draw", record->draw);
    put_field(writer, &used, writer->f.data);
    end_header(writer);
}

void estimate_text_add(estimate_writer *writer, const sb_record *record, sb_estimator estimator,
                       int32_t k, const sb_estimate *estimate)
{
    const sb_estimator longest = sb_method_get_info(record->method)->law == SB_LAW_DETERMINISTIC
                                     ? SB_ESTIMATOR_BEAM_NORMALISED
                                     : SB_ESTIMATOR_SBS_NORMALISED;
    const bool is_beyond = record->exhausted && writer->last_k > (uint64_t)record->k;
    const uint64_t last_k = is_beyond ? writer->last_k : (uint64_t)record->k;
    const layout table =
        lay_out(&writer->term, draw_columns, (int)strlen(sb_estimator_name(longest)),
                writer->has_curve ? count_digits(last_k) : 0);
    if (!writer->in_block) {
        put_draw_header(writer, record);
        put_titles(writer, &table);
        writer->in_block = true;
    }
    const estimate_interval interval = estimate_get_interval(estimate);
    const double numbers[MOST_COLUMNS] = {estimate->value, estimate->se, interval.low,
                                          interval.high, estimate->mc_equivalent};
    const int of_value = find_decimals(estimate->value, estimate->se);
    const int decimals[MOST_COLUMNS] = {of_value, text_decimals(estimate->se, 4), of_value,
                                        of_value, text_decimals(estimate->mc_equivalent, 4)};
    put_row(&writer->out, &table, estimator, k, numbers, decimals);
}

/* --- summaries --- */

/* Returns the number of groups at the start that share stream and temperature. */
static size_t count_block(const estimate_group *groups, size_t n)
{
    size_t i = 1;
    while (i < n && groups[i].stream == groups->stream &&
           groups[i].temperature == groups->temperature)
        i++;
    return i;
}

/* Properties of the groups of one table, for its header and its layout. */
typedef struct block {
    const estimate_group *groups; /* (n), all of one stream and temperature */
    size_t n;
    uint64_t least_k, largest_k, fewest_draws, most_draws;
    int name_width;
} block;

static block describe_block(const estimate_group *groups, size_t n)
{
    block found = {.groups = groups,
                   .n = n,
                   .least_k = UINT64_MAX,
                   .fewest_draws = UINT64_MAX,
                   .name_width = (int)strlen("estimator")};
    for (size_t i = 0; i < n; i++) {
        const uint64_t k = (uint64_t)groups[i].k, n_draws = groups[i].n_draws;
        const int length = (int)strlen(sb_estimator_name(groups[i].estimator));
        found.least_k = k < found.least_k ? k : found.least_k;
        found.largest_k = k > found.largest_k ? k : found.largest_k;
        found.fewest_draws = n_draws < found.fewest_draws ? n_draws : found.fewest_draws;
        found.most_draws = n_draws > found.most_draws ? n_draws : found.most_draws;
        found.name_width = length > found.name_width ? length : found.name_width;
    }
    return found;
}

static void put_block_header(estimate_writer *writer, const block *found)
{
    const estimate_group *const first = found->groups;
    size_t used = 0;
    start_header(writer);
    put_count(writer, &used, "stream", first->stream);
    put_range(writer, &used, "k", found->least_k, found->largest_k);
    put_temperature(writer, &used, first->temperature);
    put_range(writer, &used, "draws", found->fewest_draws, found->most_draws);
    put_field(writer, &used, writer->f.data);
    if (!isnan(first->truth)) {
        char number[TEXT_SIZE], field[TEXT_SIZE + 8];
        text_number(number, first->truth, text_decimals(first->truth, 6), TRUTH_WIDTH);
        snprintf(field, sizeof field, "truth %s", number);
        put_field(writer, &used, field);
    }
    end_header(writer);
}

/* Writes the columns that go with a known truth. */
static void put_group_with_truth(output *out, const layout *table, const estimate_group *group)
{
    const int of_mean = find_decimals(group->mean, group->se_mean);
    const double numbers[MOST_COLUMNS] = {group->mean, group->se_mean, group->bias,
                                          group->rmse, group->p025,    group->p975};
    const int decimals[MOST_COLUMNS] = {of_mean,
                                        text_decimals(group->se_mean, 4),
                                        text_decimals(group->bias, 4),
                                        text_decimals(group->rmse, 4),
                                        of_mean,
                                        of_mean};
    put_row(out, table, group->estimator, group->k, numbers, decimals);
}

static void put_group(output *out, const layout *table, const estimate_group *group)
{
    const int of_mean = find_decimals(group->mean, group->se_mean);
    const double numbers[MOST_COLUMNS] = {group->mean, group->se_mean, group->sd, group->p025,
                                          group->p975};
    const int decimals[MOST_COLUMNS] = {of_mean, text_decimals(group->se_mean, 4),
                                        text_decimals(group->sd, 4), of_mean, of_mean};
    put_row(out, table, group->estimator, group->k, numbers, decimals);
}

/* Writes the table of groups that share stream and temperature. */
static void put_block(estimate_writer *writer, const estimate_group *groups, size_t n)
{
    const block found = describe_block(groups, n);
    const bool has_truth = !isnan(groups->truth);
    const layout table =
        lay_out(&writer->term, has_truth ? truth_columns : group_columns, found.name_width,
                found.least_k < found.largest_k ? count_digits(found.largest_k) : 0);
    put_block_header(writer, &found);
    put_titles(writer, &table);
    for (size_t i = 0; i < n; i++) {
        if (has_truth)
            put_group_with_truth(&writer->out, &table, &groups[i]);
        else
            put_group(&writer->out, &table, &groups[i]);
    }
}

void estimate_text_add_groups(estimate_writer *writer, const estimate_group *groups, size_t n)
{
    size_t in_block;
    for (size_t i = 0; i < n; i += in_block) {
        in_block = count_block(groups + i, n - i);
        put_block(writer, groups + i, in_block);
    }
}
