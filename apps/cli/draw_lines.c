/* Records of draws for programs: JSON lines, which the library writes, and tab-separated values. In
 * a table, a number that the method does not have is nan. */
#include <string.h>

#include "cli/draw_writer.h"

sb_status draw_write_jsonl(draw_writer *writer, const sb_input *input, const sb_result *result,
                           sb_error *err)
{
    const char *line;
    size_t size;
    const sb_status status = sb_record_write(writer->records, input, result, &line, &size, err);
    if (status != SB_OK)
        return status;
    output_bytes(&writer->out, line, size);
    writer->n_records++;
    return SB_OK;
}

sb_status draw_write_partial(draw_writer *writer, const sb_certain *found, sb_error *err)
{
    const char *line;
    size_t size;
    const sb_status status = sb_record_write_partial(writer->records, found, &line, &size, err);
    if (status == SB_OK)
        output_bytes(&writer->out, line, size);
    return status;
}

void draw_write_names(draw_writer *writer)
{
    output_text(&writer->out, "stream\tdraw\tmethod\tk\ttemperature\tseed\tkappa\trank\tlog_p\t"
                              "log_p_model\tg\tlog_weight\tend\ttext\n");
}

sb_status draw_write_tsv(draw_writer *writer, const sb_input *input, const sb_result *result,
                         sb_error *err)
{
    (void)input;
    output *const out = &writer->out;
    const size_t start = out->size;
    if (writer->n_records == 0)
        draw_write_names(writer);
    for (int32_t i = 0; i < result->n_sequences; i++) {
        const sb_sequence *const sequence = &result->sequences[i];
        char *text;
        const sb_status status =
            sb_sequence_text(writer->model, writer->config, sequence, &text, err);
        if (status != SB_OK) {
            out->size = start;
            return status;
        }
        output_unsigned(out, result->stream);
        output_char(out, '\t');
        output_unsigned(out, result->draw);
        output_format(out, "\t%s\t%d\t", sb_method_name(result->method), (int)result->k);
        output_number(out, result->temperature);
        output_char(out, '\t');
        output_unsigned(out, result->seed);
        output_char(out, '\t');
        output_number(out, result->kappa);
        output_format(out, "\t%d", (int)i + 1);
        const double numbers[] = {sequence->log_p, sequence->log_p_model, sequence->g,
                                  sequence->log_weight};
        for (size_t j = 0; j < sizeof numbers / sizeof numbers[0]; j++) {
            output_char(out, '\t');
            output_number(out, numbers[j]);
        }
        output_format(out, "\t%s\t", sb_end_name(sequence->end));
        output_field(out, text, strlen(text));
        output_char(out, '\n');
        sb_free(text);
    }
    writer->n_records++;
    return SB_OK;
}
