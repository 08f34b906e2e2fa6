/* Fuzzes `sbeam estimate`. The first byte chooses the function and the other options. The bytes up
 * to the first zero byte are the file of values or of references, and the rest are the draws on
 * standard input. For any bytes, there is an estimate or a message that names the line. */
#include <string.h>

#include "cli/commands.h"
#include "run_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const int flags = data[0];
    const uint8_t *const end = data + size, *const file = data + 1;
    const uint8_t *const zero = memchr(file, '\0', size - 1);
    const uint8_t *const file_end = zero != NULL ? zero : end;
    const uint8_t *const draws = zero != NULL ? zero + 1 : end;
    const char *const path = run_file(0, file, (size_t)(file_end - file));
    const char *words[16] = {"estimate"};
    size_t n = 1;
    switch (flags & 3) {
    case 0: words[n++] = "--values", words[n++] = path; break;
    case 1: words[n++] = "--f", words[n++] = "bleu", words[n++] = "--ref", words[n++] = path; break;
    case 2: words[n++] = "--f", words[n++] = "entropy"; break;
    default: words[n++] = "--f", words[n++] = "length"; break;
    }
    if (flags & 4)
        words[n++] = "--summary";
    if ((flags & 12) == 12)
        words[n++] = "--truth", words[n++] = "0.25";
    if (flags & 16)
        words[n++] = "--curve", words[n++] = "2..4";
    if (flags & 32)
        words[n++] = "--sacrifice";
    words[n++] = "-f";
    words[n++] = flags & 64 ? "text" : "jsonl";
    const run_result result = run_command(cmd_estimate, words, n, draws, (size_t)(end - draws));
    run_require(result.code != 2); /* a wrong file is not a usage error */
    run_require(result.code != 1 || strchr(result.messages + 15, ':') != NULL);
    return 0;
}
