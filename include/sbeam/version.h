/* The version of the header, and of the library that is running. */
#ifndef SBEAM_VERSION_H
#define SBEAM_VERSION_H

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SB_VERSION_MAJOR 0
#define SB_VERSION_MINOR 1
#define SB_VERSION_PATCH 0

/* "MAJOR.MINOR.PATCH" of the library at run time. */
SB_API const char *sb_version(void);

/* The kernels in use: "avx2" or "plain". The environment variable SBEAM_CPU=plain forces the
 * latter; both give the same bits, but for neural models. */
SB_API const char *sb_cpu(void);

#ifdef __cplusplus
}
#endif
#endif
