/* Reads the options of BLEU. */
#include "common/bleu_options.h"

#include <string.h>

#include "common/cli.h"
#include "sbeam/format.h"

enum { BLEU_TOKENIZE, BLEU_SMOOTH, BLEU_VALUE };

int bleu_options_take(const char *command, int i, const char *value, sb_bleu_config *config)
{
    int place;
    switch (i) {
    case BLEU_TOKENIZE:
        place = options_find_word(BLEU_TOKENIZERS, value); /* in the order of the enum */
        if (place < 0)
            return cli_usage(command, "--tokenize is 13a, intl, char or none, not '%s'", value);
        config->tokenizer = (sb_tokenizer)place;
        break;
    case BLEU_SMOOTH:
        place = options_find_word(BLEU_SMOOTHINGS, value);
        if (place < 0)
            return cli_usage(command, "--smooth is none, floor, add-k or exp, not '%s'", value);
        config->smoothing = (sb_smoothing)place;
        break;
    case BLEU_VALUE:
        if (!sb_number_parse(value, strlen(value), &config->smooth_value) ||
            config->smooth_value < 0)
            return cli_usage(command, "--smooth-value is a number of at least 0, not '%s'", value);
        break;
    default: break;
    }
    return EXIT_FINE;
}
