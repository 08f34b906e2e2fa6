/* What every command needs: messages, exit codes, memory, the model and the seed. */
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

/* Each prints "sbeam COMMAND: message" on stderr and returns the exit code. `command` may be NULL.
 */
int cli_failure(const char *command, const char *format, ...) CLI_FORMAT(2); /* EXIT_FAILED */
int cli_usage(const char *command, const char *format, ...) CLI_FORMAT(2); /* EXIT_USAGE, a hint */

/* The same for a message of the library's: a refused argument is wrong usage, the rest failures. */
int cli_error(const char *command, const sb_error *err);

/* realloc that ends the program with a message when there is no memory. */
void *cli_realloc(void *memory, size_t n, size_t size);
/* A copy of a text in memory of that kind, the caller's to free. */
char *cli_copy_text(const char *text);

/* Opens the model at `path`, or where that is NULL the one of model_path_find, with a marker of
 * subword pieces or NULL. Returns EXIT_FINE and *model, the caller's to close, or the exit code
 * after a message.
 */
int cli_open_model(const char *command, const char *path, const char *marker, sb_model **model);

/* A seed below 2^53, so that every reader of JSON keeps it exactly. Returns the exit code. */
int cli_random_seed(const char *command, uint64_t *seed);

/* A whole number in min..max, nothing else. Returns the exit code, after a message that names the
 * option. */
int cli_parse_whole(const char *command, const char *option, const char *value, uint64_t min,
                    uint64_t max, uint64_t *n);

#endif
