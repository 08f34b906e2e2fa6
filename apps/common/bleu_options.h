/* The options of commands that compute BLEU: --tokenize, --smooth, --smooth-value. */
#ifndef COMMON_BLEU_OPTIONS_H
#define COMMON_BLEU_OPTIONS_H

#include "common/options.h"
#include "sbeam/metric.h"

#define BLEU_TOKENIZERS "13a|intl|char|none"
#define BLEU_SMOOTHINGS "none|floor|add-k|exp"

/* Three entries for a command's table of options. */
#define BLEU_OPTIONS                                                                               \
    {"tokenize", 0, BLEU_TOKENIZERS, "how BLEU splits texts into words (default: 13a)"},           \
        {"smooth", 0, BLEU_SMOOTHINGS, "how BLEU treats counts of zero (default: exp)"},           \
    {                                                                                              \
        "smooth-value", 0, "X", "value of floor (default: 0.1) or add-k (default: 1)"              \
    }

/* Sets what option `i` of these three, counted from 0, says. Returns EXIT_FINE, or EXIT_USAGE after
 * a message. */
int bleu_options_take(const char *command, int i, const char *value, sb_bleu_config *config);

#endif
