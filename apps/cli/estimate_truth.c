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

/* Returns whether the option shapes the distribution. Only such options are read from a record. */
static bool is_shape(const sb_option *option)
{
    return sb_record_has_setting(option) && sb_method_takes(SB_METHOD_EXPLICIT, option->name);
}

typedef struct truth_settings {
    sb_config config;
    int32_t *ban;
    const char **stop;
} truth_settings;

static void free_settings(truth_settings *settings)
{
    free(settings->ban);
    free(settings->stop);
}

static size_t count_items(const sb_record *record, const char *key)
{
    size_t n = 0;
    while (sb_record_item(record, key, n) != NULL)
        n++;
    return n;
}

static sb_status read_settings(const estimate_truth *truth, const sb_record *record,
                               truth_settings *settings, sb_error *err)
{
    sb_config *const config = &settings->config;
    const size_t n_ban = count_items(record, "ban"), n_stop = count_items(record, "stop");
    sb_config_default(config);
    settings->ban = cli_realloc(NULL, n_ban, sizeof *settings->ban);
    settings->stop = cli_realloc(NULL, n_stop, sizeof *settings->stop);
    config->method = SB_METHOD_EXPLICIT;
    config->k = MOST_SEQUENCES;
    config->max_len = truth->max_len;
    config->temperature = record->temperature;
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        const sb_option *const option = sb_config_option(i);
        char value[64];
        if (!is_shape(option) || !*sb_record_setting(record, option->name, value, sizeof value))
            continue;
        const sb_status status = sb_config_set(config, option->name, value, err);
        if (status != SB_OK)
            return status;
    }
    for (size_t i = 0; i < n_ban; i++) {
        const char *const token = sb_record_item(record, "ban", i);
        settings->ban[i] = sb_model_find_token(truth->model, token, strlen(token));
        if (settings->ban[i] < 0)
            return sb_error_set(err, SB_ERR_INPUT, "\"ban\": the model has no token '%.100s'",
                                token);
    }
    for (size_t i = 0; i < n_stop; i++)
        settings->stop[i] = sb_record_item(record, "stop", i);
    config->ban = settings->ban;
    config->n_ban = n_ban;
    config->stop = settings->stop;
    config->n_stop = n_stop;
    return SB_OK;
}

static void put_key(output *key, const sb_record *record)
{
    output_bytes(key, record->input, record->input_size);
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        char value[64];
        const char *const name = sb_config_option(i)->name;
        if (is_shape(sb_config_option(i)) && *sb_record_setting(record, name, value, sizeof value))
            output_format(key, "\n%s %s", name, value);
    }
    static const char *const arrays[] = {"ban", "stop"};
    for (int a = 0; a < 2; a++)
        for (size_t i = 0; sb_record_item(record, arrays[a], i) != NULL; i++)
            output_format(key, "\n%s %s", arrays[a], sb_record_item(record, arrays[a], i));
}

/* --- enumeration --- */

/* Computes the sum of p f over all sequences. */
static sb_status sum_up(estimate_truth *truth, const truth_settings *settings, uint64_t stream,
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
            status = sb_sequence_text(truth->model, &settings->config, drawn, &text, err);
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

static sb_status enumerate(estimate_truth *truth, const sb_record *record, estimate_values *values,
                           double *value, sb_error *err)
{
    truth_settings settings = {.ban = NULL};
    const sb_input input = {record->input, record->input_size, record->stream, NULL};
    sb_plan plan;
    sb_plan_default(&plan);
    sb_status status = read_settings(truth, record, &settings, err);
    if (status == SB_OK && truth->result == NULL)
        status = sb_result_open(&truth->result, err);
    if (status == SB_OK)
        status =
            sb_draw_batch(truth->model, &input, 1, &settings.config, &plan, &truth->result, err);
    if (status == SB_ERR_LIMIT)
        status = sb_error_set(err, status,
                              "--truth exact: the model has too many sequences to enumerate; give "
                              "the truth as a number");
    if (status == SB_OK)
        status = sum_up(truth, &settings, record->stream, values, value, err);
    free_settings(&settings);
    return status;
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

sb_status estimate_truth_learn(estimate_truth *truth, const sb_record *record,
                               estimate_values *values, sb_error *err)
{
    if (truth->model == NULL)
        return SB_OK;
    truth_entry made = {.stream = record->stream, .temperature = record->temperature};
    put_key(&made.key, record);
    const truth_entry *const entry = find_entry(truth, record->stream, record->temperature);
    sb_status status = SB_OK;
    if (entry == NULL)
        status = enumerate(truth, record, values, &made.value, err);
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
