/* Calling llama.cpp, which is C++ behind a header in C: what it throws and where it aborts becomes
 * an error here, and what it tells its log is kept.
 *
 * It throws for a text that its vocabulary has no bytes for, and aborts for some damaged files. Its
 * log and its way to abort are the process's, so ours are put in once, for good, and leave to the
 * host's whatever belongs to no call of ours. */
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "model/gguf.h"

namespace
{

thread_local char *current; /* the words of the call under way in this thread, or null */
ggml_log_callback host_log;
void *host_log_user;
ggml_abort_callback_t host_abort;

/* The first is the cause; what follows says who else failed for it. */
void keep(const char *text)
{
    if (current[0] == '\0')
        std::snprintf(current, GGUF_WORDS_SIZE, "%.*s", static_cast<int>(std::strcspn(text, "\n")),
                      text);
}

void on_log(ggml_log_level level, const char *text, void *)
{
    if (current == nullptr)
        host_log(level, text, host_log_user);
    else if (level == GGML_LOG_LEVEL_ERROR)
        keep(text);
}

void on_abort(const char *message)
{
    if (current != nullptr) {
        const char *const name = std::strrchr(message, '/'); /* of llama.cpp's source file */
        keep(name != nullptr ? name + 1 : message);
        throw std::runtime_error(current);
    }
    if (host_abort != nullptr)
        host_abort(message);
    else
        std::fprintf(stderr, "%s\n", message); /* the process ends, and this is why */
}

bool listen()
{
    llama_log_get(&host_log, &host_log_user);
    llama_log_set(on_log, nullptr);
    host_abort = ggml_set_abort_callback(on_abort);
    return true;
}

} // namespace

extern "C" bool gguf_try(void (*work)(void *argument), void *argument, char words[GGUF_WORDS_SIZE])
{
    bool is_whole = true;
    words[0] = '\0';
    try {
        static const bool is_listening = listen(); /* once, whatever the threads */
        (void)is_listening;
        current = words;
        work(argument);
    } catch (const std::exception &problem) {
        is_whole = false;
        keep(problem.what());
    } catch (...) {
        is_whole = false;
        keep("an exception without words");
    }
    current = nullptr;
    return is_whole;
}
