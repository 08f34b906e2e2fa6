/* Parses JSON without recursion.
 *
 * Values wait on a stack until the container around them ends. An open container is on the stack
 * itself, below its values, and knows the index of the container around it. When it ends, its
 * values move to memory of their own, side by side, and the container holds a pointer to them. So
 * the n-th value of an array is found at once, and a list of a million values is copied only once.
 *
 * To find a key that appears twice, a few keys are compared with one another, and many keys are
 * sorted by merging. A hash would be faster for most keys, but only a keyed hash is safe from keys
 * that were made to collide. */
#include "text/json_parse.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "text/json_scan.h"

enum { FIRST_VALUES = 64, MOST_VALUES = 1 << 16 };

/* Memory for values, which never move. */
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
    json_scanner s;
    json_value *stack;
    size_t n, capacity; /* of the stack */
    size_t inner;       /* the index of the innermost open container */
    int depth;          /* the number of open containers */
    tree *tree;
    json_value *free_values; /* the rest of the newest block for small lists */
    size_t n_free, block_size;
} parser;

/* Puts a value on the stack. */
static sb_status push(parser *p, json_value value)
{
    if (p->n == p->capacity &&
        alloc_reserve(&p->stack, &p->capacity, p->n < FIRST_VALUES ? FIRST_VALUES : p->n + 1,
                      sizeof *p->stack) != SB_OK)
        return SB_ERR_MEMORY;
    value.line = (p->s.line < JSON_MAX_LINE ? (unsigned)p->s.line : JSON_MAX_LINE) & JSON_MAX_LINE;
    p->stack[p->n++] = value;
    return SB_OK;
}

/* Returns memory for n values, or NULL. A large list has a block of its own, so that little memory
 * is wasted at the end of a block. */
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
        p->s.problem->line = twice->line;
        snprintf(p->s.problem->text, sizeof p->s.problem->text, "duplicate object key \"%.*s\"",
                 utf8_excerpt(twice->as.text, twice->size), twice->as.text);
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
    p->s.at++;
    return status;
}

/* Reads a scalar, or the beginning of a container. */
static sb_status read_value(parser *p)
{
    if (p->depth == JSON_MAX_DEPTH) {
        p->s.problem->line = p->s.line;
        snprintf(p->s.problem->text, sizeof p->s.problem->text, "is nested deeper than %d levels",
                 JSON_MAX_DEPTH - 1);
        return SB_ERR_LIMIT;
    }
    if (*p->s.at == '{' || *p->s.at == '[')
        return open_container(p, *p->s.at == '{' ? JSON_OBJECT : JSON_ARRAY);
    json_value value;
    const sb_status status = json_scan_scalar(&p->s, &value);
    return status == SB_OK ? push(p, value) : status;
}

/* Reads the key of the next member and its colon. */
static sb_status read_key(parser *p)
{
    if (*p->s.at != '"')
        return json_scan_fail(&p->s, "expected a key in quotes", p->s.at);
    json_value key;
    sb_status status = json_scan_string(&p->s, true, &key);
    if (status == SB_OK)
        status = push(p, key);
    if (status != SB_OK)
        return status;
    json_scan_blanks(&p->s);
    if (*p->s.at != ':')
        return json_scan_fail(&p->s, "expected ':' after a key", p->s.at);
    p->s.at++;
    json_scan_blanks(&p->s);
    return SB_OK;
}

/* Reads the next value, or the end of a container. */
static sb_status read_next(parser *p)
{
    const bool is_object = p->stack[p->inner].type == JSON_OBJECT;
    const bool is_first = p->n == p->inner + 1;
    json_scan_blanks(&p->s);
    if (*p->s.at == (is_object ? '}' : ']')) {
        p->s.at++;
        return close_container(p);
    }
    if (!is_first) {
        if (*p->s.at != ',')
            return json_scan_fail(&p->s, is_object ? "expected ',' or '}'" : "expected ',' or ']'",
                                  p->s.at);
        p->s.at++;
        json_scan_blanks(&p->s);
    }
    const sb_status status = is_object ? read_key(p) : SB_OK;
    return status == SB_OK ? read_value(p) : status;
}

static sb_status read_all(parser *p)
{
    json_scan_blanks(&p->s);
    if (*p->s.at != '{' && *p->s.at != '[')
        return json_scan_fail(&p->s, "expected '{' or '['", p->s.at);
    sb_status status = read_value(p);
    while (status == SB_OK && p->depth > 0)
        status = read_next(p);
    if (status != SB_OK)
        return status;
    json_scan_blanks(&p->s);
    if (p->s.at < p->s.end)
        return json_scan_fail(&p->s, "end of file expected", p->s.at);
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
    parser p = {.s = {.at = text,
                      .end = text + size,
                      .line = 1,
                      .allow_zero = allow_zero,
                      .problem = problem},
                .tree = t,
                .block_size = FIRST_VALUES};
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
