/* BLEU and diversity of draws, for each setting. The draws of one stream under one setting are
 * averaged first, then the streams, so that each input counts once. Memory grows with settings
 * times streams, and by about 80 bytes for each draw, to find draws that occur twice.
 *
 * Settings, cells and references are found through balanced trees (tsearch). A file may hold any
 * numbers, even those that would collide in a hash table. */
#include <inttypes.h>
#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cli/eval.h"
#include "cli/record_lines.h"
#include "common/cli.h"
#include "common/line_reader.h"
#include "sbeam/record.h"

enum { CACHE_SIZE = 1 << 14 }; /* most prepared references at a time */

typedef struct numbered_setting {
    eval_setting setting;
    size_t index;
} numbered_setting;

/* One stream under one setting. */
typedef struct eval_cell {
    size_t setting;
    uint64_t stream;
    double sums[EVAL_VALUES];
    uint64_t counts[EVAL_VALUES]; /* draws that have the value */
} eval_cell;

typedef struct prepared {
    uint64_t stream;
    sb_bleu_references *references;
} prepared;

/* Items of one kind, each with memory of its own, and a tree to find them. */
typedef struct finder {
    int (*compare)(const void *, const void *);
    void *tree;
    void **items; /* (n), in order of first appearance */
    size_t n, capacity;
} finder;

typedef struct draws_work {
    const eval_options *options;
    line_reader reader;
    sb_record_set *records; /* the records read so far */
    finder settings;        /* of numbered_setting */
    finder cells;           /* of eval_cell */
    finder cache;           /* of prepared, at most CACHE_SIZE */
    size_t next_free;       /* the item of a full cache that is replaced next: the oldest */
    sb_text *texts;         /* of the current draw */
    size_t texts_capacity;
} draws_work;

/* --- finding --- */

/* Compares numbers; NaN, which means none, comes last. */
static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (int)isnan(a) - (int)isnan(b);
    return (a > b) - (a < b);
}

static int compare_settings(const void *a, const void *b)
{
    const eval_setting *const x = a, *const y = b; /* the first member of a numbered_setting */
    if (x->method != y->method)
        return x->method < y->method ? -1 : 1;
    if (x->k != y->k)
        return x->k < y->k ? -1 : 1;
    const int order = compare_numbers(x->temperature, y->temperature);
    return order != 0 ? order : compare_numbers(x->strength, y->strength);
}

static int compare_cells(const void *a, const void *b)
{
    const eval_cell *const x = a, *const y = b;
    if (x->setting != y->setting)
        return x->setting < y->setting ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

static int compare_prepared(const void *a, const void *b)
{
    const prepared *const x = a, *const y = b;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

/* Returns the item that equals `wanted`, or NULL. */
static void *find(const finder *f, const void *wanted)
{
    void *const *const node = tfind(wanted, &f->tree, f->compare);
    return node != NULL ? *node : NULL;
}

/* Adds an item to the tree. */
static void enter(finder *f, const void *item)
{
    if (tsearch(item, &f->tree, f->compare) == NULL)
        exit(cli_failure("eval", "out of memory"));
}

/* Adds a copy of `item`, of `size` bytes, which is not there yet, and returns it. */
static void *add(finder *f, const void *item, size_t size)
{
    void *const copy = memcpy(cli_realloc(NULL, 1, size), item, size);
    cli_reserve(&f->items, &f->capacity, f->n + 1, sizeof *f->items);
    f->items[f->n++] = copy;
    enter(f, copy);
    return copy;
}

static void free_items(finder *f)
{
    for (size_t i = 0; i < f->n; i++) {
        tdelete(f->items[i], &f->tree, f->compare);
        free(f->items[i]);
    }
    free(f->items);
}

/* Finds the index of the draw's setting, or adds the setting if it is new. Fails if the draw
 * differs from earlier ones in a setting that the table does not show, because averages would mix
 * the two. */
static sb_status find_setting(draws_work *work, const sb_record *record, size_t *found,
                              sb_error *err)
{
    numbered_setting wanted = {.setting = {.method = record->method,
                                           .k = record->k,
                                           .temperature = record->temperature,
                                           .strength = record->strength},
                               .index = work->settings.n};
    const numbered_setting *known = find(&work->settings, &wanted);
    if (known == NULL) {
        wanted.setting.settings = cli_copy_text(record->settings);
        wanted.setting.line = work->reader.number;
        known = add(&work->settings, &wanted, sizeof wanted);
    }
    *found = known->index;
    if (strcmp(known->setting.settings, record->settings) == 0)
        return SB_OK;
    return sb_error_set(err, SB_ERR_INPUT,
                        "the settings are \"%.100s\", but those of line %" PRIu64
                        " are \"%.100s\", with the same method, k and temperature: evaluate them "
                        "separately",
                        record->settings, known->setting.line, known->setting.settings);
}

static eval_cell *find_cell(draws_work *work, size_t setting, uint64_t stream)
{
    const eval_cell wanted = {.setting = setting, .stream = stream};
    eval_cell *const known = find(&work->cells, &wanted);
    return known != NULL ? known : add(&work->cells, &wanted, sizeof wanted);
}

/* Returns a new item of the cache. If the cache is full, the new item replaces the oldest. */
static prepared *take_entry(draws_work *work, const prepared *content)
{
    finder *const cache = &work->cache;
    if (cache->n < CACHE_SIZE)
        return add(cache, content, sizeof *content);
    prepared *const oldest = cache->items[work->next_free];
    work->next_free = (work->next_free + 1) % CACHE_SIZE;
    tdelete(oldest, &cache->tree, cache->compare);
    sb_bleu_references_close(oldest->references);
    *oldest = *content;
    enter(cache, oldest);
    return oldest;
}

/* Finds the references of a stream, tokenised and counted. *found belongs to the cache. */
static sb_status prepare(draws_work *work, uint64_t stream, const sb_bleu_references **found,
                         sb_error *err)
{
    prepared wanted = {.stream = stream};
    const prepared *entry = find(&work->cache, &wanted);
    if (entry == NULL) {
        const sb_text *texts;
        size_t n;
        sb_status status = reference_set_get(work->options->references, stream, &texts, &n, err);
        if (status == SB_OK)
            status =
                sb_bleu_references_open(&wanted.references, &work->options->bleu, texts, n, err);
        if (status != SB_OK)
            return status;
        entry = take_entry(work, &wanted);
    }
    *found = entry->references;
    return SB_OK;
}

/* --- measuring --- */

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
    while ((more = record_lines_next(&work->reader, &err)) > 0) {
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
 * left out. Returns the settings, which the caller frees. */
static eval_setting *average(const draws_work *work)
{
    const size_t n = work->settings.n;
    eval_setting *const settings = cli_realloc(NULL, n, sizeof *settings);
    uint64_t(*const counts)[EVAL_VALUES] = cli_realloc(NULL, n, sizeof *counts);
    memset(counts, 0, n * sizeof *counts);
    for (size_t s = 0; s < n; s++)
        settings[s] = ((const numbered_setting *)work->settings.items[s])->setting;
    for (size_t i = 0; i < work->cells.n; i++) {
        const eval_cell *const cell = work->cells.items[i];
        eval_setting *const setting = &settings[cell->setting];
        setting->n_inputs++;
        for (int v = 0; v < EVAL_VALUES; v++) {
            if (cell->counts[v] == 0)
                continue;
            setting->values[v] += cell->sums[v] / (double)cell->counts[v];
            counts[cell->setting][v]++;
        }
    }
    for (size_t s = 0; s < n; s++)
        for (int v = 0; v < EVAL_VALUES; v++)
            settings[s].values[v] =
                counts[s][v] > 0 ? settings[s].values[v] / (double)counts[s][v] : NAN;
    free(counts);
    return settings;
}

int eval_draws(const eval_options *options)
{
    draws_work work = {.options = options,
                       .settings.compare = compare_settings,
                       .cells.compare = compare_cells,
                       .cache.compare = compare_prepared};
    sb_error err;
    if (sb_record_set_open(&work.records, &err) != SB_OK ||
        line_reader_open(&work.reader, NULL, &err) != SB_OK) {
        sb_record_set_close(work.records);
        return cli_failure("eval", "%s", err.message);
    }
    int code = read_draws(&work);
    if (code == EXIT_FINE) {
        eval_setting *const settings = average(&work);
        code = eval_write_settings(settings, work.settings.n, options->is_text);
        free(settings);
    }
    for (size_t i = 0; i < work.cache.n; i++)
        sb_bleu_references_close(((prepared *)work.cache.items[i])->references);
    free_items(&work.cache);
    free_items(&work.cells);
    for (size_t i = 0; i < work.settings.n; i++)
        free(((numbered_setting *)work.settings.items[i])->setting.settings);
    free_items(&work.settings);
    sb_record_set_close(work.records);
    free(work.texts);
    line_reader_close(&work.reader);
    return code;
}
