/* Fuzzes the command line: the words of the input are parsed by the real tables of all commands.
 *
 * Each line of the input is a word. A byte of 0x80 or more is a whole word by itself: a command, a
 * value, or one of the options that the commands list in their help. So a change of one byte often
 * gives another option, which random letters hardly ever do.
 *
 * No work is done. The linker replaces the functions with which the commands begin their work
 * (--wrap in meson.build), so no file is opened and nothing is measured. For any words there is a
 * page of help or a message, not both. */
#include <string.h>

#include "common/cli.h"
#include "common/options.h"
#include "run_command.h"

enum { MOST_WORDS = 60 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int sbeam_main(int argc, char **argv);

/* --- the functions that would begin the work --- */

int __wrap_options_open_model(const options *parsed, sb_model **model);
sb_status __wrap_line_reader_open(void *reader, const char *path, sb_error *err);
sb_status __wrap_input_file_read(const char *path, char **text, size_t *size, sb_error *err);
int __wrap_bench_search(bool json);
int __wrap_bench_decode(const void *plan);
bool __wrap_output_finish(void);

int __wrap_options_open_model(const options *parsed, sb_model **model)
{
    (void)model;
    return cli_failure(parsed->spec->command, "a fuzzer opens no model");
}

sb_status __wrap_line_reader_open(void *reader, const char *path, sb_error *err)
{
    (void)reader;
    (void)path;
    return sb_error_set(err, SB_ERR_IO, "a fuzzer opens no file");
}

sb_status __wrap_input_file_read(const char *path, char **text, size_t *size, sb_error *err)
{
    (void)text;
    (void)size;
    return __wrap_line_reader_open(NULL, path, err);
}

int __wrap_bench_search(bool json)
{
    (void)json;
    return cli_failure("bench", "a fuzzer measures nothing");
}

int __wrap_bench_decode(const void *plan)
{
    return __wrap_bench_search(plan != NULL);
}

bool __wrap_output_finish(void) /* it would close standard output */
{
    return true;
}

/* --- the words of help --- */

enum { FIRST_CODE = 0x80, LAST_CODE = 0xfe, MOST_CODES = LAST_CODE - FIRST_CODE + 1 };

static const char *const commands[] = {"draw", "score", "estimate", "verify", "tree",
                                       "shuf", "info",  "eval",     "bench"};
static const char *const values[] = {
    "",     "-",     "--",    "0",    "1",    "-1",       "2",    "0.5",      "1e400", "nan",
    "text", "jsonl", "exact", "1..3", "beam", "\xc3\xa9", "\xff", "\x1b[31m", "help"};
static char *codes[MOST_CODES];
static size_t n_codes;

static void add_code(const char *word, size_t size)
{
    for (size_t i = 0; i < n_codes; i++)
        if (strlen(codes[i]) == size && memcmp(codes[i], word, size) == 0)
            return;
    run_require(n_codes < MOST_CODES && (codes[n_codes] = strndup(word, size)) != NULL);
    n_codes++;
}

/* Adds the options that the help of a command mentions. */
static void add_options(const char *command)
{
    const char *const words[] = {"sbeam", command, "--help"};
    const run_result help = run_command(sbeam_main, words, 3, (const uint8_t *)"", 0);
    run_require(help.code == 0);
    for (const char *at = help.out; *at != '\0';) {
        const size_t n = strcspn(at, " ,[]'()=\n");
        if (n > 1 && *at == '-')
            add_code(at, n);
        at += n + (at[n] != '\0');
    }
}

static void learn_words(void)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        add_code(commands[i], strlen(commands[i]));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        add_code(values[i], strlen(values[i]));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        add_options(commands[i]);
}

/* --- the command line --- */

/* Splits the input into words, in `text`, which has room for all of them. Returns their number. */
static size_t make_words(const uint8_t *data, size_t size, char *text, const char **words)
{
    size_t n = 0;
    bool is_open = false;
    for (size_t i = 0; i < size && n < MOST_WORDS; i++) {
        const bool is_code = data[i] >= FIRST_CODE && data[i] - FIRST_CODE < (int)n_codes;
        if (!is_open && !is_code)
            words[n] = text;
        if (is_code && is_open)
            *text++ = '\0', n++;
        if (is_code && n < MOST_WORDS)
            words[n++] = codes[data[i] - FIRST_CODE];
        else if (!is_code && data[i] == '\n')
            *text++ = '\0', n++;
        else if (!is_code)
            *text++ = (char)data[i];
        is_open = !is_code && data[i] != '\n';
    }
    *text = '\0';
    return n + is_open;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *words[MOST_WORDS + 2] = {"sbeam"};
    char text[4096 + MOST_WORDS + 1];
    if (n_codes == 0)
        learn_words();
    if (size > 4096 || memchr(data, '\0', size) != NULL)
        return 0;
    const size_t n = 1 + make_words(data, size, text, words + 1);
    const run_result result = run_command(sbeam_main, words, n, (const uint8_t *)"", 0);
    run_require(result.code == 0 || result.out_size == 0);
    return 0;
}
