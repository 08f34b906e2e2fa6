#include "math/children.h"

#include <math.h>

#include "math/logspace.h"

void children_open(struct children *children, const struct noise_key *key, struct row *row,
                   struct noise_node node, double phi, double g)
{
    children->row = row;
    children->node = node;
    children->phi = phi;
    children->value = g;
    children->choice = noise_of_child(key, node, 0).choice;
    children->rank = 0;
}

void children_resume(struct children *children, const struct noise_key *key, struct row *row,
                     struct noise_node node, double phi, double value, const int32_t *taken,
                     size_t n)
{
    children_open(children, key, row, node, phi, value);
    for (size_t i = 0; i < n; i++)
        row_remove(row, taken[i]);
    children->rank = n;
    children->choice = noise_of_child(key, node, n).choice;
}

int32_t children_take(struct children *children)
{
    const int32_t child = row_pick(children->row, children->choice);
    if (child >= 0)
        row_remove(children->row, child);
    children->rank++;
    return child;
}

void children_advance(struct children *children, const struct noise_key *key)
{
    const double phi = logspace_product(children->phi, row_log_rest(children->row));
    if (phi == -INFINITY) {
        children->value = -INFINITY;
        return;
    }
    const struct noise_pair u = noise_of_child(key, children->node, children->rank);
    children->choice = u.choice;
    children->value = logspace_truncated_gumbel(phi, children->value, u.value);
}
