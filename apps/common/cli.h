/* Services that every command uses: messages, exit codes, memory, opening the model, the seed. */
#ifndef COMMON_CLI_H
#define COMMON_CLI_H

#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "sbeam/model.h"

#if defined(__GNUC__)
#define CLI_FORMAT(at) __attribute__((format(printf, at, at + 1)))
#else
#define CLI_FORMAT(at)
#endif

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Both print "sbeam COMMAND: message" on stderr in one line; if `command` is NULL, "sbeam:
 * message". cli_failure returns EXIT_FAILED. cli_usage also names the help page and returns
 * EXIT_USAGE. */
int cli_failure(const char *command, const char *format, ...) CLI_FORMAT(2);
int cli_usage(const char *command, const char *format, ...) CLI_FORMAT(2);

/* Prints an error of the library. Returns EXIT_USAGE for SB_ERR_ARGUMENT, else EXIT_FAILED. */
int cli_error(const char *command, const sb_error *err);

/* Resizes `memory` to n items of `size` bytes, and at least 1 byte. Ends the program with a message
 * if there is not enough memory, so the result is never NULL; it is the caller's to free. */
void *cli_realloc(void *memory, size_t n, size_t size);
/* Makes room for `need` items in an array that grows by doubling. array_pointer is the address of
 * the pointer to the array. Ends the program as above. */
void cli_reserve(void *array_pointer, size_t *capacity, size_t need, size_t size);
/* Returns a copy of a text, allocated by cli_realloc; the caller's to free. */
char *cli_copy_text(const char *text);

/* Opens the model that model_path_find(command, path) names. `marker` is that of subword pieces, or
 * NULL. Returns EXIT_FINE and writes *model, the caller's to close; or prints a message and returns
 * another exit code. If the file is cut short later, the process ends with a message
 * (model_guard.h). */
int cli_open_model(const char *command, const char *path, const char *marker, sb_model **model);

/* Writes a random seed below 2^53, so that every reader of JSON keeps it exactly. Returns the exit
 * code. */
int cli_random_seed(const char *command, uint64_t *seed);

/* Reads `value` as a whole number from min to max, without anything before or after it. Returns
 * EXIT_FINE and writes *n, or prints a message that names the option and returns EXIT_USAGE. */
int cli_parse_whole(const char *command, const char *option, const char *value, uint64_t min,
                    uint64_t max, uint64_t *n);

#endif
