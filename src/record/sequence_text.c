/* The text of a sequence. The search keeps the tokens of a stop string, because they are part of
 * the sequence that was drawn; only its text is cut. */
#include <string.h>

#include "base/status.h"
#include "sbeam/record.h"

sb_status sb_sequence_text(const sb_model *model, const sb_config *config,
                           const sb_sequence *sequence, char **text, sb_error *err)
{
    if (model == NULL || config == NULL || sequence == NULL || text == NULL)
        return status_fail(err, SB_ERR_ARGUMENT,
                           "sb_sequence_text: model, config, sequence or text is NULL");
    const sb_status status =
        sb_model_decode(model, sequence->tokens, sequence->n_tokens, text, err);
    if (status != SB_OK || sequence->end != SB_END_STOP)
        return status;
    char *first = NULL; /* stop strings may overlap: find all before cutting */
    for (size_t i = 0; i < config->n_stop; i++) {
        char *const stop = strstr(*text, config->stop[i]);
        if (stop != NULL && (first == NULL || stop < first))
            first = stop;
    }
    if (first != NULL)
        *first = '\0';
    return SB_OK;
}
