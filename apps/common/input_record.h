/* One line of `--input jsonl`: {"input":"..","stream":7}, and for scoring "output" or "tokens". */
#ifndef COMMON_INPUT_RECORD_H
#define COMMON_INPUT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"

typedef struct input_record {
    char *input; /* (input_size), terminated, may hold NUL; owned, as the two below */
    size_t input_size;
    char *output; /* NULL where there is none */
    size_t output_size;
    int32_t *tokens; /* NULL where there are none */
    int32_t n_tokens;
    uint64_t stream;
    bool has_stream;
} input_record;

/* Parses a line. "input" is required, "stream" is optional; with `scored`, so is exactly one of
 * "output" (text) and "tokens" (ids). Other keys, repeated keys and wrong types are errors. On
 * failure *record is empty and err says what is wrong. */
sb_status input_record_parse(const char *line, size_t size, bool scored, input_record *record,
                             sb_error *err);

/* Frees what the record owns and empties it. */
void input_record_free(input_record *record);

#endif
