/* The function f whose expectation is estimated: sentence BLEU, minus log p, the number of tokens,
 * or numbers from a file. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/estimate.h"
#include "common/cli.h"
#include "common/utf.h"
#include "sbeam/format.h"

sb_status estimate_values_open(estimate_values *values, const char *path,
                               const char *const *references, size_t n_references, sb_error *err)
{
    if (values->function == FUNCTION_FILE)
        return line_reader_open(&values->reader, path, err);
    if (values->function == FUNCTION_BLEU)
        return reference_set_open(&values->references, references, n_references, err);
    return SB_OK;
}

void estimate_values_close(estimate_values *values)
{
    sb_bleu_references_close(values->segment);
    reference_set_close(values->references);
    line_reader_close(&values->reader);
    free(values->f);
}

/* --- numbers from a file --- */

static sb_status refuse_value(const line_reader *reader, const char *why, sb_error *err)
{
    return sb_error_set(err, SB_ERR_INPUT, "%s:%" PRIu64 ": %s: '%.*s'", reader->name,
                        reader->number, why, utf_excerpt(reader->line), reader->line);
}

static sb_status read_value(estimate_values *values, double *f, sb_error *err)
{
    line_reader *const reader = &values->reader;
    const int more = line_reader_next(reader, err);
    if (more < 0)
        return err->status;
    if (more == 0)
        return sb_error_set(err, SB_ERR_INPUT,
                            "%s:%" PRIu64
                            ": the values end here, but the draws have more sequences",
                            reader->name, reader->number);
    if (line_reader_check(reader, err) != SB_OK)
        return err->status;
    while (reader->size > 0 && strchr(" \t\r", reader->line[reader->size - 1]) != NULL)
        reader->line[--reader->size] = '\0';
    const size_t blanks = strspn(reader->line, " \t");
    if (!sb_number_parse(reader->line + blanks, reader->size - blanks, f))
        return refuse_value(reader, "not a finite number", err);
    return SB_OK;
}

sb_status estimate_values_finish(estimate_values *values, sb_error *err)
{
    if (values->function != FUNCTION_FILE)
        return SB_OK;
    const int more = line_reader_next(&values->reader, err);
    if (more > 0)
        return sb_error_set(err, SB_ERR_INPUT,
                            "%s:%" PRIu64 ": the draws have only %" PRIu64
                            " sequences, but there is another value",
                            values->reader.name, values->reader.number, values->reader.number - 1);
    return more < 0 ? err->status : SB_OK;
}

/* --- functions of the sequence --- */

/* Finds the references of a stream, unless those of the previous draw can be kept. */
static sb_status find_segment(estimate_values *values, uint64_t stream, sb_error *err)
{
    if (values->segment != NULL && values->stream == stream)
        return SB_OK;
    sb_bleu_references_close(values->segment);
    values->segment = NULL;
    values->stream = stream;
    const sb_text *texts;
    size_t n;
    const sb_status status = reference_set_get(values->references, stream, &texts, &n, err);
    if (status != SB_OK)
        return status;
    return sb_bleu_references_open(&values->segment, &values->bleu, texts, n, err);
}

static sb_status compute_bleu(estimate_values *values, uint64_t stream,
                              const sb_record_sequence *sequence, double *f, sb_error *err)
{
    if (sequence->text == NULL)
        return sb_error_set(err, SB_ERR_INPUT, "\"text\" is missing, but --f bleu needs it");
    sb_bleu bleu;
    sb_status status = find_segment(values, stream, err);
    if (status == SB_OK)
        status = sb_bleu_sentence(values->segment, sequence->text, sequence->text_size, &bleu, err);
    if (status == SB_OK)
        *f = bleu.score;
    return status;
}

sb_status estimate_values_get(estimate_values *values, uint64_t stream,
                              const sb_record_sequence *sequence, double *f, sb_error *err)
{
    if (values->function == FUNCTION_BLEU)
        return compute_bleu(values, stream, sequence, f, err);
    *f = values->function == FUNCTION_ENTROPY ? -sequence->log_p : (double)sequence->n_tokens;
    return SB_OK;
}

sb_status estimate_values_fill(estimate_values *values, const sb_record *record, sb_error *err)
{
    values->f = cli_realloc(values->f, record->n_sequences, sizeof *values->f);
    for (size_t i = 0; i < record->n_sequences; i++) {
        const sb_status status =
            values->function == FUNCTION_FILE
                ? read_value(values, &values->f[i], err)
                : estimate_values_get(values, record->stream, &record->sequences[i], &values->f[i],
                                      err);
        if (status != SB_OK)
            return status;
    }
    return SB_OK;
}
