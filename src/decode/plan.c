/* The option table of a plan: how to work through many inputs. Every method takes these settings,
 * and none of them changes a draw. */
#include <stddef.h>

#include "base/settings.h"
#include "base/status.h"
#include "decode/config.h"
#include "sbeam/draw.h"

#define EVERY_METHOD ~0u

#define SETTING(name, field, member, metavar, text, min, max, help)                                \
    {                                                                                              \
        {name, SB_OPTION_INT, metavar, text, min, max, false, EVERY_METHOD, help}, field,          \
            offsetof(sb_plan, member)                                                              \
    }

/* 2^22 megabytes are 4 TB, which is more than any machine has. */
static const struct setting settings[] = {
    SETTING("draws", FIELD_UINT64, n_draws, "R", "1", 1, 9007199254740992.0,
            "number of independent draws per input and temperature"),
    SETTING("threads", FIELD_INT32, threads, "N", "1", 1, 1024, "number of threads"),
    SETTING("batch", FIELD_INT32, batch, "N", "16", 1, 4096,
            "number of draws computed together in a thread"),
    SETTING("cache", FIELD_MEGABYTES, cache_size, "MB", "0", 0, 4194304,
            "keep computed rows for further draws and temperatures of an input, in at most MB "
            "megabytes"),
};

static const struct settings table = {settings, sizeof settings / sizeof *settings};

const sb_option *sb_plan_option(size_t i)
{
    return settings_option(&table, i);
}

void sb_plan_default(sb_plan *plan)
{
    *plan = (sb_plan){0};
    settings_default(&table, plan);
}

sb_status sb_plan_set(sb_plan *plan, const char *name, const char *value, sb_error *err)
{
    if (plan == NULL || name == NULL || value == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_plan_set: plan, name or value is NULL");
    return settings_set(&table, plan, name, value, err);
}

sb_status sb_plan_get(const sb_plan *plan, const char *name, char *text, size_t size, sb_error *err)
{
    if (plan == NULL || name == NULL || text == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_plan_get: plan, name or text is NULL");
    return settings_get(&table, plan, name, text, size, err);
}

sb_status sb_plan_check(const sb_plan *plan, sb_error *err)
{
    if (plan == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_plan_check: plan is NULL");
    for (size_t i = 0; i < table.n; i++) {
        const sb_status status = setting_check(&settings[i], plan, err);
        if (status != SB_OK)
            return status;
    }
    const size_t n_temperatures = plan->temperatures != NULL ? plan->n_temperatures : 1;
    if (n_temperatures < 1)
        return status_fail(err, SB_ERR_ARGUMENT, "the list of temperatures is empty");
    for (size_t i = 0; plan->temperatures != NULL && i < n_temperatures; i++) {
        const sb_status status = config_check_temperature(plan->temperatures[i], err);
        if (status != SB_OK)
            return status;
    }
    if (plan->n_draws > UINT64_MAX / n_temperatures ||
        plan->n_draws - 1 > UINT64_MAX - plan->first_draw)
        return status_fail(
            err, SB_ERR_ARGUMENT,
            "draws is %llu, from number %llu on; expected numbers of draws below 2^64",
            (unsigned long long)plan->n_draws, (unsigned long long)plan->first_draw);
    return SB_OK;
}
