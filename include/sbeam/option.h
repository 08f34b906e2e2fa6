/* The description of a setting, from which command lines and bindings are made.
 *
 * Each struct of settings has a table of them: sb_config_option, sb_plan_option,
 * sb_bleu_option. */
#ifndef SBEAM_OPTION_H
#define SBEAM_OPTION_H

#include <stdbool.h>

typedef enum sb_option_type {
    SB_OPTION_INT,
    SB_OPTION_REAL,
    SB_OPTION_FLAG,
    SB_OPTION_CHOICE
} sb_option_type;

typedef struct sb_option {
    const char *name; /* as on the command line, without the dashes */
    sb_option_type type;
    const char *metavar;      /* "N", "X", or the choices: "stay|leave"; NULL for flags */
    const char *default_text; /* the default, as the function that sets the option accepts it; NULL
                               * if it depends on other settings, as the help then says. If it is a
                               * word ("auto", "none") but the option is a number, the word stands
                               * for the field's value 0 */
    double min, max;          /* bounds of a number, both included unless open_min */
    bool open_min;            /* true: min itself is excluded */
    unsigned methods;         /* bit 1 << sb_method is set for each method that has the option; 0
                               * if it is not one of a draw */
    const char *help;         /* one phrase */
} sb_option;

#endif
