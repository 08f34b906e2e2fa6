/* Says what the files hold and what was checked. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text_form.h"
#include "cli/verify.h"
#include "common/cli.h"
#include "common/utf.h"

enum { MOST_GROUPS = 12 }; /* that the text shows */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Files usually stay with one group or go through them in turn; few have many. */
static verify_group *find_group(verify_report *report, const sb_record *record)
{
    for (size_t i = report->n_groups; i-- > 0;) {
        verify_group *const group = &report->groups[i];
        if (group->method == record->method && group->k == record->k &&
            group->temperature == record->temperature &&
            strcmp(group->settings, record->settings) == 0 &&
            is_same_text(group->version, record->version))
            return group;
    }
    cli_reserve(&report->groups, &report->capacity, report->n_groups + 1, sizeof *report->groups);
    verify_group *const group = &report->groups[report->n_groups++];
    *group =
        (verify_group){.method = record->method,
                       .k = record->k,
                       .temperature = record->temperature,
                       .settings = cli_copy_text(record->settings),
                       .version = record->version != NULL ? cli_copy_text(record->version) : NULL,
                       .seed = record->seed};
    return group;
}

void verify_report_add(verify_report *report, const sb_record *record)
{
    verify_group *const group = find_group(report, record);
    group->n_draws++;
    group->has_seeds = group->has_seeds || group->seed != record->seed;
    report->n_records++;
    report->n_sequences += record->n_sequences;
    report->n_unnamed += record->model == NULL;
}

void verify_report_close(verify_report *report)
{
    for (size_t i = 0; i < report->n_groups; i++) {
        free(report->groups[i].settings);
        free(report->groups[i].version);
    }
    free(report->groups);
}

/* Writes a number with commas between thousands. Returns `text`, which has TEXT_SIZE bytes. */
static const char *format_count(char *text, uint64_t n)
{
    char digits[TEXT_SIZE];
    const int size = snprintf(digits, sizeof digits, "%" PRIu64, n);
    char *to = text;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text;
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void put_group(const verify_group *group, const terminal *term, output *out)
{
    char field[2 * TEXT_SIZE], count[TEXT_SIZE];
    size_t column = 0;
    snprintf(field, sizeof field, "%s draw%s", format_count(count, group->n_draws),
             plural(group->n_draws));
    text_put_field(term, out, &column, field);
    snprintf(field, sizeof field, "%s", sb_method_name(group->method));
    text_put_field(term, out, &column, field);
    snprintf(field, sizeof field, "k %d", (int)group->k);
    text_put_field(term, out, &column, field);
    snprintf(field, sizeof field, "T %g", group->temperature);
    text_put_field(term, out, &column, field);
    if (group->has_seeds)
        snprintf(field, sizeof field, "several seeds");
    else
        snprintf(field, sizeof field, "seed %" PRIu64, group->seed);
    text_put_field(term, out, &column, field);
    if (group->version != NULL) {
        output version = {0};
        output_text(&version, "sbeam ");
        utf_put_cut(&version, group->version, strlen(group->version), 20, term->unicode);
        output_char(&version, '\0');
        text_put_field(term, out, &column, version.data);
        output_free(&version);
    }
    output_char(out, '\n');
    if (*group->settings != '\0') {
        output_text(out, "  ");
        utf_put_cut(out, group->settings, strlen(group->settings), term->width - 2, term->unicode);
        output_char(out, '\n');
    }
}

/* Says how the draws were repeated, or how they can be. */
static void put_repeated(const verify_report *report, output *out)
{
    char n[TEXT_SIZE], near[TEXT_SIZE];
    if (report->n_repeated == 0) {
        output_text(out,
                    "repeated  none: give the model with -m to make some of the draws again\n");
        return;
    }
    output_format(out, "repeated  %s draw%s", format_count(n, report->n_repeated),
                  plural(report->n_repeated));
    if (report->n_repeated < report->n_records && !report->is_complete)
        output_format(out, " chosen at random (--seed %" PRIu64 ")", report->seed);
    if (report->n_equal == report->n_repeated) {
        output_text(out, ": the same, bit for bit\n");
        return;
    }
    output_format(out,
                  ": the same; %s of them up to rounding, by at\n"
                  "          most %.1e in a log-probability, as with another build or batch\n",
                  format_count(near, report->n_repeated - report->n_equal), report->rounding);
    if (report->n_other > 0)
        output_format(
            out, "          %s of them with a sequence or a threshold that was not drawn again\n",
            format_count(near, report->n_other));
}

void verify_report_put_text(const verify_report *report, const terminal *term, output *out)
{
    char n[TEXT_SIZE], m[TEXT_SIZE];
    for (size_t i = 0; i < report->n_groups && i < MOST_GROUPS; i++)
        put_group(&report->groups[i], term, out);
    if (report->n_groups > MOST_GROUPS)
        output_format(out, "and %zu more settings\n", report->n_groups - MOST_GROUPS);
    output_format(out,
                  "checked   %s draw%s, %s sequences: each draw occurs once, its sequences are\n"
                  "          distinct and in the order of G, weights follow from log p and kappa\n",
                  format_count(n, report->n_records), plural(report->n_records),
                  format_count(m, report->n_sequences));
    if (report->n_unnamed > 0)
        output_format(out, "not checked: %s draw%s not name the model\n",
                      format_count(n, report->n_unnamed),
                      report->n_unnamed == 1 ? " does" : "s do");
    put_repeated(report, out);
}

void verify_report_put_json(const verify_report *report, output *out)
{
    output_format(out,
                  "{\"files\":%" PRIu64 ",\"records\":%" PRIu64 ",\"sequences\":%" PRIu64
                  ",\"settings\":%zu,\"unnamed\":%" PRIu64 ",\"repeated\":%" PRIu64
                  ",\"equal\":%" PRIu64 ",\"other\":%" PRIu64 ",\"seed\":%" PRIu64,
                  report->n_files, report->n_records, report->n_sequences, report->n_groups,
                  report->n_unnamed, report->n_repeated, report->n_equal, report->n_other,
                  report->seed);
    output_key_number(out, "rounding", report->rounding);
    output_text(out, "}\n");
}
