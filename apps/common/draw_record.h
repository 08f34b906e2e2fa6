/* Reads a draw back from a line of `sbeam draw -f jsonl`. */
#ifndef COMMON_DRAW_RECORD_H
#define COMMON_DRAW_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/error.h"

typedef struct draw_sequence {
    const char *text; /* (text_size), terminated; NULL if the record has none */
    size_t text_size;
    size_t n_tokens;
    double log_p;
    double g; /* NaN if there is none */
} draw_sequence;

/* The record owns its texts and arrays. */
typedef struct draw_record {
    uint64_t stream, draw;
    sb_method method;
    int32_t k;
    double temperature;
    double strength; /* of method diverse; else NaN */
    double kappa;    /* -inf if exhausted, NaN if there is none */
    bool exhausted;
    bool complete; /* false only if method reject gave up before it found k */
    const char *input;
    size_t input_size;
    draw_sequence *sequences; /* (n_sequences) */
    size_t n_sequences;
    void *root; /* the parsed line, for the keys without a field here */
} draw_record;

/* Parses a line. Unknown keys are ignored, because a record may carry more. A key that is missing,
 * of the wrong type or not finite is an error; the message names the key, and the sequence if it is
 * in one. On failure *record is empty. */
sb_status draw_record_parse(const char *line, size_t size, draw_record *record, sb_error *err);

/* Writes the setting of this name as sb_config_set takes it, or "" if the record does not have it,
 * which means that it had its default. `name` is spelt as the option, with dashes: "max-len".
 * Returns `text`. */
const char *draw_record_setting(const draw_record *record, const char *name, char *text,
                                size_t size);
/* Returns string i of the array `key` ("ban", "stop"), or NULL if there is none. The record owns
 * it. */
const char *draw_record_item(const draw_record *record, const char *key, size_t i);

/* Frees the memory of the record and empties it. */
void draw_record_free(draw_record *record);

#endif
