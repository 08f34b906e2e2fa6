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

/* Writes a sequence that is certain before its draw has ended (sb_pipe.certain), as a line of its
 * own:
 *
 *     {"partial":true,"stream":0,"temperature":1,"draw":0,"rank":1,"text":"a b", ...}
 *
 * The rank counts from 1, as in the tables of the command. The keys after it are those of the
 * sequence in its record, without "log_weight", which needs the threshold. As for sb_record_write,
 * *line is the writer's. */
SB_API sb_status sb_record_write_partial(sb_record_writer *writer, const sb_certain *found,
                                         const char **line, size_t *size, sb_error *err);

/* Returns the text of sequence i of the last line, or NULL if it has none. The text is the
 * writer's, and valid until the next call of sb_record_write or sb_record_write_partial. */
SB_API const char *sb_record_writer_text(const sb_record_writer *writer, size_t i);

/* Returns whether records have the option among their settings, which follow "temperature": always
 * or if it differs from its default. The other options have a key of their own or none. */
SB_API bool sb_record_has_setting(const sb_option *option);

/* --- reading --- */

/* One sequence of a record. A number that the record does not have is NaN. */
typedef struct sb_record_sequence {
    const char *text; /* (text_size), terminated; NULL if the record has none */
    size_t text_size;
    const int32_t *tokens; /* (n_tokens) */
    size_t n_tokens;
    double log_p, log_p_model, g, log_weight;
    sb_end end; /* SB_END_NONE if the record does not say it */
} sb_record_sequence;

/* One draw, read from its record. The record owns its texts and arrays. */
typedef struct sb_record {
    uint64_t stream, draw, seed;
    sb_method method;
    int32_t k;
    double temperature;
    double strength;   /* of method diverse; else NaN */
    double kappa;      /* -inf if exhausted, NaN if there is none */
    double log_p_draw; /* NaN if there is none */
    bool exhausted;
    sb_stopped_by stopped_by; /* why a draw with a rule has ended; NOTHING: it has no rule */
    bool complete;            /* false only if method reject gave up before it found k */
    uint64_t model_rows, samples, sampled_rows; /* 0 if the record does not have them */
    const char *input; /* (input_size), terminated; NULL if the record has none */
    size_t input_size;
    const char *model;    /* the id of the model (sb_model_info.id); NULL if it is not named */
    const char *allow;    /* the id of the list of permitted outputs (sb_trie_info.id), or NULL */
    const char *version;  /* the version of sbeam that drew; NULL if it is not named */
    const char *settings; /* the model, and the settings that differ from their defaults, such as
                           * "max_len 9, model 6ddd46a482bf4718". Two records with the same model
                           * and settings have equal texts. search and parallel are not among them,
                           * because they do not change the sequences */
    sb_record_sequence *sequences; /* (n_sequences) */
    size_t n_sequences;
    /* private */
    void *document; /* the parsed line */
    int32_t *pool;  /* all tokens */
    int32_t *ban;   /* the lists of sb_record_get_config */
    const char **stop;
    const sb_trie *list; /* that of sb_record_set_allow */
} sb_record;

/* Returns 1 if the line is one of sb_record_write_partial: a JSON object with "partial":true. A
 * reader of draws skips such a line, because the record of the draw follows it. Returns 0 for any
 * other line, or -1 after an error, such as failing memory. */
SB_API int sb_record_is_partial(const char *line, size_t size, sb_error *err);

/* Reads a line and checks that it can be a draw. Unknown keys are ignored, because a record may
 * carry more. An error names the key, what was expected, and the sequence if it is in one:
 *   - a key that is missing, of the wrong type or not finite;
 *   - a partial line;
 *   - fewer sequences than k, unless the model or the method has no more or a rule ended the draw;
 *   - "stopped_by" without a rule, a rule without it, or one that the draw contradicts;
 *   - a threshold or a weight in a draw with a rule;
 *   - a sequence twice in a draw whose sequences are distinct;
 *   - G that is not in descending order, or below kappa;
 *   - a weight that does not follow from log_p and kappa (to 1e-9 of log_weight);
 *   - a total probability above 1 + 1e-6, or below 1 - 1e-6 although the draw is exhausted.
 * On success the caller closes *record; on failure it is empty. */
SB_API sb_status sb_record_read(sb_record *record, const char *line, size_t size, sb_error *err);
/* Frees the memory of the record and empties it. Accepts an empty record and NULL. */
SB_API void sb_record_close(sb_record *record);

/* Fills in *config with the settings of the draw, so that the same draw can be made again. Settings
 * that the record does not mention get their defaults. Banned tokens are looked up in `model`. The
 * lists of *config belong to the record, except for that of sb_record_set_allow. If the record has
 * "allow", call sb_record_set_allow first; else the function fails. On failure *config is
 * unchanged. */
SB_API sb_status sb_record_get_config(sb_record *record, const sb_model *model, sb_config *config,
                                      sb_error *err);
/* Gives the list of permitted outputs to a record whose draw was limited to it. Fails if the record
 * names another list. The list stays the caller's and must stay open while the record or a config
 * from it is in use. If the draw was not limited, the list is not used. */
SB_API sb_status sb_record_set_allow(sb_record *record, const sb_trie *allow, sb_error *err);
/* Makes the model read and write text as it did for this draw ("pretokenized", "special",
 * "bpe_marker"). Fails if the record names another model. If the record has no "version", the model
 * is not changed, because older versions did not write these settings. */
SB_API sb_status sb_record_set_model(const sb_record *record, sb_model *model, sb_error *err);

/* Records that are read together, from one file or several. A set finds draws that occur twice:
 * estimates from them would count the same noise twice. It needs about 80 bytes for each record. */
typedef struct sb_record_set sb_record_set;

/* Opens an empty set. On success *set is the caller's to close. */
SB_API sb_status sb_record_set_open(sb_record_set **set, sb_error *err);
/* Frees the set. Accepts NULL. */
SB_API void sb_record_set_close(sb_record_set *set);
/* Begins a file: the line numbers of the next records belong to the file `name`, which is copied.
 * Messages name files only if this function was called. */
SB_API sb_status sb_record_set_begin_file(sb_record_set *set, const char *name, sb_error *err);
/* Adds the record of this line. Fails if an earlier record has the same method, k, temperature,
 * settings, seed, stream and draw; the message names the line of that record. */
SB_API sb_status sb_record_set_add(sb_record_set *set, const sb_record *record, uint64_t line,
                                   sb_error *err);
/* Adds the input of this record. Fails if an earlier one has the same stream but another input,
 * because an average over both would mean nothing. */
SB_API sb_status sb_record_set_add_input(sb_record_set *set, const sb_record *record, uint64_t line,
                                         sb_error *err);

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
