/* Writes the settings of sbeam eval as JSON lines with all digits, or as a table for people. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/eval.h"
#include "common/cli.h"
#include "common/output.h"

static const char *const keys[EVAL_VALUES] = {"bleu_min", "bleu_mean", "bleu_max", "d1",
                                              "d2",       "d3",        "d4",       "diversity"};

static void put_record(output *out, const eval_setting *setting)
{
    output_format(out, "{\"method\":\"%s\",\"k\":%" PRId32 ",\"temperature\":",
                  sb_method_name(setting->method), setting->k);
    output_json_number(out, setting->temperature);
    output_key_number(out, "strength", setting->strength);
    output_key(out, "inputs");
    output_unsigned(out, setting->n_inputs);
    for (int v = 0; v < EVAL_VALUES; v++)
        output_key_number(out, keys[v], setting->values[v]);
    output_text(out, "}\n");
}

/* Writes a blank and the number, right-aligned; "-" for NaN. */
static void put_cell(output *out, int width, int digits, double x)
{
    if (isnan(x))
        output_format(out, " %*s", width, "-");
    else
        output_format(out, " %*.*f", width, digits, x);
}

static void put_row(output *out, const eval_setting *setting)
{
    char strength[16] = "-";
    if (!isnan(setting->strength))
        snprintf(strength, sizeof strength, "%.4g", setting->strength);
    output_format(out, "%-11s %3" PRId32 " %4.4g %8s %6" PRIu64, sb_method_name(setting->method),
                  setting->k, setting->temperature, strength, setting->n_inputs);
    for (int v = EVAL_BLEU_MIN; v <= EVAL_BLEU_MAX; v++)
        put_cell(out, 5, 1, setting->values[v]);
    for (int v = EVAL_D1; v < EVAL_DIVERSITY; v++)
        put_cell(out, 4, 2, setting->values[v]);
    put_cell(out, 5, 3, setting->values[EVAL_DIVERSITY]);
    output_char(out, '\n');
}

int eval_write_settings(const eval_setting *settings, size_t n, bool is_text)
{
    output out = {0};
    if (is_text)
        output_text(&out, "                                     "
                          "----- BLEU ------ ------- diversity -------\n"
                          "method        k    T strength inputs"
                          "   min  mean   max   d1   d2   d3   d4  mean\n");
    for (size_t i = 0; i < n; i++) {
        if (is_text)
            put_row(&out, &settings[i]);
        else
            put_record(&out, &settings[i]);
    }
    const bool written = output_flush(&out);
    output_free(&out);
    return written ? EXIT_FINE : EXIT_FAILED;
}
