/* Fuzzes the parser of JSONL inputs, both forms of it. Whatever the bytes, a record is either whole
 * or empty with a message, and nothing leaks. */
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int scored = 0; scored < 2; scored++) {
        sb_input_record record;
        sb_error err = {.status = SB_OK};
        const sb_status status =
            sb_input_record_read(&record, (const char *)data, size, scored != 0, &err);
        if (status == SB_OK) {
            require(record.input != NULL && record.input[record.input_size] == '\0');
            require(((record.output != NULL) + (record.tokens != NULL)) == scored);
        } else {
            require(err.status == status && err.message[0] != '\0');
            require(memchr(err.message, '\0', sizeof err.message) != NULL);
            require(record.input == NULL && record.output == NULL && record.tokens == NULL);
        }
        sb_input_record_close(&record);
    }
    return 0;
}
