/* Parts of config.c that are used outside of it. */
#ifndef DECODE_CONFIG_H
#define DECODE_CONFIG_H

#include "sbeam/config.h"

/* Checks a temperature against the bounds of the option table. */
sb_status config_check_temperature(double temperature, sb_error *err);

/* Returns whether the settings have a rule that ends a draw early (until_mass, until_texts). */
static inline bool config_has_rule(const sb_config *config)
{
    return config->until_mass > 0 || config->until_texts > 0;
}

/* Returns whether a draw has its threshold kappa. */
static inline bool config_has_kappa(const sb_config *config)
{
    return config->kappa && !config_has_rule(config);
}

#endif
