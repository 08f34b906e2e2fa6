/* A signal handler may call only a few functions. So the message is made in advance, and the
 * handler only calls write() and _exit(). Output that is still buffered is lost; the exit code says
 * that the work failed. */
#include "common/model_guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "sbeam/error.h"

static char message[sizeof(((sb_error *)0)->message) + 64];
static size_t message_size;
static atomic_flag is_said = ATOMIC_FLAG_INIT;

static void end_process(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != BUS_ADRERR) { /* not a missing page: the default action */
        const struct sigaction usual = {.sa_handler = SIG_DFL};
        sigaction(signal_number, &usual, NULL);
        raise(signal_number);
        return;
    }
    while (atomic_flag_test_and_set(&is_said)) /* another thread came first, and ends the process */
        pause();
    const ssize_t written = write(STDERR_FILENO, message, message_size);
    (void)written; /* if the write fails, there is no other way to tell */
    _exit(EXIT_FAILED);
}

void model_guard_start(const char *command, const char *path)
{
    sb_error clean; /* sb_error_set replaces control characters, which a path may have */
    sb_error_set(
        &clean, SB_OK,
        "the model file '%s' was cut short, or could not be read any more, while it was in "
        "use; replace such a file by renaming another, not by writing into it",
        path);
    snprintf(message, sizeof message, "sbeam %s: %s\n", command, clean.message);
    message_size = strlen(message);
    struct sigaction guard = {.sa_flags = SA_SIGINFO, .sa_sigaction = end_process};
    sigemptyset(&guard.sa_mask);
    sigaction(SIGBUS, &guard, NULL);
}
