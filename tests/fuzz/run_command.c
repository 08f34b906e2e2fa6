/* Standard input and standard error are replaced by streams in memory, which the GNU C library
 * allows. The commands write standard output through its descriptor, so the descriptor becomes that
 * of a file without a name. libFuzzer uses the original stream of standard error, so its reports
 * are not affected. */
#include "run_command.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

enum { MOST_WORDS = 64, N_FILES = 2 };

/* Readers have large buffers, and memory that was freed long ago does not help to find errors. With
 * the sanitizer's default of 256 MB of freed memory the harness of lines is three times slower. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=8";
}

void run_require(int condition)
{
    if (!condition)
        abort();
}

/* Returns the descriptor of a new file without a name. */
static int open_nameless(void)
{
    char path[] = "/tmp/sbeam-fuzz-XXXXXX";
    const int fd = mkstemp(path);
    run_require(fd >= 0);
    unlink(path);
    return fd;
}

static void write_all(int fd, const uint8_t *data, size_t size)
{
    run_require(ftruncate(fd, 0) == 0);
    for (size_t done = 0; done < size;) {
        const ssize_t n = pwrite(fd, data + done, size - done, (off_t)done);
        run_require(n > 0);
        done += (size_t)n;
    }
}

const char *run_file(int number, const uint8_t *data, size_t size)
{
    static int fds[N_FILES] = {-1, -1};
    static char paths[N_FILES][32];
    if (fds[number] < 0) {
        fds[number] = open_nameless();
        snprintf(paths[number], sizeof paths[number], "/dev/fd/%d", fds[number]);
    }
    write_all(fds[number], data, size);
    return paths[number];
}

/* Redirects standard output to a file and closes standard input, once. */
static void redirect(void)
{
    static bool is_done;
    if (is_done)
        return;
    const int fd = open_nameless(), nothing = open("/dev/null", O_RDONLY);
    run_require(dup2(fd, STDOUT_FILENO) >= 0 && dup2(nothing, STDIN_FILENO) >= 0);
    close(fd);
    close(nothing);
    is_done = true;
}

static void read_output(run_result *result)
{
    static char *text;
    free(text);
    const off_t size = lseek(STDOUT_FILENO, 0, SEEK_END);
    run_require(size >= 0);
    text = malloc((size_t)size + 1);
    run_require(text != NULL && pread(STDOUT_FILENO, text, (size_t)size, 0) == size);
    text[size] = '\0';
    result->out = text;
    result->out_size = (size_t)size;
    run_require(ftruncate(STDOUT_FILENO, 0) == 0 && lseek(STDOUT_FILENO, 0, SEEK_SET) == 0);
}

/* Requires that each line is one sentence, without characters that a terminal would obey. */
static void check_messages(const run_result *result)
{
    const char *const text = result->messages;
    const size_t size = strlen(text);
    run_require(result->code >= 0 && result->code <= 2);
    run_require(utf8_is_text(text, size));
    for (size_t i = 0; i < size; i++)
        run_require((unsigned char)text[i] >= ' ' || text[i] == '\n');
    if (result->code != 0) /* after the seed, if --verbose was given */
        run_require((strncmp(text, "sbeam", 5) == 0 || strstr(text, "\nsbeam") != NULL) &&
                    text[size - 1] == '\n');
    if (result->code == 2)
        run_require(result->out_size == 0 && strstr(text, "\ntry 'sbeam ") != NULL);
}

run_result run_command(int (*command)(int argc, char **argv), const char *const *words,
                       size_t n_words, const uint8_t *input, size_t input_size)
{
    static char *messages;
    size_t messages_size = 0;
    char *argv[MOST_WORDS + 1] = {NULL};
    FILE *const real_stdin = stdin, *const real_stderr = stderr;
    redirect();
    free(messages);
    run_require(n_words <= MOST_WORDS);
    for (size_t i = 0; i < n_words; i++) /* a command may change its words */
        run_require((argv[i] = strdup(words[i])) != NULL);
    char *kept[MOST_WORDS]; /* a command moves its arguments */
    memcpy(kept, argv, sizeof kept);

    stdin = fmemopen((void *)(uintptr_t)input, input_size, "rb");
    stderr = open_memstream(&messages, &messages_size);
    run_require(stdin != NULL && stderr != NULL);
    run_result result = {.code = command((int)n_words, argv)};
    fclose(stdin);
    fclose(stderr);
    stdin = real_stdin;
    stderr = real_stderr;

    for (size_t i = 0; i < n_words; i++)
        free(kept[i]);
    read_output(&result);
    result.messages = messages;
    check_messages(&result);
    return result;
}
