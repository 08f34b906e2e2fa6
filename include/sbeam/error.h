/* Status codes and error messages.
 *
 * Every function that can fail returns sb_status and writes its results only on success; a failed
 * draw empties its sb_result. If it takes an sb_error, it also writes a message there: what failed,
 * where, and what was expected. The pointer may be NULL. The library never prints, exits or keeps
 * an error in a global variable. */
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
    SB_ERR_ARGUMENT = 1, /* an argument or option is out of range or refused */
    SB_ERR_MEMORY = 2,   /* an allocation failed */
    SB_ERR_IO = 3,       /* a file could not be opened or read */
    SB_ERR_FORMAT = 4,   /* the content of a file breaks the rules of its format */
    SB_ERR_INPUT = 5,    /* the model cannot take this input (a prefix or a source) */
    SB_ERR_MODEL = 6,    /* a model failed, or its row has NaN, +inf or no mass */
    SB_ERR_LIMIT = 7,    /* the work exceeds a documented limit */
    SB_ERR_STATE = 8,    /* a call came out of order */
    SB_ERR_STOPPED = 9   /* the caller's source, sink or interrupt ended the work */
} sb_status;

typedef struct sb_error {
    sb_status status;
    char message[512]; /* one sentence without a newline, always terminated */
} sb_error;

/* Fills in an error; for your own models, sources and sinks. err may be NULL. A message that is too
 * long is cut; control codes, invisible characters and bytes that are not UTF-8 are escaped, as by
 * sb_character_show. Returns `status`. */
SB_API sb_status sb_error_set(sb_error *err, sb_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Returns a short lower-case name, such as "format". Never NULL. */
SB_API const char *sb_status_name(sb_status status);

#ifdef __cplusplus
}
#endif
#endif
