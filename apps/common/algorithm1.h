/* One step of the paper's Algorithm 1 as it is printed, in scalar C: a Gumbel for each of the k * V
 * children, conditioned on the maximum of their parent, then the k best of all.
 *
 * No draw uses it. `sbeam bench search` compares the library with it on the user's machine, and
 * tests use it as the slow reference. */
#ifndef COMMON_ALGORITHM1_H
#define COMMON_ALGORITHM1_H

#include <stddef.h>
#include <stdint.h>

typedef struct algorithm1_entry {
    double phi, g;
    size_t row, token;
} algorithm1_entry;

/* A source of uniforms in (0, 1). */
typedef double (*algorithm1_uniform)(void *user);

/* beam: (n_rows) the parents' phi and g. logits: (n_rows, vocab). Writes at most k children to
 * best, in descending order of g, and returns their number. scratch: (vocab) entries. */
size_t algorithm1_step(const algorithm1_entry *beam, size_t n_rows, const float *logits,
                       size_t vocab, double temperature, size_t k, algorithm1_uniform uniform,
                       void *user, algorithm1_entry *scratch, algorithm1_entry *best);

#endif
