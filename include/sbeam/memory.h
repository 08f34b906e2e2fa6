/* Memory that the library allocates and the caller releases. */
#ifndef SBEAM_MEMORY_H
#define SBEAM_MEMORY_H

#include <stddef.h>

#include "sbeam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Allocates memory for the results of encode and decode of an sb_model_ops. Returns NULL on
 * failure. */
SB_API void *sb_alloc(size_t size);
/* Releases memory from sb_alloc, sb_model_encode, sb_model_decode or sb_tokenize. Accepts NULL. */
SB_API void sb_free(void *memory);

#ifdef __cplusplus
}
#endif
#endif
