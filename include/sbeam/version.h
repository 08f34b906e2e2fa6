/* The version of the header, and of the library that is running. */
#ifndef SBEAM_VERSION_H
#define SBEAM_VERSION_H

#include <stddef.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SB_VERSION_MAJOR 0
#define SB_VERSION_MINOR 1
#define SB_VERSION_PATCH 0

/* Returns "MAJOR.MINOR.PATCH" of the library at run time. */
SB_API const char *sb_version(void);

/* Returns the name of the kernels in use: "avx512", "avx2", "neon" or "plain". SBEAM_CPU in the
 * environment forces one of them. All give the same bits. */
SB_API const char *sb_cpu(void);

/* Returns SB_ERR_ARGUMENT if SBEAM_CPU in the environment names kernels that this processor cannot
 * run. Models and decoders then cannot be opened. */
SB_API sb_status sb_cpu_check(sb_error *err);

/* Returns the name of part i of this build, such as "llama.cpp", or NULL if i is past the last
 * part. Writes "yes" or "no" to *value; for the part "kernels", the answer of sb_cpu. For
 * "llama.cpp", instead of "yes", it writes the version that GGUF models need and "(found)" or "(not
 * found)".
 * *value is unchanged if there is no part i. Both strings are static. */
SB_API const char *sb_build_info(size_t i, const char **value);

#ifdef __cplusplus
}
#endif
#endif
