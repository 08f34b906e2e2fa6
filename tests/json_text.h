/* Writes JSON values as text, whole or with one part changed. */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include <stdio.h>

#include "text/json.h"

/* Writes a value in one way only: no blanks, integers in decimal, reals as "r" and the bits of the
 * double in hexadecimal, strings by sb_json_quote. */
void json_text_write_canonical(FILE *to, const json_value *value);

/* Writes a value as JSON, with one part changed. `path` has the keys and indexes that lead to the
 * part, separated by '/'. The JSON `part` replaces it, or is added if there is none; NULL removes
 * it. Fails the test if the path leads nowhere. */
void json_text_write_changed(FILE *to, const json_value *value, const char *path, const char *part);

#endif
