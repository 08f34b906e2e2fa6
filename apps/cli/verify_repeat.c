/* Makes a draw again. A draw is a function of the model, the settings, the seed, the stream and the
 * number of the draw, all of which its record has. */
#include "cli/verify.h"

/* Draws again and writes the record, which the writer owns. */
static sb_status draw_again(const sb_model *model, const sb_plan *common, const sb_record *record,
                            const sb_config *config, sb_result *result, sb_record_writer *writer,
                            const char **line, size_t *size, sb_error *err)
{
    const sb_input input = {record->input != NULL ? record->input : "", record->input_size,
                            record->stream, NULL};
    sb_plan plan = *common;
    plan.first_draw = record->draw;
    const sb_status status = sb_draw_batch(model, &input, 1, config, &plan, &result, err);
    return status == SB_OK ? sb_record_write(writer, &input, result, line, size, err) : status;
}

/* Makes sure that repeating costs no more time than the record shows. If a draw without replacement
 * has n < k sequences, a draw of n + 1 gives the same ones. Method reject stopped after the number
 * of samples in the record. */
static void limit_work(const sb_record *record, sb_config *config)
{
    const sb_method_info *const method = sb_method_get_info(config->method);
    if (method->law == SB_LAW_WITHOUT_REPLACEMENT && record->n_sequences < (size_t)config->k)
        config->k = (int32_t)record->n_sequences + 1;
    if (method->counts_samples && record->samples > 0 && record->samples < config->max_samples)
        config->max_samples = record->samples;
}

sb_status verify_repeat(sb_model *model, const sb_plan *plan, sb_record *record, double *rounding,
                        sb_error *err)
{
    sb_config config;
    sb_result *result = NULL;
    sb_record_writer *writer = NULL;
    const char *line;
    size_t size;
    sb_status status = sb_record_set_model(record, model, err);
    if (status == SB_OK && record->input == NULL && sb_model_get_info(model)->needs_input)
        status =
            sb_error_set(err, SB_ERR_INPUT,
                         "\"input\" is null, but this model needs an input; the draw cannot be "
                         "repeated");
    if (status == SB_OK)
        status = sb_record_get_config(record, model, &config, err);
    if (status == SB_OK)
        limit_work(record, &config);
    if (status == SB_OK)
        status = sb_result_open(&result, err);
    if (status == SB_OK)
        status = sb_record_writer_open(&writer, model, &config, err);
    if (status == SB_OK)
        status = draw_again(model, plan, record, &config, result, writer, &line, &size, err);
    if (status == SB_OK) {
        sb_record again;
        status = sb_record_read(&again, line, size, err);
        if (status == SB_OK)
            status = verify_compare(model, record, &again, rounding, err);
        sb_record_close(&again);
    }
    sb_record_writer_close(writer);
    sb_result_close(result);
    return status;
}
