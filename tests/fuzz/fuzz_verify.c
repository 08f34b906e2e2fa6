/* Fuzzes `sbeam verify`: the bytes are the records on standard input. All of them are made again
 * with the model of Figure 1, so that hostile settings reach the search. For any bytes, the file is
 * accepted with a report or refused with a message that names the line. */
#include <string.h>

#include "cli/commands.h"
#include "run_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char model[] =
    "{\"format\":\"sbeam-tree\",\"tree\":{\"0\":[0.6,{\"0\":[0.25,null],\"1\":[0.75,null]}],"
    "\"1\":[0.4,{\"0\":[0.5,null],\"1\":[0.5,{\"0\":[0.1,null],\"1\":[0.9,null]}]}]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const path = run_file(0, (const uint8_t *)model, sizeof model - 1);
    const char *const words[] = {"verify", "-m", path, "--sample", "all", "--seed", "1"};
    const run_result result =
        run_command(cmd_verify, words, sizeof words / sizeof *words, data, size);
    run_require(result.code == 0 || result.code == 1);
    run_require(result.code != 0 || strstr(result.out, "checked   ") != NULL);
    run_require(result.code != 1 || strstr(result.messages, "standard input:") != NULL);
    return 0;
}
