/* Runs a command of sbeam inside a fuzzer, with bytes as its standard input. */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include <stddef.h>
#include <stdint.h>

/* What a command wrote. It is valid until the next run. */
typedef struct run_result {
    int code;
    const char *out; /* standard output, terminated */
    size_t out_size;
    const char *messages; /* standard error, terminated */
} run_result;

/* Ends the fuzzer, with the input as a finding, unless the condition holds. */
void run_require(int condition);

/* Runs a command with words[0 .. n_words), the first of which is its name. Requires what every
 * command promises: the exit code is 0, 1 or 2; a failure has a message in printable UTF-8; wrong
 * usage writes nothing to standard output. */
run_result run_command(int (*command)(int argc, char **argv), const char *const *words,
                       size_t n_words, const uint8_t *input, size_t input_size);

/* Returns the path of a file that holds these bytes until the next call with the same number, which
 * is 0 or 1. */
const char *run_file(int number, const uint8_t *data, size_t size);

#endif
