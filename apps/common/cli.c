/* Messages and small services of the commands. Messages go to stderr, one line each; stdout holds
 * only results. */
#include "common/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/model_guard.h"
#include "common/model_path.h"
#include "common/utf.h"

static void say(const char *command, const char *format, va_list args)
{
    char message[sizeof(((sb_error *)0)->message)];
    sb_error clean; /* sb_error_set replaces control characters, which may come from a file */
    vsnprintf(message, sizeof message, format, args);
    sb_error_set(&clean, SB_OK, "%s", message);
    if (command != NULL)
        fprintf(stderr, "sbeam %s: %s\n", command, clean.message);
    else
        fprintf(stderr, "sbeam: %s\n", clean.message);
}

int cli_failure(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(command, format, args);
    va_end(args);
    return EXIT_FAILED;
}

int cli_usage(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(command, format, args);
    va_end(args);
    if (command != NULL)
        fprintf(stderr, "try 'sbeam %s --help'\n", command);
    else
        fprintf(stderr, "try 'sbeam --help'\n");
    return EXIT_USAGE;
}

int cli_error(const char *command, const sb_error *err)
{
    if (err->status == SB_ERR_ARGUMENT)
        return cli_usage(command, "%s", err->message);
    return cli_failure(command, "%s", err->message);
}

void *cli_realloc(void *memory, size_t n, size_t size)
{
    void *const bigger = n > (SIZE_MAX - 1) / size ? NULL : realloc(memory, n * size + 1);
    if (bigger == NULL) {
        fprintf(stderr, "sbeam: out of memory (%zu items of %zu bytes)\n", n, size);
        exit(EXIT_FAILED);
    }
    return bigger;
}

void cli_reserve(void *array_pointer, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return;
    size_t wanted = *capacity < 8 ? 16 : 2 * *capacity;
    if (wanted < need)
        wanted = need;
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    array = cli_realloc(array, wanted, size);
    memcpy(array_pointer, &array, sizeof array);
    *capacity = wanted;
}

char *cli_copy_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    return memcpy(cli_realloc(NULL, size, 1), text, size);
}

int cli_open_model(const char *command, const char *path, const char *marker, sb_model **model)
{
    char *const found = model_path_find(command, path);
    if (found == NULL)
        return EXIT_USAGE;
    sb_error err;
    model_guard_start(command, found);
    const sb_status status = sb_model_open(model, found, &err);
    free(found);
    const char *const wish = getenv("SBEAM_MODEL"); /* easily forgotten, so messages name it */
    const bool is_wish = path == NULL && wish != NULL && *wish != '\0';
    if (status != SB_OK)
        return cli_failure(command, "%s%s", err.message, is_wish ? " (from SBEAM_MODEL)" : "");
    if (sb_model_set_marker(*model, marker, &err) != SB_OK) {
        sb_model_close(*model);
        *model = NULL;
        return cli_failure(command, "%s", err.message);
    }
    return EXIT_FINE;
}

int cli_random_seed(const char *command, uint64_t *seed)
{
    uint64_t bits;
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC); /* stdio would allocate a buffer */
    const ssize_t n = file >= 0 ? read(file, &bits, sizeof bits) : 0;
    if (file >= 0)
        close(file);
    if (n != (ssize_t)sizeof bits)
        return cli_failure(command, "cannot read /dev/urandom; give a seed with --seed");
    *seed = bits >> 11;
    return EXIT_FINE;
}

int cli_parse_whole(const char *command, const char *option, const char *value, uint64_t min,
                    uint64_t max, uint64_t *n)
{
    char *end = NULL;
    errno = 0;
    const unsigned long long parsed = strtoull(value, &end, 10);
    const int is_digit = *value >= '0' && *value <= '9';
    if (!is_digit || *end != '\0' || errno == ERANGE || parsed < min || parsed > max)
        return cli_usage(command,
                         "%s takes a whole number from %" PRIu64 " to %" PRIu64 ", not '%.*s'",
                         option, min, max, utf_excerpt(value), value);
    *n = parsed;
    return EXIT_FINE;
}
