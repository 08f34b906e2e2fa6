/* Lists the parts of the library that a build may lack, for bug reports and `sbeam --version`.
 *
 * The macros SBEAM_HAVE_... are set by meson.build. OpenBLAS and llama.cpp are not parts of
 * the build: neural models load OpenBLAS on machines without AVX2 and NEON, and GGUF models load
 * llama.cpp, if they are installed. */
#include <stddef.h>

#ifdef SBEAM_HAVE_LLAMA
#include "model/llama_library.h"
#endif
#include "nn/gemm.h"
#include "sbeam/version.h"
#include "text/unicode.h"

#ifdef SBEAM_HAVE_NN
#define HAS_NN "yes"
#else
#define HAS_NN "no"
#endif
#ifdef SBEAM_HAVE_SENTENCEPIECE
#define HAS_SENTENCEPIECE "yes"
#else
#define HAS_SENTENCEPIECE "no"
#endif

static const char *describe_llama(void)
{
#ifdef SBEAM_HAVE_LLAMA
    return llama_library_describe();
#else
    return "no";
#endif
}

static const char *describe_blas(void)
{
#ifdef SBEAM_HAVE_NN
    const gemm_way way = gemm_best_way();
    return way == GEMM_PACKED ? "not needed" : way == GEMM_BLAS ? "yes" : "no";
#else
    return "not needed";
#endif
}

const char *sb_build_info(size_t i, const char **value)
{
    const struct {
        const char *name, *value;
    } parts[] = {
        {"neural models", HAS_NN},
        {"SentencePiece", HAS_SENTENCEPIECE},
        {"llama.cpp", describe_llama()},
        {"OpenBLAS", describe_blas()},
        {"utf8proc", unicode_is_present() ? "yes" : "no"},
        {"kernels", sb_cpu()},
    };
    if (i >= sizeof parts / sizeof parts[0])
        return NULL;
    *value = parts[i].value;
    return parts[i].name;
}
