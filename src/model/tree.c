/* Probability trees written as JSON:
 *
 *     {"format":"sbeam-tree","tree":{"A":[0.6,{"B":[0.5,null],"C":[0.5,null]}],"D":[0.4,null]}}
 *
 * Each child is token: [probability, subtree]; null is a leaf. Tokens are numbered in the order of
 * their first appearance. The limit of 2,048 levels of JSON bounds the depth of the recursion; each
 * level of the tree takes two of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "model/automaton.h"
#include "model/backend.h"

typedef struct reading {
    const json_doc *doc;
    automaton *machine;
    sb_error *err;
} reading;

/* A node between the root and the current node, for messages. */
typedef struct place {
    const struct place *parent; /* NULL: the root */
    const char *token;
    int32_t depth;
} place;

/* Writes the tokens from the root to the node. Cuts off the beginning of a long path. */
static void write_path(const place *node, char *text, size_t size)
{
    if (node->parent == NULL) {
        snprintf(text, size, "the root");
        return;
    }
    char *const end = text + size - 1;
    char *p = end;
    *p = '\0';
    *--p = '\'';
    for (; node->parent != NULL; node = node->parent) {
        const size_t n = (size_t)utf8_excerpt(node->token, strlen(node->token));
        if ((size_t)(p - text) < n + 8) {
            p -= 3;
            memcpy(p, "...", 3);
            break;
        }
        p -= n;
        memcpy(p, node->token, n);
        if (node->parent->parent != NULL)
            *--p = ' ';
    }
    *--p = '\'';
    memmove(text, p, (size_t)(end - p) + 1);
}

static sb_status fail_at(const reading *r, const json_value *children, const place *node,
                         const char *what)
{
    char path[160];
    write_path(node, path, sizeof path);
    return status_fail(r->err, SB_ERR_FORMAT, "%s:%zu: %s: %s", r->doc->name, json_line(children),
                       path, what);
}

/* Reads one child, token: [probability, subtree], into an edge and adds its probability to *sum. */
static sb_status read_child(const reading *r, const json_value *children, const place *child,
                            const json_value *value, automaton_edge *edge, long double *sum)
{
    if (!utf8_is_token(child->token, strlen(child->token)))
        return fail_at(r, children, child,
                       "expected a token that is not empty and has no white space");
    const json_value *const probability = json_item(value, 0);
    const json_value *const subtree = json_item(value, 1);
    if (json_n_items(value) != 2 || !json_is_number(probability) ||
        !(json_is_null(subtree) || json_is_object(subtree)))
        return fail_at(r, children, child, "expected [probability, subtree or null]");
    const double p = json_number(probability);
    if (!(p >= 0))
        return fail_at(r, children, child, "expected a probability of at least 0");
    *sum += p;
    edge->log_p = log(p);
    edge->next = AUTOMATON_LEAF;
    bool is_new;
    const sb_status status =
        vocab_add(&r->machine->words, child->token, strlen(child->token), &edge->token, &is_new);
    return status == SB_OK ? SB_OK : status_no_memory(r->err);
}

static sb_status read_node(const reading *r, const json_value *children, const place *node,
                           int32_t *state)
{
    automaton *const m = r->machine;
    const size_t n = json_n_members(children);
    if (n == 0)
        return fail_at(r, children, node, "expected at least one child; a leaf is null");
    size_t first;
    sb_status status = automaton_add_state(m, n, state, &first, r->err);
    long double sum = 0;
    for (size_t i = 0; status == SB_OK && i < n; i++) {
        const place child = {node, json_key(children, i), node->depth + 1};
        status =
            read_child(r, children, &child, json_member(children, i), &m->edges[first + i], &sum);
    }
    if (status != SB_OK)
        return status;
    if (!automaton_is_one(sum)) {
        char what[80];
        snprintf(what, sizeof what, "the children sum to %.9Lg, expected 1", sum);
        return fail_at(r, children, node, what);
    }
    if (m->depth < node->depth + 1)
        m->depth = node->depth + 1;
    for (size_t i = 0; status == SB_OK && i < n; i++) {
        const place child = {node, json_key(children, i), node->depth + 1};
        const json_value *const subtree = json_item(json_member(children, i), 1);
        int32_t next = AUTOMATON_LEAF;
        if (json_is_object(subtree))
            status = read_node(r, subtree, &child, &next);
        else
            m->n_leaves++;
        m->edges[first + i].next = next;
    }
    return status;
}

static sb_status open_tree(sb_model **model, const model_source *source, sb_error *err)
{
    static const char *const keys[] = {"format", "tree", NULL};
    const json_doc *const doc = source->doc;
    sb_status status = json_doc_check_keys(doc, keys, err);
    if (status != SB_OK)
        return status;
    const json_value *const root = json_get(doc->root, "tree");
    if (!json_is_object(root))
        return status_fail(err, SB_ERR_FORMAT, "%s:%zu: expected an entry \"tree\" with an object",
                           doc->name, json_line(doc->root));
    reading r = {.doc = doc, .err = err};
    status = automaton_open(&r.machine, tree_backend.kind, err);
    if (status != SB_OK)
        return status;
    const place top = {NULL, NULL, 0};
    int32_t state;
    status = read_node(&r, root, &top, &state);
    if (status == SB_OK)
        status = automaton_finish(r.machine, model, err);
    if (status != SB_OK)
        automaton_close(r.machine);
    return status;
}

const model_backend tree_backend = {.kind = "tree",
                                    .expected = "a JSON tree (\"format\":\"sbeam-tree\")",
                                    .json_format = "sbeam-tree",
                                    .open = open_tree};
