/* Status codes and error messages.
 *
 * Everything that can fail returns sb_status and writes its results only on success. Functions that
 * take an sb_error also say in words what was wrong, where, and what was expected; the pointer may
 * be NULL. Nothing in the library prints, exits or keeps an error in a global. */
#ifndef SBEAM_ERROR_H
#define SBEAM_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SB_API __attribute__((visibility("default")))
#else
#define SB_API
#endif

typedef enum sb_status {
    SB_OK = 0,
    SB_ERR_ARGUMENT = 1, /* an argument or option that is out of range or refused */
    SB_ERR_MEMORY = 2,   /* an allocation failed */
    SB_ERR_IO = 3,       /* a file could not be opened or read */
    SB_ERR_FORMAT = 4,   /* a file is not what its format demands */
    SB_ERR_INPUT = 5,    /* an input (prefix, source) that the model cannot take */
    SB_ERR_MODEL = 6,    /* a model failed, or gave NaN, +inf or a row without mass */
    SB_ERR_LIMIT = 7,    /* the work is larger than a documented limit */
    SB_ERR_STATE = 8,    /* a call out of order */
    SB_ERR_STOPPED = 9   /* a source, a sink or an interrupt of the caller's ended the work */
} sb_status;

typedef struct sb_error {
    sb_status status;
    char message[512]; /* one sentence, no newline, always terminated */
} sb_error;

/* Fills in an error, for models, sources and sinks of your own; err may be NULL. Returns `status`.
 * Control characters and bytes that are not UTF-8 become '?'. */
SB_API sb_status sb_error_set(sb_error *err, sb_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* A short lower-case name, such as "format". Never NULL. */
SB_API const char *sb_status_name(sb_status status);

#ifdef __cplusplus
}
#endif
#endif
