/* The whole tree of a small model with its noise, and the nodes that Stochastic Beam Search visits.
 */
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
    TREE_ON_BEAM, /* among them, but not an ancestor of a sampled leaf */
    TREE_REQUIRED /* a sampled leaf or an ancestor of one */
} tree_role;

typedef struct tree_node {
    int32_t parent; /* index in the array, -1 for the root */
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

/* Builds the whole tree with the explicit method, then marks the nodes that SBS visits with the
 * same noise. The caller sets model, config, input and model_name before. Fails with SB_ERR_LIMIT
 * if the tree has more than TREE_MOST_NODES nodes. */
sb_status tree_grow(tree *grown, sb_error *err);
void tree_free(tree *grown);

/* Returns the first child of a node, or -1. */
int32_t tree_first_child(const tree *grown, int32_t node);

/* Returns the probability of a node given its parent. */
double tree_edge(const tree *grown, int32_t node);

/* Returns the text of the node's token; "" for the root. */
const char *tree_label(const tree *grown, int32_t node);

/* Returns the share of a bar that a value fills, above 0 and at most 1. */
double tree_share(const tree *grown, double value);

void tree_write_text(const tree *grown, const terminal *term, output *out);
void tree_write_svg(const tree *grown, output *out);
void tree_write_jsonl(const tree *grown, output *out);

#endif
