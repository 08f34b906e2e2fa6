/* Fuzzes the ARPA reader. The line that makes a file an ARPA file is put before the input, so that
 * no run is spent on looking for it. */
#include "fuzz_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char title[] = "\\data\\\n";
    const size_t title_size = sizeof title - 1;
    uint8_t *const file = malloc(title_size + size);
    if (file == NULL)
        return 0;
    memcpy(file, title, title_size);
    if (size > 0)
        memcpy(file + title_size, data, size);
    fuzz_model(file, title_size + size);
    free(file);
    return 0;
}
