/* Settings by name: a table describes the scalar fields of a public struct.
 *
 * Defaults, values from text and as text, and the checks of ranges follow from the table, so a new
 * setting is one entry. `object` below is the struct that the table describes. */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "sbeam/error.h"
#include "sbeam/option.h"

/* How a field is stored. */
enum field {
    FIELD_INT32,
    FIELD_UINT64,
    FIELD_DOUBLE,
    FIELD_BOOL,
    FIELD_ENUM,
    FIELD_MEGABYTES /* a size_t in bytes; the setting is in whole megabytes of 2^20 bytes */
};

struct setting {
    sb_option option;
    enum field field;
    size_t offset; /* of the field in the struct */
};

struct settings {
    const struct setting *list; /* (n) */
    size_t n;
};

/* Returns option i of the table, or NULL if i is past its end. */
const sb_option *settings_option(const struct settings *settings, size_t i);

/* Returns the setting of that name, or NULL if there is none. */
const struct setting *settings_find(const struct settings *settings, const char *name);

/* Sets every field of the table that has a default. */
void settings_default(const struct settings *settings, void *object);

/* Sets a field from text. Returns SB_ERR_ARGUMENT if there is no such setting or if the value is
 * out of range; the object is then unchanged. */
sb_status settings_set(const struct settings *settings, void *object, const char *name,
                       const char *value, sb_error *err);

/* Writes the value of a field as text that settings_set accepts; a text of more than `size` bytes
 * is cut. Megabytes are rounded up to a whole number. */
sb_status settings_get(const struct settings *settings, const void *object, const char *name,
                       char *text, size_t size, sb_error *err);

/* Checks the range of one field. */
sb_status setting_check(const struct setting *setting, const void *object, sb_error *err);

/* Checks a number that is not in a struct against the range of a setting. */
sb_status settings_check_number(const struct settings *settings, const char *name, double number,
                                sb_error *err);

/* Returns whether a field has the same value in both objects. */
bool setting_is_equal(const struct setting *setting, const void *a, const void *b);

#endif
