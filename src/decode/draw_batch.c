/* sb_draw and sb_draw_batch: sb_draw_all for inputs that are in memory. */
#include <string.h>

#include "base/status.h"
#include "decode/result.h"
#include "sbeam/draw.h"

struct list {
    const sb_input *inputs;
    size_t n_inputs, next_input;
    sb_result **results;
    size_t next_result;
};

static int give_input(void *user, sb_input *input, sb_error *err)
{
    (void)err;
    struct list *const list = user;
    if (list->next_input == list->n_inputs)
        return 0;
    *input = list->inputs[list->next_input++];
    return 1;
}

static int keep_result(void *user, const sb_input *input, const sb_result *result, sb_error *err)
{
    (void)input;
    struct list *const list = user;
    if (result_copy(list->results[list->next_result++], result) == SB_OK)
        return 0;
    status_no_memory(err);
    return -1;
}

sb_status sb_draw_batch(const sb_model *model, const sb_input *inputs, size_t n_inputs,
                        const sb_config *config, const sb_plan *plan, sb_result **results,
                        sb_error *err)
{
    if (n_inputs > 0 && (inputs == NULL || results == NULL))
        return status_fail(err, SB_ERR_ARGUMENT, "sb_draw_batch: inputs or results is NULL");
    if (plan == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_draw_batch: plan is NULL");
    const size_t n_temperatures = plan->temperatures != NULL ? plan->n_temperatures : 1;
    for (size_t i = 0; i < n_inputs * n_temperatures * plan->n_draws; i++)
        result_clear(results[i]);
    struct list list = {inputs, n_inputs, 0, results, 0};
    const sb_pipe pipe = {.user = &list, .source = give_input, .sink = keep_result};
    const sb_status status = sb_draw_all(model, config, plan, &pipe, err);
    for (size_t i = 0; status != SB_OK && i < list.next_result; i++)
        result_clear(results[i]);
    return status;
}

sb_status sb_draw(const sb_model *model, const char *input, const sb_config *config,
                  sb_result *result, sb_error *err)
{
    if (result == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_draw: result is NULL");
    result_clear(result);
    if (input == NULL && model != NULL && sb_model_get_info(model)->needs_input)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_draw: input is NULL, but a model of kind '%s' needs an input",
                           sb_model_get_info(model)->kind);
    const sb_input one = {.text = input, .size = input != NULL ? strlen(input) : 0};
    sb_plan plan;
    sb_plan_default(&plan);
    return sb_draw_batch(model, &one, 1, config, &plan, &result, err);
}
