/* A draw, read back from a line of `sbeam draw -f jsonl`. */
#ifndef COMMON_DRAW_RECORD_H
#define COMMON_DRAW_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/error.h"

typedef struct draw_sequence {
    const char *text; /* (text_size), terminated; NULL where the record has none */
    size_t text_size;
    size_t n_tokens;
    double log_p;
    double g; /* NaN where there is none */
} draw_sequence;

/* Texts belong to the record. */
typedef struct draw_record {
    uint64_t stream, draw;
    sb_method method;
    int32_t k;
    double temperature;
    double strength; /* of diverse; else NaN */
    double kappa;    /* -inf when exhausted, NaN where there is none */
    bool exhausted;
    bool complete; /* reject: k were found; else true */
    const char *input;
    size_t input_size;
    draw_sequence *sequences; /* (n_sequences) */
    size_t n_sequences;
    void *root; /* the parsed line, for what has no field here */
} draw_record;

/* Parses a line. Keys that are not known are left alone: a record may carry more. What is missing,
 * of the wrong type or not finite is an error that names it, with the place of the sequence. On
 * failure *record is empty. */
sb_status draw_record_parse(const char *line, size_t size, draw_record *record, sb_error *err);

/* The setting of this name as sb_config_set takes it, or "" where the record does not carry it:
 * then it had its default. `name` is the option's, with dashes. Returns `text`. */
const char *draw_record_setting(const draw_record *record, const char *name, char *text,
                                size_t size);
/* String number i of the array `key` ("ban", "stop"), or NULL past its end. The record's. */
const char *draw_record_item(const draw_record *record, const char *key, size_t i);

/* Frees what the record owns and empties it. */
void draw_record_free(draw_record *record);

#endif
