/* A check of the option table that is used outside of config.c. */
#ifndef DECODE_CONFIG_H
#define DECODE_CONFIG_H

#include "sbeam/config.h"

/* Checks a temperature against the bounds of the option table. */
sb_status config_check_temperature(double temperature, sb_error *err);

#endif
