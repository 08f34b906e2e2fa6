#include "decode/fit.h"

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
