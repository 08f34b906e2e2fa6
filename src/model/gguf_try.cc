/* Calls llama.cpp, which is C++ behind a C header: turns its exceptions and aborts into errors, and
 * keeps the first error that it logs.
 *
 * llama.cpp throws for a text that its vocabulary has no bytes for, and aborts for some damaged
 * files. Its log and abort callbacks belong to the whole process. So ours are installed once and
 * for ever, and pass on to the host's callbacks everything that does not come from our calls. */
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "model/gguf.h"

namespace
{

thread_local char *current; /* the first error of this thread's running call, or null */
ggml_log_callback host_log;
void *host_log_user;
ggml_abort_callback_t host_abort;

/* Keeps the first message, which is the cause; later ones say what else failed because of it. */
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
        const char *const name = std::strrchr(message, '/'); /* skips the source file's folder */
        keep(name != nullptr ? name + 1 : message);
        throw std::runtime_error(current);
    }
    if (host_abort != nullptr)
        host_abort(message);
    else
        std::fprintf(stderr, "%s\n", message); /* the process ends, and this says why */
}

bool listen()
{
    llama_library.log_get(&host_log, &host_log_user);
    llama_library.log_set(on_log, nullptr);
    host_abort = llama_library.set_abort_callback(on_abort);
    return true;
}

} // namespace

extern "C" bool gguf_try(void (*work)(void *argument), void *argument, char words[GGUF_WORDS_SIZE])
{
    bool is_whole = true;
    words[0] = '\0';
    try {
        static const bool is_listening = listen(); /* once, even with many threads */
        (void)is_listening;
        current = words;
        work(argument);
    } catch (const std::exception &problem) {
        is_whole = false;
        keep(problem.what());
    } catch (...) {
        is_whole = false;
        keep("an exception without a message");
    }
    current = nullptr;
    return is_whole;
}
