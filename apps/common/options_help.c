/* Writes the help pages from the tables that the parser reads, so that the two cannot disagree. */
#include "common/options.h"

#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "common/output.h"
#include "sbeam/format.h"

enum { PAGE_WIDTH = 80, HELP_COLUMN = 30 };

/* Writes n bytes at `column`, or on a new line after `indent` spaces if they do not fit. Returns
 * the column after them. */
static size_t put_piece(output *out, const char *text, size_t n, size_t column, size_t indent)
{
    if (column + n > PAGE_WIDTH && column > indent) {
        output_char(out, '\n');
        output_repeat(out, " ", indent);
        column = indent;
    }
    output_bytes(out, text, n);
    return column + n;
}

/* Writes words from `column` on. Further lines begin with `indent` spaces. */
static void put_wrapped(output *out, const char *text, size_t column, size_t indent)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, " ");
        column = put_piece(out, text, n, column, indent);
        text += n;
        if (*text == ' ') {
            text++;
            if (column + 1 + strcspn(text, " ") <= PAGE_WIDTH)
                output_char(out, ' ');
            column++;
        }
    }
    output_char(out, '\n');
}

/* Writes "a|b|c" from `column` on, broken after a bar if it is too long for the line. Returns the
 * column after it. */
static size_t put_metavar(output *out, const char *text, size_t column)
{
    const size_t indent = column;
    while (*text != '\0') {
        const size_t n = strcspn(text, "|") + (strchr(text, '|') != NULL);
        column = put_piece(out, text, n, column, indent);
        text += n;
    }
    return column;
}

static void put_entry(output *out, char letter, const char *name, const char *metavar,
                      const char *help)
{
    char dash[8] = "    ";
    if (letter != 0)
        snprintf(dash, sizeof dash, "-%c, ", letter);
    const size_t start = out->size;
    output_format(out, "  %s--%s%s", dash, name, metavar ? " " : "");
    size_t column = out->size - start;
    if (metavar != NULL)
        column = put_metavar(out, metavar, column);
    if (column + 2 > HELP_COLUMN) {
        output_char(out, '\n');
        column = 0;
    }
    output_repeat(out, " ", HELP_COLUMN - column);
    put_wrapped(out, help, HELP_COLUMN, HELP_COLUMN);
}

/* Writes the range of a setting: "1 to 10000000; ", "at least 0; ", "above 0 and at most 1; ", or
 * "" if it has no bounds. Real bounds of 1e300 and whole bounds of 1e18 or more mean "no bound". */
static void describe_range(const sb_option *setting, char *text, size_t size)
{
    const bool is_whole = setting->type == SB_OPTION_INT;
    const bool is_number = is_whole || setting->type == SB_OPTION_REAL;
    const double unlimited = is_whole ? 1e18 : 1e300;
    const bool has_min = is_number && setting->min > -unlimited;
    const bool has_max = is_number && setting->max < unlimited;
    char min[SB_NUMBER_SIZE], max[SB_NUMBER_SIZE];
    if (is_whole) {
        sb_number_format(min, setting->min);
        sb_number_format(max, setting->max);
    } else {
        snprintf(min, sizeof min, "%g", setting->min);
        snprintf(max, sizeof max, "%g", setting->max);
    }
    text[0] = '\0';
    if (has_min && has_max && setting->open_min)
        snprintf(text, size, "above %s and at most %s; ", min, max);
    else if (has_min && has_max)
        snprintf(text, size, "%s to %s; ", min, max);
    else if (has_min)
        snprintf(text, size, "%s %s; ", setting->open_min ? "above" : "at least", min);
    else if (has_max)
        snprintf(text, size, "at most %s; ", max);
}

/* Writes the help of a setting: its phrase, then the methods that take it, range and default. */
static void put_setting(output *out, const sb_option *setting)
{
    char spelt[64], range[128], methods[128], help[640];
    options_spell(setting, spelt, sizeof spelt);
    describe_range(setting, range, sizeof range);
    const bool is_for_all = options_list_methods(setting->methods, methods, sizeof methods);
    const char *const negation = strcmp(spelt, setting->name) != 0 ? "do not " : "";
    const char *const initial =
        strcmp(setting->name, "seed") == 0 ? "random" : setting->default_text;
    if (setting->type != SB_OPTION_FLAG)
        snprintf(help, sizeof help, "%s (%s%s%sdefault: %s)", setting->help,
                 is_for_all ? "" : methods, is_for_all ? "" : "; ", range, initial);
    else if (is_for_all)
        snprintf(help, sizeof help, "%s%s", negation, setting->help);
    else
        snprintf(help, sizeof help, "%s%s (%s)", negation, setting->help, methods);
    put_entry(out, options_letter(setting), spelt, setting->metavar, help);
}

/* Writes the help of a setting among a command's own options: its phrase, range and default. The
 * range is not shown if its end is 2^53, which only keeps numbers exact. */
static void put_own_setting(output *out, const option *own)
{
    const sb_option *const setting = options_setting((size_t)options_find_setting(own->name));
    char range[64] = "", help[640];
    if (setting->type == SB_OPTION_INT && setting->max < 0x1p53)
        snprintf(range, sizeof range, ", %.0f to %.0f", setting->min, setting->max);
    if (setting->default_text != NULL)
        snprintf(help, sizeof help, "%s%s (default: %s)", setting->help, range,
                 setting->default_text);
    else
        snprintf(help, sizeof help, "%s", setting->help);
    put_entry(out, 0, own->name, setting->metavar, own->help != NULL ? own->help : help);
}

static void put_options(output *out, const option *table)
{
    for (; table->name != NULL; table++) {
        if (options_is_setting(table))
            put_own_setting(out, table);
        else
            put_entry(out, table->letter, table->name, table->metavar, table->help);
    }
}

int options_help(const option_spec *spec)
{
    output out = {0};
    output_format(&out, "usage: sbeam %s %s\n\n", spec->command, spec->synopsis);
    output_text(&out, spec->about);
    if (out.data[out.size - 1] != '\n')
        output_char(&out, '\n');
    if (spec->own[0].name != NULL) {
        output_text(&out, "\nOptions:\n");
        put_options(&out, spec->own);
    }
    const sb_option *setting;
    bool any = false;
    for (size_t i = 0; (setting = sb_config_option(i)) != NULL; i++) {
        if (spec->takes == NULL || !spec->takes(setting))
            continue;
        if (!any)
            output_text(&out, "\nDrawing:\n");
        any = true;
        put_setting(&out, setting);
    }
    if (spec->takes_model) {
        output_text(&out, "\nModel:\n");
        put_options(&out, options_of_models);
    }
    char help[128];
    const char *const first = spec->format_default != NULL ? spec->format_default : spec->formats;
    snprintf(help, sizeof help, "format of the output (default: %.*s)", (int)strcspn(first, "|"),
             first);
    output_text(&out, "\nGeneral:\n");
    put_entry(&out, 'f', "format", spec->formats, help);
    put_entry(&out, 'h', "help", NULL, "print this page");
    const bool written = output_flush(&out);
    output_free(&out);
    return written ? EXIT_FINE : EXIT_FAILED;
}
