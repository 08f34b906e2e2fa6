/* The exact expectation of f, one for each stream and temperature: a draw of every sequence of the
 * model, with the settings that the records of the draws carry. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/estimate.h"
#include "common/cli.h"

enum { MOST_SEQUENCES = 1000000 }; /* method explicit refuses trees of more nodes */

struct truth_entry {
    uint64_t stream;
    double temperature, value;
    output key; /* input and settings as text, the same for all draws of the stream */
};

void estimate_truth_close(estimate_truth *truth)
{
    for (size_t i = 0; i < truth->n_entries; i++)
        output_free(&truth->entries[i].key);
    free(truth->entries);
    sb_result_close(truth->result);
}

/* --- the settings of a record --- */

/* Makes the config that enumerates the record's distribution: method explicit, with those settings
 * of the record that shape the distribution. The lists stay the record's. */
static sb_status read_settings(const estimate_truth *truth, sb_record *record, sb_config *config,
                               sb_error *err)
{
    sb_config drawn;
    sb_status status = sb_record_set_model(record, truth->model, err);
    if (status == SB_OK)
        status = sb_record_get_config(record, truth->model, &drawn, err);
    if (status != SB_OK)
        return status;
    sb_config_default(config);
    const int32_t default_len = config->max_len;
    config->method = SB_METHOD_EXPLICIT;
    config->k = MOST_SEQUENCES;
    config->temperature = record->temperature;
    for (size_t i = 0; status == SB_OK && sb_config_option(i) != NULL; i++) {
        const sb_option *const option = sb_config_option(i);
        char value[64];
        if (!sb_record_has_setting(option) || !sb_method_takes(SB_METHOD_EXPLICIT, option->name))
            continue;
        status = sb_config_get(&drawn, option->name, value, sizeof value, err);
        if (status == SB_OK)
            status = sb_config_set(config, option->name, value, err);
    }
    if (config->max_len == default_len)
        config->max_len = truth->max_len;
    config->ban = drawn.ban;
    config->n_ban = drawn.n_ban;
    config->stop = drawn.stop;
    config->n_stop = drawn.n_stop;
    config->allow = drawn.allow;
    return status;
}

/* Writes input and settings as text, to compare draws. */
static void put_key(output *key, const sb_record *record, const sb_config *config)
{
    output_bytes(key, record->input != NULL ? record->input : "", record->input_size);
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        char value[64];
        const char *const name = sb_config_option(i)->name;
        if (sb_config_get(config, name, value, sizeof value, NULL) == SB_OK)
            output_format(key, "\n%s %s", name, value);
    }
    for (size_t i = 0; i < config->n_ban; i++)
        output_format(key, "\nban %d", (int)config->ban[i]);
    for (size_t i = 0; i < config->n_stop; i++)
        output_format(key, "\nstop %s", config->stop[i]);
}

/* --- enumeration --- */

/* Computes the sum of p f over all sequences. */
static sb_status sum_up(estimate_truth *truth, const sb_config *config, uint64_t stream,
                        estimate_values *values, double *value, sb_error *err)
{
    const size_t n = (size_t)truth->result->n_sequences;
    double *const f = cli_realloc(NULL, 2 * n, sizeof *f), *const log_p = f + n;
    sb_status status = SB_OK;
    for (size_t i = 0; status == SB_OK && i < n; i++) {
        const sb_sequence *const drawn = &truth->result->sequences[i];
        sb_record_sequence sequence = {.n_tokens = (size_t)drawn->n_tokens, .log_p = drawn->log_p};
        char *text = NULL;
        log_p[i] = drawn->log_p;
        if (values->function == FUNCTION_BLEU)
            status = sb_sequence_text(truth->model, config, drawn, &text, err);
        sequence.text = text;
        sequence.text_size = text != NULL ? strlen(text) : 0;
        if (status == SB_OK)
            status = estimate_values_get(values, stream, &sequence, &f[i], err);
        sb_free(text);
    }
    sb_estimate exact;
    if (status == SB_OK)
        status = sb_estimate_compute(SB_ESTIMATOR_SBS, f, log_p, n, -INFINITY, &exact, err);
    if (status == SB_OK)
        *value = exact.value;
    free(f);
    return status;
}

static sb_status enumerate(estimate_truth *truth, const sb_record *record, const sb_config *config,
                           estimate_values *values, double *value, sb_error *err)
{
    const sb_input input = {record->input, record->input_size, record->stream, NULL};
    sb_plan plan;
    sb_plan_default(&plan);
    sb_status status = SB_OK;
    if (truth->result == NULL)
        status = sb_result_open(&truth->result, err);
    if (status == SB_OK)
        status = sb_draw_batch(truth->model, &input, 1, config, &plan, &truth->result, err);
    if (status == SB_ERR_LIMIT)
        status = sb_error_set(err, status,
                              "--truth exact: the model has too many sequences to enumerate; give "
                              "the truth as a number");
    return status == SB_OK ? sum_up(truth, config, record->stream, values, value, err) : status;
}

/* --- the table --- */

static truth_entry *find_entry(estimate_truth *truth, uint64_t stream, double temperature)
{
    /* Draws of one stream usually follow each other, so the search starts with the last entry. */
    for (size_t i = 0; i < truth->n_entries; i++) {
        const size_t at = (truth->last + i) % truth->n_entries;
        truth_entry *const entry = &truth->entries[at];
        if (entry->stream == stream && entry->temperature == temperature) {
            truth->last = at;
            return entry;
        }
    }
    return NULL;
}

sb_status estimate_truth_learn(estimate_truth *truth, sb_record *record, estimate_values *values,
                               sb_error *err)
{
    if (truth->model == NULL)
        return SB_OK;
    sb_config config;
    sb_status status = read_settings(truth, record, &config, err);
    if (status != SB_OK)
        return status;
    truth_entry made = {.stream = record->stream, .temperature = record->temperature};
    put_key(&made.key, record, &config);
    const truth_entry *const entry = find_entry(truth, record->stream, record->temperature);
    if (entry == NULL)
        status = enumerate(truth, record, &config, values, &made.value, err);
    else if (entry->key.size != made.key.size ||
             (made.key.size > 0 && memcmp(entry->key.data, made.key.data, made.key.size) != 0))
        status = sb_error_set(err, SB_ERR_INPUT,
                              "the input or the settings are not those of an earlier draw of "
                              "stream %" PRIu64 ", but --truth exact needs them to be the same",
                              record->stream);
    if (status != SB_OK || entry != NULL) {
        output_free(&made.key);
        return status;
    }
    cli_reserve(&truth->entries, &truth->capacity, truth->n_entries + 1, sizeof *truth->entries);
    truth->last = truth->n_entries;
    truth->entries[truth->n_entries++] = made;
    return SB_OK;
}

double estimate_truth_get(estimate_truth *truth, uint64_t stream, double temperature)
{
    if (truth->model == NULL)
        return truth->value;
    const truth_entry *const entry = find_entry(truth, stream, temperature);
    return entry != NULL ? entry->value : NAN;
}
