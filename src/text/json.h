/* JSON, read with jansson: documents that know the line of each of their objects and arrays, and
 * single lines. Only this header includes jansson.h. Those who include it walk through the values
 * with jansson's own functions (json_object_get, json_is_string, ...). */
#ifndef TEXT_JSON_H
#define TEXT_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "sbeam/error.h"
#include "text/lines.h"

typedef struct json_doc {
    json_t *root; /* an object */
    char *name;   /* the path, for messages */
    char *text;   /* the document itself */
    size_t size;
} json_doc;

/* Reads the rest of the reader as one JSON object, at most 1 GiB of text. Duplicate keys are an
 * error, and so is nesting of 2,048 levels (jansson's limit). On success the caller closes *doc. */
sb_status json_doc_read(json_doc *doc, lines_reader *reader, sb_error *err);
/* Does the same for a text in memory, which is copied. `name` stands for the path in messages. */
sb_status json_doc_parse(json_doc *doc, const char *name, const char *text, size_t size,
                         sb_error *err);
/* Frees what is in a document; a zeroed one is fine. */
void json_doc_close(json_doc *doc);

/* Returns the line on which an object or array of the document opens. jansson keeps no positions,
 * so this walks through the document; it is meant for error messages. */
size_t json_doc_line(const json_doc *doc, const json_t *container);

/* Fails with SB_ERR_FORMAT if the root has an entry that is neither in `known` (a list that ends
 * with NULL) nor called "comment". */
sb_status json_doc_check_keys(const json_doc *doc, const char *const *known, sb_error *err);

/* Parses one line of a file of JSON lines. Its strings may hold zero bytes; duplicate keys are an
 * error. A line that is not JSON is SB_ERR_INPUT; `expected` is added to the message. On success
 * *root is the caller's, to be released with json_decref. */
sb_status json_line_parse(json_t **root, const char *line, size_t size, const char *expected,
                          sb_error *err);

#endif
