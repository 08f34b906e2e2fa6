/* Records: a draw as one JSON line, written and read back, and the lines that give inputs.
 *
 * The command writes these records with `sbeam draw -f jsonl`, and Python holds one for each draw.
 * Numbers read back to the same double. A number that the method does not have is null; a threshold
 * of -inf is null with "exhausted":true. */
#ifndef SBEAM_RECORD_H
#define SBEAM_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/config.h"
#include "sbeam/draw.h"
#include "sbeam/error.h"
#include "sbeam/model.h"
#include "sbeam/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- writing --- */

/* Decodes a sequence. If a stop string ended it, its text is cut before the first one in it. On
 * success *text is the caller's, to be released with sb_free. */
SB_API sb_status sb_sequence_text(const sb_model *model, const sb_config *config,
                                  const sb_sequence *sequence, char **text, sb_error *err);

/* Writes the records of draws that have one model and one config. */
typedef struct sb_record_writer sb_record_writer;

/* Opens a writer. The model and the config with its lists must stay valid and unchanged until it is
 * closed. The model may be NULL, for hosts that compute their own logits: then "text" is null, and
 * banned tokens are given by their ids. On success *writer is the caller's to close. */
SB_API sb_status sb_record_writer_open(sb_record_writer **writer, const sb_model *model,
                                       const sb_config *config, sb_error *err);
/* Frees the writer and its last line. Accepts NULL. */
SB_API void sb_record_writer_close(sb_record_writer *writer);

/* Writes one record, which ends in a newline. `input` may be NULL: then "input" is null. *line has
 * *size bytes without a terminator. It is the writer's, and valid until the next call. Both are
 * written only on success. */
SB_API sb_status sb_record_write(sb_record_writer *writer, const sb_input *input,
                                 const sb_result *result, const char **line, size_t *size,
                                 sb_error *err);

/* Returns the text of sequence i of the last record, or NULL if it has none. The text is the
 * writer's, and valid until the next call of sb_record_write. */
SB_API const char *sb_record_writer_text(const sb_record_writer *writer, size_t i);

/* Returns whether records have the option among their settings, which follow "temperature": always
 * or if it differs from its default. The other options have a key of their own or none. */
SB_API bool sb_record_has_setting(const sb_option *option);

/* --- reading --- */

/* One sequence of a record. */
typedef struct sb_record_sequence {
    const char *text; /* (text_size), terminated; NULL if the record has none */
    size_t text_size;
    size_t n_tokens;
    double log_p;
    double g; /* NaN if there is none */
} sb_record_sequence;

/* One draw, read from its record. The record owns its texts and arrays. */
typedef struct sb_record {
    uint64_t stream, draw;
    sb_method method;
    int32_t k;
    double temperature;
    double strength; /* of method diverse; else NaN */
    double kappa;    /* -inf if exhausted, NaN if there is none */
    bool exhausted;
    bool complete;     /* false only if method reject gave up before it found k */
    const char *input; /* (input_size), terminated */
    size_t input_size;
    sb_record_sequence *sequences; /* (n_sequences) */
    size_t n_sequences;
    void *document; /* private: the parsed line */
} sb_record;

/* Reads a line. Unknown keys are ignored, because a record may carry more. A key that is missing,
 * of the wrong type or not finite is an error; the message names the key, and the sequence if it is
 * in one. On success the caller closes *record; on failure it is empty. */
SB_API sb_status sb_record_read(sb_record *record, const char *line, size_t size, sb_error *err);
/* Frees the memory of the record and empties it. Accepts an empty record and NULL. */
SB_API void sb_record_close(sb_record *record);

/* Writes the setting of this name as sb_config_set takes it, or "" if the record does not have it,
 * which means that it had its default. `name` is spelt as the option, with dashes: "max-len".
 * `text` is the caller's and has `size` bytes. Returns `text`. */
SB_API const char *sb_record_setting(const sb_record *record, const char *name, char *text,
                                     size_t size);
/* Returns string i of the array `key` ("ban", "stop"), or NULL if there is none. The record owns
 * it. */
SB_API const char *sb_record_item(const sb_record *record, const char *key, size_t i);

/* --- inputs --- */

/* An input, read from a line such as {"input":"..","stream":7}; for scoring also with "output" or
 * "tokens". All memory comes from sb_alloc. */
typedef struct sb_input_record {
    char *input; /* (input_size), terminated, may hold zero bytes; owned, like output and tokens */
    size_t input_size;
    char *output; /* NULL if the line has none */
    size_t output_size;
    int32_t *tokens; /* NULL if the line has none */
    int32_t n_tokens;
    uint64_t stream;
    bool has_stream;
} sb_input_record;

/* Reads a line. "input" is required and "stream" is optional; if `scored`, exactly one of "output"
 * (text) and "tokens" (ids) is required. Other keys, repeated keys and wrong types are errors. On
 * success the caller closes *record; on failure it is empty. */
SB_API sb_status sb_input_record_read(sb_input_record *record, const char *line, size_t size,
                                      bool scored, sb_error *err);
/* Frees the memory of the record and empties it. Accepts an empty record and NULL. */
SB_API void sb_input_record_close(sb_input_record *record);

#ifdef __cplusplus
}
#endif
#endif
