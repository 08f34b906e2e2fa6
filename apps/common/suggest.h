/* Suggestions for words that were not understood: "did you mean '--temperature'?". */
#ifndef COMMON_SUGGEST_H
#define COMMON_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of edits that turn `a` into `b`: insertions, deletions and replacements of one
 * byte, and swaps of two adjacent bytes. Returns SIZE_MAX if a word is longer than 63 bytes. */
size_t suggest_distance(const char *a, const char *b);

/* The candidate that is closest to a word so far. Set `word` and leave the rest zero, offer each
 * candidate, then read `best`. */
typedef struct suggestion {
    const char *word;
    const char *best; /* NULL if no candidate is close; points to the candidate that was offered */
    size_t distance;  /* of `best` */
} suggestion;

/* Offers a candidate, which must outlive the suggestion. It is close if the word has at least 3
 * bytes and is either its beginning or at most max(1, bytes / 3) edits away from it. The first of
 * equally close candidates wins. */
void suggest_offer(suggestion *s, const char *candidate);

/* Offers each word of "one|two|three". Writes the closest one to `buffer` and returns it, or
 * returns NULL if none is close. */
const char *suggest_choice(const char *word, const char *choices, char *buffer, size_t size);

/* Writes "; did you mean 'jsonl'?" if one of the choices "text|jsonl" is close to the value, else
 * "". */
void suggest_advice(const char *value, const char *choices, char *advice, size_t size);

/* Returns the advice for an option that other programs have under this name, given with its dashes
 * ("--temp", "-n"), or NULL if there is none. The advice is right for commands that take the option
 * *name, or for all commands if *name is NULL. Both strings are static. */
const char *suggest_for_habit(const char *shown, const char **name);

#endif
