/* This file is separate from fit.c, because a build of only the core has no models. */
#include <stdio.h>

#include "base/status.h"
#include "decode/fit.h"

sb_status fit_to_model(sb_config *config, const sb_model *model, sb_error *err)
{
    const sb_model_info *const info = sb_model_get_info(model);
    if (config->n_stop > 0 && sb_model_token_text(model, 0) == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "stop strings need text, but the tokens of this model have none");
    if (config->until_texts > 0 && sb_model_token_text(model, 0) == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "until-texts needs text, but the tokens of this model have none");
    if (info->max_len > 0 && config->min_len > info->max_len)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "min-len is %d, but the model gives sequences of at most %d tokens",
                           config->min_len, info->max_len);
    /* A limited number of states has no room for those that best-first search keeps. */
    char why[128];
    snprintf(why, sizeof why, "a model of kind '%s' keeps only %d states, too few for it",
             info->kind, (int)info->max_rows);
    return fit_search(config, info->row_type, info->max_rows > 0 ? why : NULL, err);
}
