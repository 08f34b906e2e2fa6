/* Fuzzes the reader of draws. Whatever the bytes, a record is either whole or empty with a message,
 * its numbers are finite or marked as missing, and nothing leaks. The same holds for the functions
 * that take a record. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/backend.h"
#include "sbeam/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char tree[] = "{\"format\":\"sbeam-tree\",\"tree\":{\"a\":[1,null]}}";
static sb_model *model; /* of the tree; opened once */

static void require(int condition)
{
    if (!condition)
        abort();
}

static void check_record(const sb_record *record, size_t size)
{
    require(record->document != NULL);
    require(record->input == NULL || record->input[record->input_size] == '\0');
    require(record->k >= 1 && record->n_sequences <= (size_t)record->k);
    require(isfinite(record->temperature) && record->temperature > 0);
    require(!isinf(record->strength) && record->kappa != INFINITY);
    for (size_t i = 0; i < record->n_sequences; i++) {
        const sb_record_sequence *const sequence = &record->sequences[i];
        require(isfinite(sequence->log_p) && !isinf(sequence->g));
        require(sequence->text == NULL || sequence->text[sequence->text_size] == '\0');
    }
    require(record->settings != NULL && strlen(record->settings) <= 4 * size);
}

/* Requires that a record can be added to a set once, but not twice. */
static void check_set(const sb_record *record)
{
    sb_record_set *set;
    sb_error err;
    require(sb_record_set_open(&set, &err) == SB_OK);
    require(sb_record_set_add(set, record, 1, &err) == SB_OK);
    require(sb_record_set_add(set, record, 2, &err) == SB_ERR_INPUT);
    require(sb_record_set_add_input(set, record, 1, &err) == SB_OK);
    require(sb_record_set_add_input(set, record, 2, &err) == SB_OK);
    sb_record_set_close(set);
}

/* Requires that the settings of a record are valid for a draw, or are refused with a message. */
static void check_config(sb_record *record)
{
    sb_config config;
    sb_error err = {.status = SB_OK};
    const sb_status status = sb_record_get_config(record, model, &config, &err);
    require(status == SB_OK || err.message[0] != '\0');
    require(status != SB_OK || sb_config_check(&config, &err) == SB_OK);
    require(sb_record_set_model(record, model, &err) == SB_OK || err.message[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sb_record record;
    sb_error err = {.status = SB_OK};
    const sb_status status = sb_record_read(&record, (const char *)data, size, &err);
    if (status == SB_OK) {
        if (model == NULL)
            require(model_open_memory(&model, "tree", tree, sizeof tree - 1, &err) == SB_OK);
        check_record(&record, size);
        check_set(&record);
        check_config(&record);
    } else {
        require(err.status == status && err.message[0] != '\0');
        require(memchr(err.message, '\0', sizeof err.message) != NULL);
        require(record.document == NULL && record.sequences == NULL);
    }
    sb_record_close(&record);
    return 0;
}
