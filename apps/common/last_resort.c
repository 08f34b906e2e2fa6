/* sbeam's own code reports a failed allocation as an error. Some libraries that it loads do not.
 * Their initialisers, which run before main, throw exceptions that cannot be caught (std::terminate
 * then calls abort), and some of their functions use a null pointer. The process then gets SIGABRT
 * or SIGSEGV. So there are handlers for these signals. If the last error of the thread (errno) is a
 * failed allocation, they say so and end the command, before it can write anything wrong. Otherwise
 * the signal has its default action.
 *
 * This is for the command only. The library installs no handlers, because signals belong to the
 * host. */
#define _XOPEN_SOURCE 700 /* for sigaltstack */
#include "common/last_resort.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "common/cli.h"

/* SA_RESETHAND has restored the default action. If this returns, abort ends the process, or the
 * same instruction fails again. */
static void on_crash(int signal_number)
{
    static const char message[] = "sbeam: not enough memory\n";
    (void)signal_number;
    if (errno != ENOMEM)
        return;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
        _exit(EXIT_FAILED);
    _exit(EXIT_FAILED);
}

static void install(int signal_number)
{
    struct sigaction now,
        ours = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    if (sigaction(signal_number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
        now.sa_handler == SIG_DFL) /* sanitizers have handlers of their own */
        sigaction(signal_number, &ours, NULL);
}

void last_resort_install(void)
{
    /* A stack of its own, because the initialiser of libgfortran calls itself until its stack is
     * full if no allocation succeeds. */
    static char memory[1 << 16];
    const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    stack_t now;
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) != 0)
        sigaltstack(&stack, NULL);
    install(SIGABRT);
    install(SIGSEGV);
}

#if defined(__ELF__) && defined(__GNUC__)
/* The functions of this section run before the initialisers of shared libraries. */
__attribute__((section(".preinit_array"),
               used)) static void (*const first)(void) = last_resort_install;
#endif
