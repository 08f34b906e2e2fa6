/* Reads the words of JSON for json_parse.c: strings, numbers, true, false and null. */
#ifndef TEXT_JSON_SCAN_H
#define TEXT_JSON_SCAN_H

#include "text/json_parse.h"

typedef struct json_scanner {
    char *at;
    const char *end; /* of the text; *end is 0 */
    size_t line;
    bool allow_zero; /* whether strings that are not keys may have zero bytes */
    json_problem *problem;
} json_scanner;

/* Fails with what was expected and what was found: an excerpt of the text at `from`. */
sb_status json_scan_fail(const json_scanner *s, const char *expected, const char *from);

/* Moves on over blanks, and counts lines. */
void json_scan_blanks(json_scanner *s);
/* Reads the string whose quote is at s->at. */
sb_status json_scan_string(json_scanner *s, bool is_key, json_value *value);
/* Reads a value that is not a container. */
sb_status json_scan_scalar(json_scanner *s, json_value *value);

#endif
