/* Fuzzes the reader of draws. Whatever the bytes, a record is either whole or empty with a message,
 * its numbers are finite or said not to be there, and nothing leaks. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbeam/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void check_record(const sb_record *record, size_t size)
{
    require(record->document != NULL && record->input[record->input_size] == '\0');
    require(record->k >= 1 && record->n_sequences <= (size_t)record->k);
    require(isfinite(record->temperature) && record->temperature > 0);
    require(!isinf(record->strength) && record->kappa != INFINITY);
    for (size_t i = 0; i < record->n_sequences; i++) {
        const sb_record_sequence *const sequence = &record->sequences[i];
        require(isfinite(sequence->log_p) && !isinf(sequence->g));
        require(sequence->text == NULL || sequence->text[sequence->text_size] == '\0');
    }
    for (size_t i = 0; sb_config_option(i) != NULL; i++) {
        char text[16];
        sb_record_setting(record, sb_config_option(i)->name, text, sizeof text);
        require(memchr(text, '\0', sizeof text) != NULL);
    }
    size_t n = 0;
    while (sb_record_item(record, "stop", n) != NULL)
        n++;
    require(n <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sb_record record;
    sb_error err = {.status = SB_OK};
    const sb_status status = sb_record_read(&record, (const char *)data, size, &err);
    if (status == SB_OK) {
        check_record(&record, size);
    } else {
        require(err.status == status && err.message[0] != '\0');
        require(memchr(err.message, '\0', sizeof err.message) != NULL);
        require(record.document == NULL && record.sequences == NULL);
    }
    sb_record_close(&record);
    return 0;
}
