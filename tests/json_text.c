/* See json_text.h. */
#include "json_text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sbeam/format.h"

/* Writes a string with as few escapes as JSON allows, and U+007F as one. */
static void write_string(FILE *to, const char *text, size_t size)
{
    fputc('"', to);
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            fprintf(to, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c < 0x20 || c == 0x7f)
            fprintf(to, "\\u%04x", c);
        else
            fputc(c, to);
    }
    fputc('"', to);
}

static void write_scalar(FILE *to, const json_value *value, bool canonical)
{
    uint64_t whole;
    if (json_is_string(value)) {
        write_string(to, json_text(value), json_text_size(value));
    } else if (json_is_integer(value)) {
        fprintf(to, "%" PRId64, json_integer(value));
    } else if (json_get_whole(value, &whole)) {
        fprintf(to, "%" PRIu64, whole);
    } else if (json_is_number(value)) {
        const double x = json_number(value);
        char text[SB_NUMBER_SIZE];
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (canonical)
            fprintf(to, "r%016" PRIx64, bits);
        else
            fwrite(text, 1, sb_number_format(text, x), to);
    } else {
        fputs(json_is_null(value) ? "null" : json_is_true(value) ? "true" : "false", to);
    }
}

/* The part to change, seen from the current value. If path is NULL, nothing below changes. */
typedef struct change {
    const char *path, *part;
} change;

static void write_value(FILE *to, const json_value *value, bool canonical, change c);

/* Writes member or item i. Returns whether the change was made there. */
static bool write_entry(FILE *to, const json_value *of, size_t i, bool canonical, change c,
                        bool *is_first)
{
    const bool is_object = json_is_object(of);
    const char *const key = json_key(of, i);
    char index[32];
    snprintf(index, sizeof index, "%zu", i);
    const char *const name = is_object ? key : index;
    const size_t size = c.path != NULL ? strcspn(c.path, "/") : 0;
    const bool is_way = c.path != NULL && strlen(name) == size && strncmp(name, c.path, size) == 0;
    const bool is_part = is_way && c.path[size] == '\0';
    if (is_part && c.part == NULL)
        return true;
    if (!*is_first)
        fputc(',', to);
    *is_first = false;
    if (is_object) {
        write_string(to, key, strlen(key));
        fputc(':', to);
    }
    const change below = {is_way && !is_part ? c.path + size + 1 : NULL, c.part};
    if (is_part)
        fputs(c.part, to);
    else
        write_value(to, is_object ? json_member(of, i) : json_item(of, i), canonical, below);
    return is_way;
}

static void write_value(FILE *to, const json_value *value, bool canonical, change c)
{
    const bool is_object = json_is_object(value);
    if (!is_object && !json_is_array(value)) {
        assert_null(c.path);
        write_scalar(to, value, canonical);
        return;
    }
    const size_t n = is_object ? json_n_members(value) : json_n_items(value);
    bool is_first = true, is_made = c.path == NULL;
    fputc(is_object ? '{' : '[', to);
    for (size_t i = 0; i < n; i++)
        if (write_entry(to, value, i, canonical, c, &is_first))
            is_made = true;
    if (!is_made) { /* it is new */
        assert_true(c.part != NULL && strchr(c.path, '/') == NULL);
        fputs(is_first ? "" : ",", to);
        if (is_object)
            fprintf(to, "\"%s\":", c.path);
        fputs(c.part, to);
    }
    fputc(is_object ? '}' : ']', to);
}

void json_text_write_canonical(FILE *to, const json_value *value)
{
    write_value(to, value, true, (change){NULL, NULL});
}

void json_text_write_changed(FILE *to, const json_value *value, const char *path, const char *part)
{
    write_value(to, value, false, (change){path, part});
}
