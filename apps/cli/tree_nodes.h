/* A small model's whole tree with its noise, and which of it Stochastic Beam Search visits. */
#ifndef CLI_TREE_NODES_H
#define CLI_TREE_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "common/output.h"
#include "common/terminal.h"
#include "sbeam/decoder.h"

enum { TREE_MOST_NODES = 400 };

typedef enum tree_role {
    TREE_PRUNED,  /* not among the k best of its level */
    TREE_ON_BEAM, /* among them, but no ancestor of a sampled leaf */
    TREE_REQUIRED /* a sampled leaf or an ancestor of one */
} tree_role;

typedef struct tree_node {
    int32_t parent; /* place in the array, -1 for the root */
    int32_t next;   /* the next sibling, or -1 */
    int32_t token;  /* -1 for the root */
    int32_t depth;
    sb_end end;
    double phi; /* log-probability of the node */
    double g;   /* the largest perturbed log-probability of its leaves */
    tree_role role;
    int32_t rank; /* of a sampled leaf, from 1; else 0 */
} tree_node;

typedef struct tree {
    const sb_model *model;
    const sb_config *config; /* k, seed, temperature */
    const char *input;       /* the prefix, "" for none */
    size_t input_size;
    const char *model_name;
    tree_node *nodes; /* (n_nodes), depth first, siblings by token id; owned */
    int32_t n_nodes;
    double low, high; /* the range of phi and G that bars show */
} tree;

/* Grows the whole tree by the explicit method, then marks what SBS visits with the same noise. The
 * pointers above must be set. SB_ERR_LIMIT for trees too large to draw. */
sb_status tree_grow(tree *grown, sb_error *err);
void tree_free(tree *grown);

/* The first child of a node, or -1. */
int32_t tree_first_child(const tree *grown, int32_t node);

/* Probability of a node given its parent. */
double tree_edge(const tree *grown, int32_t node);

/* The text of the token that made the node; "" for the root. */
const char *tree_label(const tree *grown, int32_t node);

/* Share of a bar that a value fills, above 0 and at most 1. */
double tree_share(const tree *grown, double value);

void tree_write_text(const tree *grown, const terminal *term, output *out);
void tree_write_svg(const tree *grown, output *out);
void tree_write_jsonl(const tree *grown, output *out);

#endif
