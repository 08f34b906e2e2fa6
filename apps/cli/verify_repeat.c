/* Makes a draw again. A draw is a function of the model, the settings, the seed, the stream and the
 * number of the draw, all of which its record has. */
#include "cli/verify.h"

static sb_status draw_again(const sb_model *model, const sb_plan *common, const sb_record *record,
                            const sb_config *config, sb_result *result, sb_error *err)
{
    const sb_input input = {record->input != NULL ? record->input : "", record->input_size,
                            record->stream, NULL};
    sb_plan plan = *common;
    plan.first_draw = record->draw;
    return sb_draw_batch(model, &input, 1, config, &plan, &result, err);
}

/* Makes sure that repeating costs no more than the record shows. A draw of sbs of n < k sequences
 * without a rule is also the draw of n + 1. Method reject draws samples in rounds, which begin with
 * k and double, so the round that it ended in ends before the number below. It gives up only at
 * max_samples. */
static sb_status limit_work(const sb_record *record, sb_config *config, sb_error *err)
{
    const sb_method_info *const method = sb_method_get_info(config->method);
    const bool is_short = record->n_sequences < (size_t)config->k;
    if (method->counts_samples) {
        if (is_short && record->samples != config->max_samples)
            return sb_error_set(err, SB_ERR_INPUT,
                                "there are %zu sequences of %d after %llu samples; expected "
                                "samples until \"max_samples\", which is %llu",
                                record->n_sequences, (int)config->k,
                                (unsigned long long)record->samples,
                                (unsigned long long)config->max_samples);
        const uint64_t k = (uint64_t)config->k;
        if (record->samples < (config->max_samples - 1) / 3 &&
            3 * record->samples + k < config->max_samples)
            config->max_samples = 3 * record->samples + k;
    } else if (method->law == SB_LAW_WITHOUT_REPLACEMENT && is_short &&
               record->stopped_by == SB_STOPPED_BY_NOTHING) {
        config->k = (int32_t)record->n_sequences + 1;
    }
    return SB_OK;
}

/* Limits the work for a draw with a rule. Its k cannot be lowered, because model_rows depends on k.
 * But its first sequences do not, so a draw of about twice as many as the record has shows whether
 * the draw of k ends there. Twice, because rounding may have changed some of them. */
static sb_status check_end(const sb_model *model, const sb_plan *plan, const sb_record *record,
                           const sb_config *config, sb_result *result, sb_error *err)
{
    const size_t most = 2 * record->n_sequences + 1;
    if (record->stopped_by == SB_STOPPED_BY_NOTHING || most >= (size_t)config->k)
        return SB_OK;
    sb_config shorter = *config;
    shorter.k = (int32_t)most;
    const sb_status status = draw_again(model, plan, record, &shorter, result, err);
    if (status != SB_OK || result->stopped_by != SB_STOPPED_BY_K)
        return status;
    return sb_error_set(err, SB_ERR_INPUT,
                        "\"stopped_by\" is \"%s\" after %zu sequences, but the repeated draw has "
                        "more than %zu",
                        sb_stopped_by_name(record->stopped_by), record->n_sequences, most - 1);
}

/* Writes the result as a record, reads it back, and compares. */
static sb_status compare_result(const sb_model *model, const sb_config *config,
                                const sb_record *record, const sb_result *result,
                                verify_outcome *outcome, sb_error *err)
{
    sb_record_writer *writer;
    sb_record again;
    const char *line;
    size_t size;
    sb_status status = sb_record_writer_open(&writer, model, config, err);
    if (status != SB_OK)
        return status;
    status = sb_record_write(writer, NULL, result, &line, &size, err);
    if (status == SB_OK) {
        status = sb_record_read(&again, line, size, err);
        if (status == SB_OK)
            status = verify_compare(model, config, record, &again, outcome, err);
        sb_record_close(&again);
    }
    sb_record_writer_close(writer);
    return status;
}

/* Checks a threshold that differs. If rounding lost n sequences and the one at the threshold, then
 * those behind them moved up. So the threshold is at least that of n + 1 sequences more. */
static sb_status check_kappa(const sb_model *model, const sb_plan *plan, const sb_record *record,
                             sb_config *config, const verify_outcome *outcome, sb_result *result,
                             sb_error *err)
{
    config->k += (int32_t)outcome->n_other + 1;
    const sb_status status = draw_again(model, plan, record, config, result, err);
    if (status != SB_OK || record->kappa >= result->kappa - outcome->rounding)
        return status;
    return sb_error_set(err, SB_ERR_INPUT,
                        "\"kappa\" is %.17g; expected at least %.17g, even if rounding changed %zu "
                        "sequences and the threshold",
                        record->kappa, result->kappa, outcome->n_other);
}

/* Makes the draw with these settings and compares. */
static sb_status repeat_with(const sb_model *model, const sb_plan *plan, const sb_record *record,
                             const sb_config *config, verify_outcome *outcome, sb_result *result,
                             sb_error *err)
{
    sb_config used = *config;
    sb_status status = draw_again(model, plan, record, &used, result, err);
    if (status == SB_OK)
        status = compare_result(model, &used, record, result, outcome, err);
    if (status == SB_OK && outcome->has_other_kappa)
        status = check_kappa(model, plan, record, &used, outcome, result, err);
    return status;
}

/* Makes the draw by the automatic search and compares. If the draw differs, tries level search: the
 * search decides model_rows and the last bits of log_p_draw, but the record does not name it, and
 * another build or version may choose level search. */
static sb_status repeat_by_any_search(const sb_model *model, const sb_plan *plan,
                                      const sb_record *record, const sb_config *config,
                                      verify_outcome *outcome, sb_result *result, sb_error *err)
{
    const sb_status status = repeat_with(model, plan, record, config, outcome, result, err);
    const bool is_chosen = sb_method_takes(config->method, "search") &&
                           config->search == SB_SEARCH_AUTO && config->parallel == 0 &&
                           record->stopped_by == SB_STOPPED_BY_NOTHING;
    if (status != SB_ERR_INPUT || !is_chosen)
        return status;
    sb_config level = *config;
    level.search = SB_SEARCH_LEVEL;
    const bool is_fine = repeat_with(model, plan, record, &level, outcome, result, NULL) == SB_OK;
    return is_fine ? SB_OK : status;
}

void verify_list_close(verify_list *list)
{
    sb_trie_close(list->tries[0]);
    sb_trie_close(list->tries[1]);
}

/* Gives the record the list that its draw was limited to, if it was. */
static sb_status set_list(verify_list *list, const sb_model *model, sb_record *record,
                          sb_error *err)
{
    if (record->allow == NULL)
        return SB_OK;
    if (list->path == NULL)
        return sb_error_set(err, SB_ERR_INPUT,
                            "the draw was limited to a list of permitted outputs (\"allow\"); give "
                            "the file of the list with --allow");
    sb_trie **const trie = &list->tries[sb_model_is_pretokenized(model)];
    sb_status status = SB_OK;
    if (*trie == NULL)
        status = sb_trie_read(trie, model, list->path, err);
    return status == SB_OK ? sb_record_set_allow(record, *trie, err) : status;
}

sb_status verify_repeat(sb_model *model, const sb_plan *plan, verify_list *list, sb_record *record,
                        verify_outcome *outcome, sb_error *err)
{
    sb_config config;
    sb_result *result = NULL;
    sb_status status = sb_record_set_model(record, model, err);
    if (status == SB_OK && record->input == NULL && sb_model_get_info(model)->needs_input)
        status =
            sb_error_set(err, SB_ERR_INPUT,
                         "\"input\" is null, but this model needs an input; the draw cannot be "
                         "repeated");
    if (status == SB_OK)
        status = set_list(list, model, record, err);
    if (status == SB_OK)
        status = sb_record_get_config(record, model, &config, err);
    if (status == SB_OK)
        status = limit_work(record, &config, err);
    if (status == SB_OK)
        status = sb_result_open(&result, err);
    if (status == SB_OK)
        status = check_end(model, plan, record, &config, result, err);
    if (status == SB_OK)
        status = repeat_by_any_search(model, plan, record, &config, outcome, result, err);
    sb_result_close(result);
    return status;
}
