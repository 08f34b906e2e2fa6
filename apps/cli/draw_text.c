/* Records of draws for people: a header with the settings that repeat the draw, and a table of
 * probabilities as numbers and bars.
 *
 * The bar of a sequence shows its probability relative to the likeliest sequence of the record. A
 * sequence with the text of an earlier one is marked: "same as 2" if the tokens are equal too
 * (samples with replacement), "reads as 2" if they differ. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/draw_writer.h"
#include "cli/text_form.h"
#include "common/cli.h"
#include "common/utf.h"

enum { P_WIDTH = 8, WEIGHT_WIDTH = 8, MIN_BAR = 4, MAX_BAR = 24, MIN_WIDTH_FOR_WEIGHT = 60 };

/* The columns of one record. */
typedef struct layout {
    int rank_width;
    size_t bar_width;
    bool has_weight;
    size_t text_start, text_width;
    double largest; /* log-probability of the likeliest sequence */
} layout;

static void put_header(draw_writer *writer, const sb_input *input, const sb_result *result)
{
    output *const out = &writer->out;
    if (writer->n_records > 0)
        output_char(out, '\n');
    terminal_style(&writer->term, out, "1");
    if (input->size > 0 || sb_model_get_info(writer->model)->needs_input)
        text_put_input(&writer->term, out, result->stream, input->text, input->size);
    size_t column = 0;
    char field[96];
    text_put_field(&writer->term, out, &column, sb_method_name(result->method));
    snprintf(field, sizeof field, "k %d", (int)result->k);
    text_put_field(&writer->term, out, &column, field);
    snprintf(field, sizeof field, "T %g", result->temperature);
    text_put_field(&writer->term, out, &column, field);
    snprintf(field, sizeof field, "seed %" PRIu64, result->seed);
    text_put_field(&writer->term, out, &column, field);
    if (writer->many_draws) {
        snprintf(field, sizeof field, "draw %" PRIu64, result->draw);
        text_put_field(&writer->term, out, &column, field);
    }
    if (!isnan(result->kappa) && !isinf(result->kappa)) {
        snprintf(field, sizeof field, "kappa %.4g", result->kappa);
        text_put_field(&writer->term, out, &column, field);
    }
    if (result->stopped_by != SB_STOPPED_BY_NOTHING) {
        snprintf(field, sizeof field, "stopped by %s", sb_stopped_by_name(result->stopped_by));
        text_put_field(&writer->term, out, &column, field);
    }
    if (result->exhausted && result->stopped_by != SB_STOPPED_BY_EXHAUSTED)
        text_put_field(&writer->term, out, &column, "exhausted");
    if (!result->complete) {
        snprintf(field, sizeof field, "incomplete after %" PRIu64 " samples", result->samples);
        text_put_field(&writer->term, out, &column, field);
    }
    terminal_plain(&writer->term, out);
    output_char(out, '\n');
}

/* Chooses the columns of a record. Bars shrink to make room for the longest text; only then are
 * texts broken into lines. */
static layout lay_out(const draw_writer *writer, const sb_result *result, size_t longest)
{
    layout columns = {.rank_width = snprintf(NULL, 0, "%d", (int)result->n_sequences),
                      .largest = -INFINITY};
    bool has_weight = false;
    for (int32_t i = 0; i < result->n_sequences; i++) {
        columns.largest = fmax(columns.largest, result->sequences[i].log_p);
        has_weight = has_weight || !isnan(result->sequences[i].log_weight);
    }
    const size_t width = writer->term.width;
    columns.has_weight = has_weight && width >= MIN_WIDTH_FOR_WEIGHT;
    size_t used = (size_t)columns.rank_width + 2 + P_WIDTH + 2;
    if (columns.has_weight)
        used += WEIGHT_WIDTH + 2;
    const size_t rest = width > used ? width - used : 0;
    const size_t share = rest / 4 > MAX_BAR ? MAX_BAR : rest / 4;
    const size_t spare = rest > longest + 2 ? rest - longest - 2 : 0;
    columns.bar_width = spare < share ? spare : share;
    if (columns.bar_width < MIN_BAR)
        columns.bar_width = MIN_BAR;
    used += columns.bar_width + 2;
    columns.text_start = used;
    columns.text_width = width > used ? width - used : 1;
    return columns;
}

static void put_titles(draw_writer *writer, const layout *columns)
{
    output *const out = &writer->out;
    terminal_style(&writer->term, out, "2");
    output_format(out, "%*s  %*s  ", columns->rank_width, "#", P_WIDTH, "p");
    output_repeat(out, " ", columns->bar_width + 2);
    if (columns->has_weight)
        output_format(out, "%*s  ", WEIGHT_WIDTH, "weight");
    output_text(out, "text");
    terminal_plain(&writer->term, out);
    output_char(out, '\n');
}

typedef struct numbered_text {
    const char *text;
    int32_t index;
} numbered_text;

/* Compares texts, and equal ones by their index. */
static int compare_texts(const void *a, const void *b)
{
    const numbered_text *const x = a, *const y = b;
    const int order = strcmp(x->text, y->text);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* Returns for each text the index of the first equal text; the caller frees the array. Sorting
 * brings equal texts together. No texts can make it slow, unlike a hash table. */
static int32_t *find_repeats(char **texts, int32_t n)
{
    int32_t *const first = cli_realloc(NULL, (size_t)n, sizeof *first);
    numbered_text *const sorted = cli_realloc(NULL, (size_t)n, sizeof *sorted);
    for (int32_t i = 0; i < n; i++)
        sorted[i] = (numbered_text){texts[i], i};
    qsort(sorted, (size_t)n, sizeof *sorted, compare_texts);
    for (int32_t i = 0; i < n; i++) {
        const bool is_repeat = i > 0 && strcmp(sorted[i - 1].text, sorted[i].text) == 0;
        first[sorted[i].index] = is_repeat ? first[sorted[i - 1].index] : sorted[i].index;
    }
    free(sorted);
    return first;
}

static bool has_same_tokens(const sb_sequence *a, const sb_sequence *b)
{
    return a->n_tokens == b->n_tokens && a->end == b->end &&
           (a->n_tokens == 0 ||
            memcmp(a->tokens, b->tokens, (size_t)a->n_tokens * sizeof *a->tokens) == 0);
}

/* Returns how many bytes of the text fit a line of `width` columns: up to the last blank, if there
 * is one. */
static size_t fit_line(const char *text, size_t size, size_t width)
{
    size_t end = 0, blank = 0, used = 0;
    while (end < size) {
        uint32_t code;
        const size_t n = utf_decode(text + end, size - end, &code);
        used += utf_text_width(text + end, n);
        if (used > width)
            return blank > 0 ? blank : end > 0 ? end : n;
        end += n;
        if (code == ' ')
            blank = end;
    }
    return end;
}

/* Writes the text, broken into lines, and the mark after it. */
static void put_text(draw_writer *writer, const layout *columns, const char *text, const char *mark)
{
    output *const out = &writer->out;
    const size_t width = columns->text_width, mark_width = strlen(mark);
    size_t left = strlen(text), used = 0;
    for (bool is_first = true; is_first || left > 0; is_first = false) {
        const size_t n = fit_line(text, left, width);
        if (!is_first) {
            output_char(out, '\n');
            output_repeat(out, " ", columns->text_start);
        }
        const bool is_broken = n < left && text[n - 1] == ' ';
        used = utf_put_cut(out, text, n - is_broken, width, writer->term.unicode);
        text += n;
        left -= n;
    }
    terminal_style(&writer->term, out, "2");
    if (used + mark_width > width && mark_width > 0) {
        output_char(out, '\n');
        output_repeat(out, " ", columns->text_start);
        mark += 2; /* skips its leading blanks */
    }
    output_text(out, mark);
    terminal_plain(&writer->term, out);
}

/* Writes the probability as a percentage in at most P_WIDTH - 1 columns. Returns `text`. */
static const char *format_percent(char *text, double log_p)
{
    const double percent = 100 * exp(log_p);
    if (percent < 0.01 && log_p > -INFINITY)
        return text_small(text, percent, log_p + log(100));
    snprintf(text, TEXT_SIZE, "%.2f", percent);
    return text;
}

/* Writes the weight in at most WEIGHT_WIDTH columns. Returns `text`. */
static const char *format_weight(char *text, double log_weight)
{
    const double weight = exp(log_weight);
    if (weight < 0.0005 && log_weight > -INFINITY)
        return text_small(text, weight, log_weight);
    snprintf(text, TEXT_SIZE, weight < 1000 ? "%.3f" : "%.1e", weight);
    return text;
}

static void put_row(draw_writer *writer, const layout *columns, const sb_result *result, int32_t i,
                    const char *text, int32_t first)
{
    output *const out = &writer->out;
    const sb_sequence *const sequence = &result->sequences[i];
    char number[TEXT_SIZE];
    output_format(out, "%*d  ", columns->rank_width, (int)i + 1);
    output_format(out, "%*s%%  ", P_WIDTH - 1, format_percent(number, sequence->log_p));
    terminal_style(&writer->term, out, "36");
    terminal_bar(&writer->term, out, exp(sequence->log_p - columns->largest), columns->bar_width);
    terminal_plain(&writer->term, out);
    output_text(out, "  ");
    if (columns->has_weight)
        output_format(out, "%*s  ", WEIGHT_WIDTH, format_weight(number, sequence->log_weight));

    char mark[64] = "";
    const bool is_cut = sequence->end == SB_END_MAX_LEN || sequence->end == SB_END_STOP;
    int n = 0;
    if (is_cut)
        n = snprintf(mark, sizeof mark, "  [%s]", sb_end_name(sequence->end));
    if (first != i)
        n += snprintf(mark + n, sizeof mark - (size_t)n, "  [%s as %d]",
                      has_same_tokens(sequence, &result->sequences[first]) ? "same" : "reads",
                      (int)first + 1);
    if (text[0] == '\0') {
        terminal_style(&writer->term, out, "2");
        output_text(out, "(empty)");
    }
    put_text(writer, columns, text, mark);
    output_char(out, '\n');
}

sb_status draw_write_text(draw_writer *writer, const sb_input *input, const sb_result *result,
                          sb_error *err)
{
    const int32_t n = result->n_sequences;
    char **const texts = cli_realloc(NULL, (size_t)n, sizeof *texts);
    int32_t n_texts = 0;
    sb_status status = SB_OK;
    for (; n_texts < n && status == SB_OK; n_texts += status == SB_OK)
        status = sb_sequence_text(writer->model, writer->config, &result->sequences[n_texts],
                                  &texts[n_texts], err);
    if (status == SB_OK) {
        size_t longest = 0;
        for (int32_t i = 0; i < n; i++) {
            const size_t width = utf_text_width(texts[i], strlen(texts[i]));
            longest = width > longest ? width : longest;
        }
        const layout columns = lay_out(writer, result, longest);
        int32_t *const first = find_repeats(texts, n);
        put_header(writer, input, result);
        put_titles(writer, &columns);
        for (int32_t i = 0; i < n; i++)
            put_row(writer, &columns, result, i, texts[i], first[i]);
        free(first);
        writer->n_records++;
    }
    for (int32_t i = 0; i < n_texts; i++)
        sb_free(texts[i]);
    free(texts);
    return status;
}
