/* Finds the word that was probably meant, by edit distance, and knows the names that other programs
 * give to options of sbeam.
 *
 * The distance is that of optimal string alignment: each of the four commonest typing errors (a
 * missing, an extra, a wrong letter, two letters swapped) counts 1. A third of the length separates
 * typing errors from other words: "temprature" is one edit away from "temperature", while words
 * that differ in more than a third of their letters are rarely meant for each other. */
#include "common/suggest.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 63, SHORTEST_PREFIX = 3 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    const size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

size_t suggest_distance(const char *a, const char *b)
{
    const size_t n_a = strlen(a), n_b = strlen(b);
    /* Rows i - 2, i - 1 and i of the table of distances between the first i and j bytes. */
    size_t rows[3][LONGEST + 1];
    if (n_a > LONGEST || n_b > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t *const row = rows[i % 3], *const above = rows[(i + 2) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                const size_t swapped = rows[(i + 1) % 3][j - 2] + 1;
                row[j] = swapped < row[j] ? swapped : row[j];
            }
        }
    }
    return rows[n_a % 3][n_b];
}

void suggest_offer(suggestion *s, const char *candidate)
{
    const size_t length = strlen(s->word);
    const size_t most = length < 3 ? 1 : length / 3;
    size_t distance = suggest_distance(s->word, candidate);
    /* One edit is too much for a word of one or two letters. */
    bool is_close = length > 2 && distance <= most;
    if (!is_close && length >= SHORTEST_PREFIX && strncmp(candidate, s->word, length) == 0) {
        is_close = true;
        distance = most + 1; /* after all that are close by their letters */
    }
    if (is_close && (s->best == NULL || distance < s->distance)) {
        s->best = candidate;
        s->distance = distance;
    }
}

const char *suggest_choice(const char *word, const char *choices, char *buffer, size_t size)
{
    suggestion s = {.word = word};
    size_t best_distance = SIZE_MAX;
    bool found = false;
    while (*choices != '\0') {
        const size_t n = strcspn(choices, "|");
        char candidate[LONGEST + 1];
        if (n < sizeof candidate && n < size) {
            memcpy(candidate, choices, n);
            candidate[n] = '\0';
            s.best = NULL;
            suggest_offer(&s, candidate);
            if (s.best != NULL && s.distance < best_distance) {
                best_distance = s.distance;
                memcpy(buffer, candidate, n + 1);
                found = true;
            }
        }
        choices += n + (choices[n] == '|');
    }
    return found ? buffer : NULL;
}

void suggest_advice(const char *value, const char *choices, char *advice, size_t size)
{
    char meant[LONGEST + 1];
    advice[0] = '\0';
    if (suggest_choice(value, choices, meant, sizeof meant) != NULL)
        snprintf(advice, size, "; did you mean '%s'?", meant);
}

/* Options of llama.cpp, fairseq, Hugging Face's generate, GNU tools and others. The advice holds
 * for commands that take the option `name`; NULL: for all commands. */
static const struct {
    const char *habit, *name, *advice;
} habits[] = {
    {"--temp", "temperature", "it is called -T or --temperature here"},
    {"--prompt", "file", "an input is an argument without an option, or --file FILE"},
    {"-p", "file", "an input is an argument without an option, or --file FILE"},
    {"--prompt-file", "file", "it is called --file here"},
    {"--input-file", "file", "it is called --file here"},
    {"-i", "file", "it is called --file here"},
    {"-n", "min-len", "the number of sequences is -k, that of tokens is --max-len"},
    {"--n", "min-len", "the number of sequences is -k, that of tokens is --max-len"},
    {"--num-samples", "k", "the number of sequences is -k"},
    {"--n-samples", "k", "the number of sequences is -k"},
    {"--samples", "k", "the number of sequences is -k"},
    {"--num-return-sequences", "k", "the number of sequences is -k"},
    {"--nbest", "k", "the number of sequences is -k"},
    {"--beam", "method", "the width of the beam is -k; --method beam chooses beam search"},
    {"--beams", "method", "the width of the beam is -k; --method beam chooses beam search"},
    {"--beam-size", "method", "the width of the beam is -k; --method beam chooses beam search"},
    {"--beam-width", "method", "the width of the beam is -k; --method beam chooses beam search"},
    {"--num-beams", "method", "the width of the beam is -k; --method beam chooses beam search"},
    {"--greedy", "method", "the likeliest token at each step is --method beam -k 1"},
    {"--do-sample", "method", "independent samples are --method sample"},
    {"--sampling", "method", "independent samples are --method sample"},
    {"--n-predict", "max-len", "it is called --max-len here"},
    {"--predict", "max-len", "it is called --max-len here"},
    {"--max-tokens", "max-len", "it is called --max-len here"},
    {"--max-new-tokens", "max-len", "it is called --max-len here"},
    {"--max-length", "max-len", "it is called --max-len here"},
    {"--min-length", "min-len", "it is called --min-len here"},
    {"--lenpen", "length-penalty", "it is called --length-penalty here"},
    {"--num-threads", "threads", "it is called --threads here"},
    {"-j", "threads", "it is called --threads here"},
    {"-s", "seed", "it is called --seed here"},
    {"--random-seed", "seed", "it is called --seed here"},
    {"--batch-size", "batch", "it is called --batch here"},
    {"--until-mass", "until", "it is written --until mass=X here"},
    {"--until-texts", "until", "it is written --until texts=N here"},
    {"--json", "format", "JSON lines are -f jsonl"},
    {"-o", NULL, "results go to standard output; redirect it: > FILE"},
    {"--output", NULL, "results go to standard output; redirect it: > FILE"},
    {"--output-file", NULL, "results go to standard output; redirect it: > FILE"},
    {"--out", NULL, "results go to standard output; redirect it: > FILE"},
    {"--version", NULL, "it belongs to sbeam itself: sbeam --version"},
};

const char *suggest_for_habit(const char *shown, const char **name)
{
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        if (strcmp(shown, habits[i].habit) == 0) {
            *name = habits[i].name;
            return habits[i].advice;
        }
    }
    return NULL;
}
