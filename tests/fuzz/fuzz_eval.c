/* Fuzzes `sbeam eval`. The first byte chooses the options. The bytes up to the first zero byte are
 * a file of references, the bytes up to the second zero byte are another, and the rest are the
 * draws or the hypotheses on standard input. */
#include <stdbool.h>
#include <string.h>

#include "cli/commands.h"
#include "run_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the part up to the next zero byte, and moves *data past it. */
static const char *take_file(int number, const uint8_t **data, const uint8_t *end)
{
    const uint8_t *const zero = memchr(*data, '\0', (size_t)(end - *data));
    const uint8_t *const stop = zero != NULL ? zero : end;
    const char *const path = run_file(number, *data, (size_t)(stop - *data));
    *data = zero != NULL ? zero + 1 : end;
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const uint8_t *const end = data + size;
    const int flags = *data++;
    static const char *const tokenizers[] = {"13a", "none", "char", "intl"};
    const char *words[24] = {"eval", "--tokenize", tokenizers[flags & 3]};
    size_t n = 3;
    const bool is_text = (flags & 4) != 0;
    for (int i = 0; i < 2; i++) {
        const char *const path = take_file(i, &data, end);
        if (is_text || (flags & (8 << i)) != 0)
            words[n++] = "--ref", words[n++] = path;
    }
    if (is_text)
        words[n++] = "--hyp", words[n++] = "-";
    if (is_text && (flags & 32) != 0)
        words[n++] = "--sentence";
    words[n++] = "-f";
    words[n++] = flags & 64 ? "text" : "jsonl";
    const run_result result = run_command(cmd_eval, words, n, data, (size_t)(end - data));
    run_require(result.code != 2); /* a wrong file is not a usage error */
    return 0;
}
