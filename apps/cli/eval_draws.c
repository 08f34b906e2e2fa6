/* BLEU and diversity of draws, for each setting. The draws of one stream under one setting are
 * averaged first, then the streams, so that each input counts once. Memory grows with settings
 * times streams, and by 64 bytes for each draw, so that a draw that occurs twice is refused. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/eval.h"
#include "common/cli.h"
#include "common/line_reader.h"
#include "sbeam/record.h"

enum { CACHE_SIZE = 1 << 14 }; /* prepared references */

/* One stream under one setting. */
typedef struct eval_cell {
    size_t setting;
    uint64_t stream;
    double sums[EVAL_VALUES];
    uint64_t counts[EVAL_VALUES]; /* draws that have the value */
} eval_cell;

typedef struct prepared {
    uint64_t stream;
    sb_bleu_references *references; /* NULL: free */
} prepared;

typedef struct draws_work {
    const eval_options *options;
    line_reader reader;
    sb_record_set *records; /* those read so far */
    eval_setting *settings; /* (n_settings), in order of first appearance */
    size_t n_settings, settings_capacity, last_setting;
    eval_cell *cells; /* (n_cells) */
    size_t n_cells, cells_capacity;
    size_t *slots; /* (n_slots) hash table: 1 + the index of a cell; 0: free */
    size_t n_slots;
    prepared *cache; /* (CACHE_SIZE) by stream modulo CACHE_SIZE */
    sb_text *texts;  /* of the current draw */
    size_t texts_capacity;
} draws_work;

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Finds the index of the draw's setting, which is added if it is new. Fails if the draw has another
 * setting that the table does not show, because averages would mix the two. Files usually go
 * through the settings in turn, so the search starts after the setting found last. */
static sb_status find_setting(draws_work *work, const sb_record *record, size_t *found,
                              sb_error *err)
{
    for (size_t i = 0; i < work->n_settings; i++) {
        const size_t place = (work->last_setting + 1 + i) % work->n_settings;
        const eval_setting *const s = &work->settings[place];
        if (s->method == record->method && s->k == record->k &&
            is_same(s->temperature, record->temperature) &&
            is_same(s->strength, record->strength)) {
            *found = work->last_setting = place;
            if (strcmp(s->settings, record->settings) == 0)
                return SB_OK;
            return sb_error_set(
                err, SB_ERR_INPUT,
                "the settings are \"%.100s\", but those of line %" PRIu64
                " are \"%.100s\", with the same method, k and temperature: evaluate "
                "them separately",
                record->settings, s->line, s->settings);
        }
    }
    cli_reserve(&work->settings, &work->settings_capacity, work->n_settings + 1,
                sizeof *work->settings);
    work->settings[work->n_settings] = (eval_setting){.method = record->method,
                                                      .k = record->k,
                                                      .temperature = record->temperature,
                                                      .strength = record->strength,
                                                      .settings = cli_copy_text(record->settings),
                                                      .line = work->reader.number};
    *found = work->last_setting = work->n_settings++;
    return SB_OK;
}

/* Returns the slot of a cell, or the free slot where it belongs. */
static size_t find_slot(const draws_work *work, size_t setting, uint64_t stream)
{
    const size_t mask = work->n_slots - 1;
    uint64_t h = (stream * 0x9e3779b97f4a7c15u + setting) * 0x9e3779b97f4a7c15u;
    for (size_t slot = (size_t)(h ^ (h >> 32)) & mask;; slot = (slot + 1) & mask) {
        const size_t i = work->slots[slot];
        if (i == 0 ||
            (work->cells[i - 1].setting == setting && work->cells[i - 1].stream == stream))
            return slot;
    }
}

static void grow_cells(draws_work *work)
{
    work->n_slots = work->n_slots > 0 ? 2 * work->n_slots : 1024;
    work->cells_capacity = work->n_slots / 2;
    work->cells = cli_realloc(work->cells, work->cells_capacity, sizeof *work->cells);
    work->slots = cli_realloc(work->slots, work->n_slots, sizeof *work->slots);
    memset(work->slots, 0, work->n_slots * sizeof *work->slots);
    for (size_t i = 0; i < work->n_cells; i++)
        work->slots[find_slot(work, work->cells[i].setting, work->cells[i].stream)] = i + 1;
}

static eval_cell *find_cell(draws_work *work, size_t setting, uint64_t stream)
{
    if (work->n_cells == work->cells_capacity)
        grow_cells(work);
    const size_t slot = find_slot(work, setting, stream);
    if (work->slots[slot] == 0) {
        work->cells[work->n_cells] = (eval_cell){.setting = setting, .stream = stream};
        work->slots[slot] = ++work->n_cells;
    }
    return &work->cells[work->slots[slot] - 1];
}

/* Finds the references of a stream, tokenised and counted. The cache keeps them until another
 * stream needs their entry; *found belongs to it. */
static sb_status prepare(draws_work *work, uint64_t stream, const sb_bleu_references **found,
                         sb_error *err)
{
    prepared *const entry = &work->cache[stream % CACHE_SIZE];
    if (entry->references == NULL || entry->stream != stream) {
        const sb_text *texts;
        size_t n;
        sb_bleu_references *opened;
        sb_status status = reference_set_get(work->options->references, stream, &texts, &n, err);
        if (status == SB_OK)
            status = sb_bleu_references_open(&opened, &work->options->bleu, texts, n, err);
        if (status != SB_OK)
            return status;
        sb_bleu_references_close(entry->references);
        *entry = (prepared){stream, opened};
    }
    *found = entry->references;
    return SB_OK;
}

static sb_status measure_bleu(draws_work *work, uint64_t stream, size_t n,
                              double values[EVAL_VALUES], sb_error *err)
{
    const sb_bleu_references *references;
    sb_status status = prepare(work, stream, &references, err);
    double least = INFINITY, largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < n && status == SB_OK; i++) {
        sb_bleu bleu;
        status = sb_bleu_sentence(references, work->texts[i].data, work->texts[i].size, &bleu, err);
        if (status != SB_OK)
            break;
        least = fmin(least, bleu.score);
        largest = fmax(largest, bleu.score);
        sum += bleu.score;
    }
    values[EVAL_BLEU_MIN] = least;
    values[EVAL_BLEU_MEAN] = sum / (double)n;
    values[EVAL_BLEU_MAX] = largest;
    return status;
}

static sb_status take_texts(draws_work *work, const sb_record *record, sb_error *err)
{
    const size_t n = record->n_sequences;
    if (n == 0)
        return sb_error_set(err, SB_ERR_INPUT, "the draw has no sequences");
    cli_reserve(&work->texts, &work->texts_capacity, n, sizeof *work->texts);
    for (size_t i = 0; i < n; i++) {
        if (record->sequences[i].text == NULL)
            return sb_error_set(err, SB_ERR_INPUT, "sequence %zu: \"text\" is missing", i + 1);
        work->texts[i] = (sb_text){record->sequences[i].text, record->sequences[i].text_size};
    }
    return SB_OK;
}

/* Measures the sequences of a draw and adds the measures to its cell. */
static sb_status add_draw(draws_work *work, const sb_record *record, sb_error *err)
{
    const size_t n = record->n_sequences;
    double values[EVAL_VALUES] = {NAN, NAN, NAN};
    sb_diversity diversity;
    size_t setting;
    sb_status status = sb_record_set_add(work->records, record, work->reader.number, err);
    if (status == SB_OK)
        status = sb_record_set_add_input(work->records, record, work->reader.number, err);
    if (status == SB_OK)
        status = find_setting(work, record, &setting, err);
    if (status == SB_OK)
        status = take_texts(work, record, err);
    if (status == SB_OK && work->options->references != NULL)
        status = measure_bleu(work, record->stream, n, values, err);
    if (status == SB_OK)
        status =
            sb_diversity_compute(work->options->bleu.tokenizer, work->texts, n, &diversity, err);
    if (status != SB_OK)
        return status;
    memcpy(values + EVAL_D1, diversity.d, sizeof diversity.d);
    values[EVAL_DIVERSITY] = diversity.mean;
    eval_cell *const cell = find_cell(work, setting, record->stream);
    for (int v = 0; v < EVAL_VALUES; v++) {
        if (isnan(values[v]))
            continue;
        cell->sums[v] += values[v];
        cell->counts[v]++;
    }
    return SB_OK;
}

/* Reads all draws. Returns the exit code. */
static int read_draws(draws_work *work)
{
    sb_error err;
    int more;
    while ((more = line_reader_next(&work->reader, &err)) > 0) {
        sb_record record;
        sb_status status = sb_record_read(&record, work->reader.line, work->reader.size, &err);
        if (status == SB_OK) {
            status = add_draw(work, &record, &err);
            sb_record_close(&record);
        }
        if (status != SB_OK)
            return cli_failure("eval", "%s:%" PRIu64 ": %s", work->reader.name, work->reader.number,
                               err.message);
    }
    return more < 0 ? cli_error("eval", &err) : EXIT_FINE;
}

/* Computes the means over the streams of each setting. A measure that a stream does not have is
 * left out. */
static void average(draws_work *work)
{
    uint64_t(*const counts)[EVAL_VALUES] = cli_realloc(NULL, work->n_settings, sizeof *counts);
    memset(counts, 0, work->n_settings * sizeof *counts);
    for (size_t i = 0; i < work->n_cells; i++) {
        const eval_cell *const cell = &work->cells[i];
        eval_setting *const setting = &work->settings[cell->setting];
        setting->n_inputs++;
        for (int v = 0; v < EVAL_VALUES; v++) {
            if (cell->counts[v] == 0)
                continue;
            setting->values[v] += cell->sums[v] / (double)cell->counts[v];
            counts[cell->setting][v]++;
        }
    }
    for (size_t s = 0; s < work->n_settings; s++)
        for (int v = 0; v < EVAL_VALUES; v++)
            work->settings[s].values[v] =
                counts[s][v] > 0 ? work->settings[s].values[v] / (double)counts[s][v] : NAN;
    free(counts);
}

int eval_draws(const eval_options *options)
{
    draws_work work = {.options = options};
    sb_error err;
    if (sb_record_set_open(&work.records, &err) != SB_OK ||
        line_reader_open(&work.reader, NULL, &err) != SB_OK) {
        sb_record_set_close(work.records);
        return cli_failure("eval", "%s", err.message);
    }
    work.cache = cli_realloc(NULL, CACHE_SIZE, sizeof *work.cache);
    memset(work.cache, 0, CACHE_SIZE * sizeof *work.cache);
    int code = read_draws(&work);
    if (code == EXIT_FINE) {
        average(&work);
        code = eval_write_settings(work.settings, work.n_settings, options->is_text);
    }
    for (size_t i = 0; i < CACHE_SIZE; i++)
        sb_bleu_references_close(work.cache[i].references);
    for (size_t i = 0; i < work.n_settings; i++)
        free(work.settings[i].settings);
    sb_record_set_close(work.records);
    free(work.cache);
    free(work.texts);
    free(work.slots);
    free(work.cells);
    free(work.settings);
    line_reader_close(&work.reader);
    return code;
}
