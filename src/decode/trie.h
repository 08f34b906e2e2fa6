/* The inside of sb_trie: a tree of prefixes in three arrays.
 *
 * The nodes are numbered level by level, and the children of a node in the order of their tokens.
 * So the children of a node have consecutive numbers, and those of node i end where those of node i
 * + 1 begin. Node 0 is the root, the empty prefix. */
#ifndef DECODE_TRIE_H
#define DECODE_TRIE_H

#include "sbeam/trie.h"

struct sb_trie {
    sb_trie_info info;
    int32_t n_nodes;
    int32_t widest;       /* the largest number of children of a node */
    int32_t *tokens;      /* (n_nodes) the last token of each node, -1 for the root */
    int32_t *first_child; /* (n_nodes + 1) */
    uint64_t *complete;   /* (n_nodes / 64 + 1) one bit for each node: it is a whole line */
    char id[17];
};

/* Returns the number of children of a node. */
static inline int32_t trie_count_children(const sb_trie *trie, int32_t node)
{
    return trie->first_child[node + 1] - trie->first_child[node];
}

/* Returns the tokens of the children of a node, in ascending order. */
static inline const int32_t *trie_children(const sb_trie *trie, int32_t node)
{
    return trie->tokens + trie->first_child[node];
}

/* Returns whether a node is a whole line. */
static inline bool trie_is_complete(const sb_trie *trie, int32_t node)
{
    return (trie->complete[node / 64] >> (node % 64) & 1) != 0;
}

/* Returns the child of a node by its token, or -1 if there is none. */
int32_t trie_find_child(const sb_trie *trie, int32_t node, int32_t token);
/* Returns whether any line has the token. Looks at all nodes. */
bool trie_has_token(const sb_trie *trie, int32_t token);

#endif
