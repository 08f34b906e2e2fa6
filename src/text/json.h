/* Reads JSON (RFC 8259), strictly: documents, which are one object, and single lines.
 *
 * Texts are UTF-8. These are errors: a key that appears twice in an object, a zero byte in a key,
 * half of a surrogate pair, NaN and Infinity, a whole number outside -2^63 .. 2^64 - 1, a real
 * number too large for a double, a text of more than 1 GiB, and nesting of 2,048 levels or more.
 *
 * A value takes 16 bytes, and needs at least two bytes of text. So the values of a text take at
 * most 10 times its size, and parsing takes at most 24 times more for a while. (For a list of
 * digits, the worst case, 17 times in all were measured.) Finding one of n keys takes at most about
 * log n comparisons, and parsing them at most about n log n, for any keys. */
#ifndef TEXT_JSON_H
#define TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbeam/error.h"
#include "text/lines.h"

typedef struct json_value json_value;

/* Return whether the value has this type. For NULL they return false. A number is an integer if it
 * is written without a point and an exponent, and at most 2^63 - 1. */
bool json_is_object(const json_value *value);
bool json_is_array(const json_value *value);
bool json_is_string(const json_value *value);
bool json_is_integer(const json_value *value);
bool json_is_number(const json_value *value);
bool json_is_boolean(const json_value *value);
bool json_is_true(const json_value *value);
bool json_is_null(const json_value *value);

/* Returns the bytes of a string, terminated, or NULL if the value is not a string. */
const char *json_text(const json_value *value);
/* Returns the number of these bytes, or 0. */
size_t json_text_size(const json_value *value);
/* Returns an integer, or 0 if the value is not an integer. */
int64_t json_integer(const json_value *value);
/* Reads a whole number from 0 to 2^64 - 1, such as a seed. Returns false, and writes nothing, if
 * the value is not one. */
bool json_get_whole(const json_value *value, uint64_t *n);
/* Returns any number as a double, or 0 if the value is not a number. */
double json_number(const json_value *value);

/* Returns the number of values in an array, or 0 if the value is not an array. */
size_t json_n_items(const json_value *array);
/* Returns value i of an array, or NULL if there is none. */
const json_value *json_item(const json_value *array, size_t i);

/* Returns the value with this key, or NULL if there is none or if the value is not an object. */
const json_value *json_get(const json_value *object, const char *key);
/* Returns the number of members of an object, or 0 if the value is not an object. */
size_t json_n_members(const json_value *object);
/* Return the key, without zero bytes, and the value of member i, in the order of the text. */
const char *json_key(const json_value *object, size_t i);
const json_value *json_member(const json_value *object, size_t i);

/* Returns the line, from 1, on which the value begins. */
size_t json_line(const json_value *value);

typedef struct json_doc {
    json_value *root; /* an object */
    char *name;       /* the path, for messages */
} json_doc;

/* Reads the rest of the reader as one JSON object. Its strings have no zero bytes. On success the
 * caller closes *doc. */
sb_status json_doc_read(json_doc *doc, lines_reader *reader, sb_error *err);
/* Does the same for a text in memory, which is copied. `name` stands for the path in messages. */
sb_status json_doc_parse(json_doc *doc, const char *name, const char *text, size_t size,
                         sb_error *err);
/* Frees what is in a document; a zeroed one is fine. */
void json_doc_close(json_doc *doc);

/* Fails with SB_ERR_FORMAT if the root has an entry that is neither in `known` (a list that ends
 * with NULL) nor called "comment". */
sb_status json_doc_check_keys(const json_doc *doc, const char *const *known, sb_error *err);

/* Parses one line of a file of JSON lines, an object or an array. Its strings may hold zero bytes.
 * A line that is not JSON is SB_ERR_INPUT; `expected` is added to the message. On success *root is
 * the caller's, to be released with json_close. */
sb_status json_line_parse(json_value **root, const char *line, size_t size, const char *expected,
                          sb_error *err);
/* Frees a root and all of its values. Accepts NULL. */
void json_close(json_value *root);

#endif
