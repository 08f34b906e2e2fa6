/* Libraries that are not the llama.cpp that sbeam was built for, for test_llama_library.c. Three
 * are made of this file: STUB_OTHER is another version, STUB_MOVED has the right versions but other
 * structs, and without either macro it is another library. */
#if defined(STUB_OTHER) || defined(STUB_MOVED)
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void llama_backend_init(void);
const char *llama_version(void);
const char *ggml_version(void);

void llama_backend_init(void)
{
}
#endif

#ifdef STUB_OTHER
const char *llama_version(void)
{
    return "9.9.9";
}

const char *ggml_version(void)
{
    return "8.8.8";
}
#endif

#ifdef STUB_MOVED
/* Longer than the structs of any llama.cpp, as those of another commit could be. */
struct params {
    char bytes[1000];
};

struct params llama_model_default_params(void);
struct params llama_context_default_params(void);
struct params llama_batch_get_one(int32_t *tokens, int32_t n_tokens);

/* Returns a part of SBEAM_LLAMA_VERSION, "LLAMA, ggml GGML". */
static const char *part(int which)
{
    static const char all[] = SBEAM_LLAMA_VERSION;
    static char parts[2][sizeof all];
    const char *const comma = strchr(all, ',');
    if (which == 0)
        snprintf(parts[0], sizeof parts[0], "%.*s", (int)(comma - all), all);
    else
        snprintf(parts[1], sizeof parts[1], "%s", comma + strlen(", ggml "));
    return parts[which];
}

const char *llama_version(void)
{
    return part(0);
}

const char *ggml_version(void)
{
    return part(1);
}

struct params llama_model_default_params(void)
{
    return (struct params){{0}};
}

struct params llama_context_default_params(void)
{
    return (struct params){{0}};
}

struct params llama_batch_get_one(int32_t *tokens, int32_t n_tokens)
{
    (void)tokens, (void)n_tokens;
    return (struct params){{0}};
}
#endif

/* A library needs a symbol. */
int stub_answer(void);
int stub_answer(void)
{
    return 42;
}
