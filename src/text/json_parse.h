/* The parser behind json.h, and what a value holds. */
#ifndef TEXT_JSON_PARSE_H
#define TEXT_JSON_PARSE_H

#include "text/json.h"

enum {
    JSON_MAX_DEPTH = 2048,        /* levels of nesting, the innermost value included */
    JSON_MAX_TEXT = 1 << 30,      /* bytes of a text */
    JSON_FEW_MEMBERS = 16,        /* an object with more has a sorted list of its keys */
    JSON_MAX_LINE = (1 << 29) - 1 /* the largest number of a line that a value can hold */
};

typedef enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_INTEGER,
    JSON_REAL,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} json_type;

/* An object has `size` pairs of a key, which is a string, and a value. If there are more than
 * JSON_FEW_MEMBERS, `size` pointers to the keys follow, in the order of json_compare_keys. */
struct json_value {
    union {
        int64_t integer;
        uint64_t large; /* an integer above 2^63 - 1 */
        double real;
        const char *text; /* terminated */
        const json_value *items;
        size_t outer; /* only while it is parsed: the index of the container around this one */
    } as;
    uint32_t size; /* the number of bytes, items or members; 1 for a large integer */
    unsigned type : 3, line : 29;
};

/* Returns the sorted keys of an object with more than JSON_FEW_MEMBERS members. */
const json_value *const *json_sorted_keys(const json_value *object);
/* Orders keys by their size, then by their bytes, because that is faster than their bytes alone. */
int json_compare_keys(const char *a, size_t a_size, const char *b, size_t b_size);

typedef struct json_problem {
    size_t line;
    char text[200]; /* what was expected and what was found */
} json_problem;

/* Parses text[0 .. size), which is followed by a zero byte. Takes over the text, which was made by
 * alloc.h, and decodes its strings in place. On failure the text is freed; on success
 * json_close(*root) frees it. `allow_zero` says whether strings that are not keys may have zero
 * bytes. Fails with SB_ERR_MEMORY, with SB_ERR_LIMIT if the nesting is too deep, or with
 * SB_ERR_FORMAT. The last two fill in *problem. */
sb_status json_parse(json_value **root, char *text, size_t size, bool allow_zero,
                     json_problem *problem);

#endif
