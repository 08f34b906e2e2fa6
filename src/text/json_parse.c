/* Parses JSON without recursion.
 *
 * Values wait on a stack until the container around them ends. An open container is on the stack
 * itself, below its values, and knows the index of the container around it. When it ends, its
 * values move to memory of their own, side by side, and it holds a pointer to them; so the n-th
 * value of an array is found at once, and a list of a million values is copied once.
 *
 * Strings are decoded in place, because no escape is shorter than what it stands for.
 *
 * A few keys are compared with one another to find one that appears twice; many are sorted, by
 * merging. A hash would be faster for harmless keys, but only a keyed one is safe from keys that
 * were made to collide. */
#include "text/json_parse.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/decimal.h"
#include "base/status.h"
#include "base/utf8.h"

enum { FIRST_VALUES = 64, MOST_VALUES = 1 << 16, EXCERPT_SIZE = 24 };

/* Memory for values, which stay where they are. */
typedef struct block {
    struct block *next;
    json_value values[];
} block;

typedef struct tree {
    json_value root; /* the first member, so that json_close finds the rest */
    char *text;
    block *blocks;
} tree;

typedef struct parser {
    char *at;
    const char *end; /* of the text; *end is 0 */
    size_t line;
    json_value *stack;
    size_t n, capacity; /* of the stack */
    size_t inner;       /* the index of the innermost open container */
    int depth;          /* the number of open containers */
    bool allow_zero;
    tree *tree;
    json_value *free_values; /* the rest of the newest block for small lists */
    size_t n_free, block_size;
    json_problem *problem;
} parser;

static const char expected_value[] = "invalid token: expected a value";

/* Fails with what was expected and the text that was found at `from`. */
static sb_status fail_found(const parser *p, const char *expected, const char *from)
{
    char *const to = p->problem->text;
    const size_t size = sizeof p->problem->text;
    p->problem->line = p->line;
    if (from >= p->end) {
        snprintf(to, size, "%s, found the end of the text", expected);
        return SB_ERR_FORMAT;
    }
    size_t n = 0;
    const size_t left = (size_t)(p->end - from);
    while (n < left && n < EXCERPT_SIZE && (unsigned char)from[n] > 0x20)
        n++;
    while (n > 0 && n < left && ((unsigned char)from[n] & 0xc0) == 0x80) /* whole characters */
        n--;
    snprintf(to, size, "%s, found '%.*s'", expected, n > 0 ? (int)n : 1, from);
    return SB_ERR_FORMAT;
}

/* Fails with a sentence that needs no excerpt. */
static sb_status fail_with(const parser *p, const char *what)
{
    p->problem->line = p->line;
    snprintf(p->problem->text, sizeof p->problem->text, "%s", what);
    return SB_ERR_FORMAT;
}

static void skip_blanks(parser *p)
{
    for (;; p->at++) {
        if (*p->at == '\n')
            p->line++;
        else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r')
            return;
    }
}

/* Puts a value on the stack. */
static sb_status push(parser *p, json_value value)
{
    if (p->n == p->capacity &&
        alloc_reserve(&p->stack, &p->capacity, p->n < FIRST_VALUES ? FIRST_VALUES : p->n + 1,
                      sizeof *p->stack) != SB_OK)
        return SB_ERR_MEMORY;
    value.line = (p->line < JSON_MAX_LINE ? (unsigned)p->line : JSON_MAX_LINE) & JSON_MAX_LINE;
    p->stack[p->n++] = value;
    return SB_OK;
}

/* Returns memory for n values, or NULL. A large list has a block of its own, so that little is lost
 * at the end of a block. */
static json_value *take_values(parser *p, size_t n)
{
    if (n > p->n_free) {
        const bool own = n > p->block_size / 4;
        const size_t size = own ? n : p->block_size;
        block *const b = size <= (SIZE_MAX - sizeof *b) / sizeof *b->values
                             ? alloc_array(sizeof *b + size * sizeof *b->values, 1)
                             : NULL;
        if (b == NULL)
            return NULL;
        b->next = p->tree->blocks;
        p->tree->blocks = b;
        if (own)
            return b->values;
        p->free_values = b->values;
        p->n_free = size;
        p->block_size = size < MOST_VALUES ? 2 * size : size;
    }
    json_value *const values = p->free_values;
    p->free_values += n;
    p->n_free -= n;
    return values;
}

int json_compare_keys(const char *a, size_t a_size, const char *b, size_t b_size)
{
    if (a_size != b_size)
        return a_size < b_size ? -1 : 1;
    return memcmp(a, b, a_size);
}

static int compare_keys(const json_value *a, const json_value *b)
{
    return json_compare_keys(a->as.text, a->size, b->as.text, b->size);
}

/* Sorts n keys with as much scratch memory. Equal keys stay in order. */
static void sort_keys(const json_value **keys, const json_value **scratch, size_t n)
{
    const json_value **from = keys, **to = scratch;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            size_t a = begin, b = begin + width < n ? begin + width : n;
            const size_t a_end = b, b_end = b + width < n ? b + width : n;
            for (size_t i = begin; i < b_end; i++) {
                const bool is_a = b == b_end || (a < a_end && compare_keys(from[a], from[b]) <= 0);
                to[i] = is_a ? from[a++] : from[b++];
            }
        }
        const json_value **const other = from;
        from = to;
        to = other;
    }
    if (from != keys)
        memcpy(keys, from, n * sizeof *keys);
}

/* Sorts the keys of an object with many members, into `keys`. Sets *twice to the first key that
 * appeared before, or to NULL. */
static sb_status sort_members(const json_value *members, size_t n, const json_value **keys,
                              const json_value **twice)
{
    const json_value **const scratch = alloc_array(n, sizeof *scratch);
    if (scratch == NULL)
        return SB_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        keys[i] = &members[2 * i];
    sort_keys(keys, scratch, n);
    alloc_free(scratch);
    *twice = NULL;
    for (size_t i = 1; i < n; i++)
        if (compare_keys(keys[i - 1], keys[i]) == 0 && (*twice == NULL || keys[i] < *twice))
            *twice = keys[i];
    return SB_OK;
}

/* Returns the first of a few keys that appeared before, or NULL. */
static const json_value *find_twice(const json_value *members, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (compare_keys(&members[2 * j], &members[2 * i]) == 0)
                return &members[2 * i];
    return NULL;
}

const json_value *const *json_sorted_keys(const json_value *object)
{
    return (const void *)(object->as.items + 2 * (size_t)object->size);
}

/* Ends the innermost container: moves its values from the stack to memory of their own. */
static sb_status close_container(parser *p)
{
    json_value *const container = &p->stack[p->inner];
    const bool is_object = container->type == JSON_OBJECT;
    const size_t n = p->n - p->inner - 1, n_members = is_object ? n / 2 : 0;
    const bool is_sorted = n_members > JSON_FEW_MEMBERS;
    const size_t n_key_values =
        is_sorted ? (n_members * sizeof(json_value *) + sizeof *container - 1) / sizeof *container
                  : 0;
    json_value *const items = n > 0 ? take_values(p, n + n_key_values) : NULL;
    if (n > 0 && items == NULL)
        return SB_ERR_MEMORY;
    if (n > 0)
        memcpy(items, container + 1, n * sizeof *items);
    const json_value *twice = NULL;
    if (is_sorted) {
        if (sort_members(items, n_members, (void *)(items + n), &twice) != SB_OK)
            return SB_ERR_MEMORY;
    } else {
        twice = find_twice(items, n_members);
    }
    if (twice != NULL) {
        p->line = twice->line;
        snprintf(p->problem->text, sizeof p->problem->text, "duplicate object key \"%.*s\"",
                 utf8_excerpt(twice->as.text, twice->size), twice->as.text);
        p->problem->line = p->line;
        return SB_ERR_FORMAT;
    }
    p->n = p->inner + 1;
    p->inner = container->as.outer;
    p->depth--;
    container->as.items = items;
    container->size = (uint32_t)(is_object ? n_members : n);
    return SB_OK;
}

static sb_status open_container(parser *p, json_type type)
{
    const json_value container = {.as.outer = p->inner, .type = type & 7u};
    const sb_status status = push(p, container);
    p->inner = p->n - 1;
    p->depth++;
    p->at++;
    return status;
}

/* Reads four hexadecimal digits. Returns -1 if there are fewer. */
static int32_t read_hex(const char *text)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        const char c = text[i]; /* the zero byte behind the text ends this */
        if (c >= '0' && c <= '9')
            code = code * 16 + (c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            code = code * 16 + (c & 7) + 9;
        else
            return -1;
    }
    return code;
}

/* Writes a code point of \u as UTF-8. Returns the end. */
static char *put_code(char *to, int32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Decodes \uXXXX, or two of them that make a surrogate pair, at p->at. */
static sb_status read_code(parser *p, char **to, bool is_key)
{
    const char *const start = p->at;
    int32_t code = read_hex(start + 2);
    if (code < 0)
        return fail_found(p, "invalid escape: expected four hexadecimal digits after \\u", start);
    p->at += 6;
    if (code >= 0xd800 && code < 0xe000) {
        const int32_t low = p->at[0] == '\\' && p->at[1] == 'u' ? read_hex(p->at + 2) : -1;
        if (code >= 0xdc00 || low < 0xdc00 || low > 0xdfff)
            return fail_found(p, "invalid Unicode: expected both halves of a surrogate pair",
                              start);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        p->at += 6;
    }
    if (code == 0 && is_key)
        return fail_with(p, "NUL byte in object key (\\u0000)");
    if (code == 0 && !p->allow_zero)
        return fail_with(p, "NUL byte in a string (\\u0000)");
    *to = put_code(*to, code);
    return SB_OK;
}

/* Decodes the escape at p->at. */
static sb_status read_escape(parser *p, char **to, bool is_key)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char name = p->at[1];
    if (name == 'u')
        return read_code(p, to, is_key);
    const char *const found = name != '\0' ? strchr(names, name) : NULL;
    if (found == NULL)
        return fail_found(
            p, "invalid escape: expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u", p->at);
    *(*to)++ = meanings[found - names];
    p->at += 2;
    return SB_OK;
}

/* Moves on over bytes that stand for themselves, to a quote, a backslash or an error. */
static void skip_plain(parser *p)
{
    for (size_t size;; p->at += size) {
        const unsigned char c = (unsigned char)*p->at;
        size = 1;
        if (c < 0x20 || c == '"' || c == '\\')
            return;
        if (c >= 0x80 && (size = utf8_character_size(p->at, (size_t)(p->end - p->at))) == 0)
            return;
    }
}

static sb_status fail_string(const parser *p)
{
    char what[100];
    const unsigned char c = (unsigned char)*p->at;
    if (p->at == p->end)
        return fail_with(p, "premature end of the text: expected '\"' at the end of a string");
    if (c >= 0x80)
        snprintf(what, sizeof what, "unable to decode byte 0x%02x: expected UTF-8", c);
    else
        snprintf(what, sizeof what,
                 "control character 0x%02x in a string: expected the escape \\u%04x", c, c);
    return fail_with(p, what);
}

/* Reads the string whose quote is at p->at, and puts it on the stack. */
static sb_status read_string(parser *p, bool is_key)
{
    char *const start = ++p->at;
    skip_plain(p);
    char *to = p->at;
    while (*p->at != '"') {
        if (*p->at != '\\')
            return fail_string(p);
        const sb_status status = read_escape(p, &to, is_key);
        if (status != SB_OK)
            return status;
        const char *const plain = p->at;
        skip_plain(p);
        memmove(to, plain, (size_t)(p->at - plain));
        to += p->at - plain;
    }
    p->at++;
    *to = '\0';
    return push(
        p, (json_value){.as.text = start, .size = (uint32_t)(to - start), .type = JSON_STRING});
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Reads the digits of an integer. Returns false if it is outside -2^63 .. 2^64 - 1. */
static bool read_integer(const char *digits, const char *end, bool is_negative, json_value *value)
{
    const uint64_t most = is_negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;
    uint64_t n = 0;
    for (; digits < end; digits++) {
        const unsigned digit = (unsigned)(*digits - '0');
        if (n > (most - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    value->size = !is_negative && n > INT64_MAX;
    if (value->size > 0)
        value->as.large = n;
    else
        value->as.integer = is_negative ? -(int64_t)(n - (n > 0)) - (n > 0) : (int64_t)n;
    return true;
}

static sb_status read_number(parser *p)
{
    const char *const start = p->at, *const digits = start + (*start == '-');
    const char *at = *digits == '0' ? digits + 1 : skip_digits(digits);
    if (at == digits)
        return fail_found(p, expected_value, start);
    json_value value = {.type = JSON_INTEGER};
    const char *const whole_end = at;
    if (*at == '.') {
        const char *const fraction = at + 1;
        at = skip_digits(fraction);
        if (at == fraction)
            return fail_found(p, "invalid token: expected a digit after the point", start);
        value.type = JSON_REAL;
    }
    if (*at == 'e' || *at == 'E') {
        const char *const exponent = at + 1 + (at[1] == '-' || at[1] == '+');
        at = skip_digits(exponent);
        if (at == exponent)
            return fail_found(p, "invalid token: expected a digit in the exponent", start);
        value.type = JSON_REAL;
    }
    p->at += at - start;
    if (value.type == JSON_REAL) {
        if (!decimal_parse(start, (size_t)(at - start), &value.as.real))
            return fail_found(p, "real number overflow: expected at most 1.7976931348623157e308",
                              start);
    } else if (!read_integer(digits, whole_end, *start == '-', &value)) {
        return fail_found(p,
                          *start == '-' ? "too big negative integer: expected at least -2^63"
                                        : "too big integer: expected at most 2^64 - 1",
                          start);
    }
    return push(p, value);
}

/* Reads true, false or null. */
static sb_status read_word(parser *p, const char *word, json_type type)
{
    const size_t size = strlen(word);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0)
        return fail_found(p, expected_value, p->at);
    p->at += size;
    return push(p, (json_value){.type = type & 7u});
}

/* Reads a scalar, or the beginning of a container. */
static sb_status read_value(parser *p)
{
    if (p->depth == JSON_MAX_DEPTH) {
        p->problem->line = p->line;
        snprintf(p->problem->text, sizeof p->problem->text, "is nested deeper than %d levels",
                 JSON_MAX_DEPTH - 1);
        return SB_ERR_LIMIT;
    }
    switch (*p->at) {
    case '{': return open_container(p, JSON_OBJECT);
    case '[': return open_container(p, JSON_ARRAY);
    case '"': return read_string(p, false);
    case 't': return read_word(p, "true", JSON_TRUE);
    case 'f': return read_word(p, "false", JSON_FALSE);
    case 'n': return read_word(p, "null", JSON_NULL);
    default: return read_number(p);
    }
}

/* Reads the key of the next member and its colon. */
static sb_status read_key(parser *p)
{
    if (*p->at != '"')
        return fail_found(p, "expected a key in quotes", p->at);
    const sb_status status = read_string(p, true);
    if (status != SB_OK)
        return status;
    skip_blanks(p);
    if (*p->at != ':')
        return fail_found(p, "expected ':' after a key", p->at);
    p->at++;
    skip_blanks(p);
    return SB_OK;
}

/* Reads up to the next value, which it also reads, or to the end of a container. */
static sb_status read_next(parser *p)
{
    const bool is_object = p->stack[p->inner].type == JSON_OBJECT;
    const bool is_first = p->n == p->inner + 1;
    skip_blanks(p);
    if (*p->at == (is_object ? '}' : ']')) {
        p->at++;
        return close_container(p);
    }
    if (!is_first) {
        if (*p->at != ',')
            return fail_found(p, is_object ? "expected ',' or '}'" : "expected ',' or ']'", p->at);
        p->at++;
        skip_blanks(p);
    }
    const sb_status status = is_object ? read_key(p) : SB_OK;
    return status == SB_OK ? read_value(p) : status;
}

static sb_status read_all(parser *p)
{
    skip_blanks(p);
    if (*p->at != '{' && *p->at != '[')
        return fail_found(p, "expected '{' or '['", p->at);
    sb_status status = read_value(p);
    while (status == SB_OK && p->depth > 0)
        status = read_next(p);
    if (status != SB_OK)
        return status;
    skip_blanks(p);
    if (p->at < p->end)
        return fail_found(p, "end of file expected", p->at);
    return SB_OK;
}

sb_status json_parse(json_value **root, char *text, size_t size, bool allow_zero,
                     json_problem *problem)
{
    tree *const t = alloc_zeroed(1, sizeof *t);
    if (t == NULL) {
        alloc_free(text);
        return SB_ERR_MEMORY;
    }
    t->text = text;
    parser p = {.at = text,
                .end = text + size,
                .line = 1,
                .allow_zero = allow_zero,
                .tree = t,
                .block_size = FIRST_VALUES,
                .problem = problem};
    const sb_status status = read_all(&p);
    if (status == SB_OK) {
        t->root = p.stack[0];
        *root = &t->root;
    } else {
        json_close(&t->root);
    }
    alloc_free(p.stack);
    return status;
}

void json_close(json_value *root)
{
    if (root == NULL)
        return;
    tree *const t = (tree *)root;
    for (block *b = t->blocks, *next; b != NULL; b = next) {
        next = b->next;
        alloc_free(b);
    }
    alloc_free(t->text);
    alloc_free(t);
}
