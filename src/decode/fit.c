#include "decode/fit.h"

#include <stdio.h>

#include "base/status.h"
#include "decode/config.h"

/* Returns a clause that says which setting needs best-first search, or NULL if none does. */
static const char *what_needs_best_first(const sb_config *config)
{
    if (config->search == SB_SEARCH_BEST_FIRST)
        return "search is best-first";
    if (config->parallel > 0)
        return "parallel needs best-first search";
    if (config->until_mass > 0)
        return "until-mass needs best-first search";
    return config->until_texts > 0 ? "until-texts needs best-first search" : NULL;
}

/* The automatic search is best-first if that is possible, because it is faster (`scripts/bench
 * order`). Rows of floats come from networks, which compute a few rows together
 * faster than one by one: with 4, hardly more rows are evaluated than needed. Rows of doubles come
 * from models that only look them up. */
enum { PARALLEL_FLOAT = 4, PARALLEL_DOUBLE = 1 };

sb_status fit_search(sb_config *config, sb_row_type row_type, const char *why_not, sb_error *err)
{
    if (config->method != SB_METHOD_SBS)
        return SB_OK;
    const char *const what = what_needs_best_first(config);
    if (what != NULL && why_not != NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "%s, but %s", what, why_not);
    if (what == NULL && (why_not != NULL || config->search == SB_SEARCH_LEVEL)) {
        config->search = SB_SEARCH_LEVEL;
        return SB_OK;
    }
    config->search = SB_SEARCH_BEST_FIRST;
    if (config->parallel == 0)
        config->parallel = row_type == SB_ROW_FLOAT ? PARALLEL_FLOAT : PARALLEL_DOUBLE;
    return SB_OK;
}

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
