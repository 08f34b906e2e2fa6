/* Reads ARPA files as SRILM, KenLM and Sphinx write them:
 *
 *     any text
 *     \data\
 *     ngram 1=4
 *     ngram 2=2
 *
 *     \1-grams:
 *     -0.9031  word  -0.301
 *     ...
 *     \end\
 *
 * Fields are separated by tabs or spaces. A missing back-off weight is 0. Numbers are log10 and
 * become natural logarithms here. Text after \end\ is ignored. The counts of the header are checked
 * but never trusted: memory grows with what is read.
 *
 * A log-probability of -99 or less is probability zero, by SRILM's convention. A log-probability
 * slightly above 0 comes from rounding in the writer and is accepted, because the search
 * renormalises rows; a larger one is an error. Back-off weights above 0 are common, even 99.999. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/decimal.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/arpa.h"

static const double ln_10 = 2.302585092994045684;
static const double log10_zero = -99.0; /* this or less: probability zero */
static const double log10_most = 1e-4;  /* allows for rounding to four digits */
static const double backoff_most = 1e6; /* keeps sums of back-offs finite */

typedef struct reading {
    arpa_file *file;
    lines_reader *reader;
    sb_error *err;
    const char *line; /* NULL at the end of the file */
    size_t size;
    uint64_t declared[ARPA_MAX_ORDER];
} reading;

/* The path and line that an error message begins with. */
#define AT(r) lines_name((r)->reader), lines_number((r)->reader)

/* The current line, to be quoted in a message. */
#define FOUND(r) utf8_excerpt((r)->line, (r)->size), (r)->line

static bool is_blank(const char *text, size_t size)
{
    size_t position = 0;
    return !utf8_next_word(text, size, &position, &text, &size);
}

/* Moves to the next line that is not blank, and past the blanks that it begins with. */
static sb_status next_line(reading *r)
{
    for (;;) {
        const sb_status status = lines_next(r->reader, &r->line, &r->size, r->err);
        if (status != SB_OK || r->line == NULL)
            return status;
        size_t position = 0, word_size;
        const char *word;
        if (utf8_next_word(r->line, r->size, &position, &word, &word_size)) {
            r->size -= (size_t)(word - r->line);
            r->line = word;
            return SB_OK;
        }
    }
}

/* Returns whether the line is `text`, apart from blanks around it. */
static bool line_is(const char *line, size_t size, const char *text)
{
    size_t position = 0, word_size;
    const char *word;
    return utf8_next_word(line, size, &position, &word, &word_size) && word_size == strlen(text) &&
           memcmp(word, text, word_size) == 0 && is_blank(line + position, size - position);
}

static sb_status fail_expected(const reading *r, const char *expected)
{
    if (r->line == NULL)
        return status_fail(r->err, SB_ERR_FORMAT, "%s:%zu: expected %s, found the end of the file",
                           AT(r), expected);
    return status_fail(r->err, SB_ERR_FORMAT, "%s:%zu: expected %s, found '%.*s'", AT(r), expected,
                       FOUND(r));
}

/* Reads digits into *value; a number that is too large becomes UINT64_MAX. Returns false if there
 * is no digit. */
static bool read_count(const char **p, const char *end, uint64_t *value)
{
    const char *const start = *p;
    *value = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p) {
        const uint64_t digit = (uint64_t)(**p - '0');
        *value = *value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *value * 10 + digit;
    }
    return *p > start;
}

static void skip_blanks(const char **p, const char *end)
{
    while (*p < end && (**p == ' ' || **p == '\t'))
        ++*p;
}

/* Parses a line such as "ngram 2=2051541", with blanks between any two parts. */
static bool parse_count_line(const char *line, size_t size, uint64_t *order, uint64_t *count)
{
    const char *p = line, *const end = line + size;
    skip_blanks(&p, end);
    if (end - p < 6 || memcmp(p, "ngram", 5) != 0 || (p[5] != ' ' && p[5] != '\t'))
        return false;
    p += 5;
    skip_blanks(&p, end);
    if (!read_count(&p, end, order))
        return false;
    skip_blanks(&p, end);
    if (p == end || *p++ != '=')
        return false;
    skip_blanks(&p, end);
    return read_count(&p, end, count) && is_blank(p, (size_t)(end - p));
}

/* Reads up to and including the counts. The current line is then the first line after them. */
static sb_status read_header(reading *r)
{
    sb_status status;
    do
        status = next_line(r);
    while (status == SB_OK && r->line != NULL && !line_is(r->line, r->size, "\\data\\"));
    if (status == SB_OK && r->line == NULL)
        return fail_expected(r, "\\data\\");
    while (status == SB_OK && (status = next_line(r)) == SB_OK && r->line != NULL) {
        uint64_t order, count;
        if (!parse_count_line(r->line, r->size, &order, &count))
            break;
        if (order > ARPA_MAX_ORDER)
            return status_fail(r->err, SB_ERR_LIMIT,
                               "%s:%zu: models above order %d are not supported", AT(r),
                               ARPA_MAX_ORDER);
        if (order != (uint64_t)r->file->order + 1)
            return status_fail(r->err, SB_ERR_FORMAT,
                               "%s:%zu: expected the count of %d-grams, found '%.*s'", AT(r),
                               (int)r->file->order + 1, FOUND(r));
        r->declared[r->file->order++] = count;
    }
    if (status == SB_OK && r->file->order == 0)
        return fail_expected(r, "ngram 1=COUNT");
    return status;
}

static sb_status parse_values(const reading *r, const char *probability, size_t probability_size,
                              const char *backoff, size_t backoff_size, arpa_value *value)
{
    double log10_p, log10_backoff = 0;
    if (!decimal_parse(probability, probability_size, &log10_p))
        return status_fail(r->err, SB_ERR_FORMAT,
                           "%s:%zu: expected a log-probability, found '%.*s'", AT(r),
                           utf8_excerpt(probability, probability_size), probability);
    if (log10_p > log10_most)
        return status_fail(r->err, SB_ERR_FORMAT,
                           "%s:%zu: expected a log-probability of at most 0, found %.*s", AT(r),
                           utf8_excerpt(probability, probability_size), probability);
    if (backoff != NULL && (!decimal_parse(backoff, backoff_size, &log10_backoff) ||
                            fabs(log10_backoff) > backoff_most))
        return status_fail(r->err, SB_ERR_FORMAT,
                           "%s:%zu: expected a back-off weight, found '%.*s'", AT(r),
                           utf8_excerpt(backoff, backoff_size), backoff);
    value->log_p = log10_p <= log10_zero ? -INFINITY : log10_p * ln_10;
    value->backoff = log10_backoff * ln_10;
    value->line = (uint32_t)lines_number(r->reader);
    return SB_OK;
}

static sb_status fail_zero(const reading *r)
{
    return status_fail(r->err, SB_ERR_FORMAT,
                       "%s:%zu: the word has a zero byte (NUL); expected UTF-8 text", AT(r));
}

/* Finds the id of a word. The word of a unigram must be new and is added; the words of longer
 * n-grams must be known. `likely` is the word in the same column one line above, or -1: files are
 * sorted, so it is often the same word. */
static sb_status read_word(const reading *r, int32_t order, const char *word, size_t size,
                           int32_t likely, int32_t *id)
{
    vocab *const words = &r->file->words;
    const int shown = utf8_excerpt(word, size);
    if (order > 1) {
        *id = likely >= 0 && vocab_is(words, likely, word, size) ? likely
                                                                 : vocab_find(words, word, size);
        if (*id >= 0)
            return SB_OK;
        if (memchr(word, '\0', size) != NULL)
            return fail_zero(r);
        return status_fail(r->err, SB_ERR_FORMAT,
                           "%s:%zu: expected a word listed among the 1-grams, found '%.*s'", AT(r),
                           shown, word);
    }
    if (memchr(word, '\0', size) != NULL)
        return fail_zero(r);
    if (!utf8_is_text(word, size))
        return status_fail(r->err, SB_ERR_FORMAT,
                           "%s:%zu: the word is not UTF-8 text; convert the file (iconv)", AT(r));
    bool is_new;
    if (vocab_add(words, word, size, id, &is_new) != SB_OK)
        return status_no_memory(r->err);
    if (!is_new)
        return status_fail(r->err, SB_ERR_FORMAT,
                           "%s:%zu: duplicate 1-gram '%.*s', first on line %u", AT(r), shown, word,
                           (unsigned)r->file->tables[0].values[*id].line);
    return SB_OK;
}

/* Adds the n-gram on the current line to its table. */
static sb_status read_ngram(const reading *r, arpa_table *table)
{
    const int32_t order = table->order;
    const size_t width = (size_t)order;
    if (table->n >= INT32_MAX)
        return status_fail(r->err, SB_ERR_LIMIT, "%s:%zu: more than %d %d-grams", AT(r), INT32_MAX,
                           (int)order);
    if (alloc_reserve(&table->words, &table->word_capacity, (table->n + 1) * width,
                      sizeof(int32_t)) != SB_OK ||
        alloc_reserve(&table->values, &table->value_capacity, table->n + 1, sizeof(arpa_value)) !=
            SB_OK)
        return status_no_memory(r->err);
    int32_t *const ids = table->words + table->n * width;
    const char *probability = NULL, *word, *backoff = NULL, *more;
    size_t position = 0, probability_size = 0, size, backoff_size = 0, more_size;
    bool complete = utf8_next_word(r->line, r->size, &position, &probability, &probability_size);
    for (size_t i = 0; complete && i < width; i++) {
        complete = utf8_next_word(r->line, r->size, &position, &word, &size);
        if (!complete)
            break;
        const int32_t likely = table->n > 0 ? table->words[(table->n - 1) * width + i] : -1;
        const sb_status status = read_word(r, order, word, size, likely, &ids[i]);
        if (status != SB_OK)
            return status;
    }
    if (complete && !utf8_next_word(r->line, r->size, &position, &backoff, &backoff_size))
        backoff = NULL;
    if (!complete || utf8_next_word(r->line, r->size, &position, &more, &more_size))
        return status_fail(r->err, SB_ERR_FORMAT,
                           "%s:%zu: expected a log-probability, %d words and an optional back-off "
                           "weight, found '%.*s'",
                           AT(r), (int)order, FOUND(r));
    const sb_status status = parse_values(r, probability, probability_size, backoff, backoff_size,
                                          &table->values[table->n]);
    if (status == SB_OK)
        table->n++;
    return status;
}

/* Returns whether the current line is the title of a section, such as "\2-grams:". */
static bool is_section(const reading *r, int32_t order)
{
    char title[32];
    snprintf(title, sizeof title, "\\%d-grams:", (int)order);
    return line_is(r->line, r->size, title);
}

/* Reads a section from its title, which is the current line, to the line that ends it. */
static sb_status read_section(reading *r, int32_t order)
{
    arpa_table *const table = &r->file->tables[order - 1];
    const uint64_t declared = r->declared[order - 1];
    table->order = order;
    if (r->line == NULL || !is_section(r, order)) {
        char expected[32];
        snprintf(expected, sizeof expected, "\\%d-grams:", (int)order);
        return fail_expected(r, expected);
    }
    sb_status status = next_line(r);
    while (status == SB_OK && r->line != NULL && r->line[0] != '\\') {
        if (table->n == declared)
            return status_fail(
                r->err, SB_ERR_FORMAT,
                "%s:%zu: expected %llu %d-grams, as the header says, found one more: "
                "'%.*s'",
                AT(r), (unsigned long long)declared, (int)order, FOUND(r));
        status = read_ngram(r, table);
        if (status == SB_OK)
            status = next_line(r);
    }
    if (status == SB_OK && table->n < declared)
        return status_fail(r->err, SB_ERR_FORMAT,
                           "%s:%zu: expected %llu %d-grams, as the header says, found %zu", AT(r),
                           (unsigned long long)declared, (int)order, table->n);
    return status;
}

/* Finds a word whose letters may be upper or lower case; the exact spelling comes first. Returns
 * its id, or -1. */
static int32_t find_special(const vocab *words, const char *lower)
{
    const size_t size = strlen(lower);
    int32_t id = vocab_find(words, lower, size);
    for (int32_t i = 0; id < 0 && i < words->n; i++) {
        const char *const text = vocab_text(words, i);
        size_t same = 0;
        while (same < size && text[same] != '\0' &&
               (text[same] | (text[same] >= 'A' && text[same] <= 'Z' ? 0x20 : 0)) == lower[same])
            same++;
        if (same == size && text[same] == '\0')
            id = i;
    }
    return id;
}

sb_status arpa_file_read(arpa_file *file, lines_reader *reader, sb_error *err)
{
    memset(file, 0, sizeof *file);
    vocab_init(&file->words);
    reading r = {.file = file, .reader = reader, .err = err};
    sb_status status = read_header(&r);
    for (int32_t order = 1; status == SB_OK && order <= file->order; order++)
        status = read_section(&r, order);
    if (status == SB_OK && (r.line == NULL || !line_is(r.line, r.size, "\\end\\")))
        status = fail_expected(&r, "\\end\\");
    if (status == SB_OK) {
        file->bos = find_special(&file->words, "<s>");
        file->eos = find_special(&file->words, "</s>");
        file->unk = find_special(&file->words, "<unk>");
        if (file->eos < 0)
            status = status_fail(err, SB_ERR_FORMAT,
                                 "%s:%zu: the 1-grams lack '</s>', the token that ends a sequence",
                                 AT(&r));
    }
    if (status != SB_OK)
        arpa_file_close(file);
    return status;
}

void arpa_file_close(arpa_file *file)
{
    for (int32_t i = 0; i < ARPA_MAX_ORDER; i++) {
        alloc_free(file->tables[i].words);
        alloc_free(file->tables[i].values);
    }
    vocab_free(&file->words);
    memset(file, 0, sizeof *file);
}
