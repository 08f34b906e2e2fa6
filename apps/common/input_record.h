/* Reads one line of `--input jsonl`: {"input":"..","stream":7}, for scoring also with "output" or
 * "tokens". */
#ifndef COMMON_INPUT_RECORD_H
#define COMMON_INPUT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

typedef struct input_record {
    char *input; /* (input_size), terminated, may hold NUL; owned, like `output` and `tokens` */
    size_t input_size;
    char *output; /* NULL if the line has none */
    size_t output_size;
    int32_t *tokens; /* NULL if the line has none */
    int32_t n_tokens;
    uint64_t stream;
    bool has_stream;
} input_record;

/* Parses a line. "input" is required and "stream" is optional; if `scored`, exactly one of "output"
 * (text) and "tokens" (ids) is required. Other keys, repeated keys and wrong types are errors. On
 * failure *record is empty and err says what is wrong. */
sb_status input_record_parse(const char *line, size_t size, bool scored, input_record *record,
                             sb_error *err);

/* Frees the strings and tokens of the record and empties it. */
void input_record_free(input_record *record);

#endif
