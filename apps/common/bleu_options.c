/* See bleu_options.h. */
#include "common/bleu_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"

enum { BLEU_TOKENIZE, BLEU_SMOOTH, BLEU_VALUE };

static int take_tokenizer(const char *command, const char *value, sb_bleu_config *config)
{
    const char *name;
    for (int i = 0; (name = sb_tokenizer_name((sb_tokenizer)i)) != NULL; i++) {
        if (strcmp(name, value) == 0) {
            config->tokenizer = (sb_tokenizer)i;
            return EXIT_FINE;
        }
    }
    return cli_usage(command, "--tokenize is 13a, intl, char or none, not '%s'", value);
}

static int take_smoothing(const char *command, const char *value, sb_bleu_config *config)
{
    const char *name;
    for (int i = 0; (name = sb_smoothing_name((sb_smoothing)i)) != NULL; i++) {
        if (strcmp(name, value) == 0) {
            config->smoothing = (sb_smoothing)i;
            return EXIT_FINE;
        }
    }
    return cli_usage(command, "--smooth is none, floor, add-k or exp, not '%s'", value);
}

static int take_value(const char *command, const char *value, sb_bleu_config *config)
{
    char *end;
    const double x = strtod(value, &end);
    if (strspn(value, "0123456789.eE+-") != strlen(value) || end == value || *end != '\0' ||
        !isfinite(x) || x < 0)
        return cli_usage(command, "--smooth-value is a number from 0 on, not '%s'", value);
    config->smooth_value = x;
    return EXIT_FINE;
}

int bleu_options_take(const char *command, int i, const char *value, sb_bleu_config *config)
{
    switch (i) {
    case BLEU_TOKENIZE: return take_tokenizer(command, value, config);
    case BLEU_SMOOTH: return take_smoothing(command, value, config);
    case BLEU_VALUE: return take_value(command, value, config);
    default: return EXIT_FINE;
    }
}
