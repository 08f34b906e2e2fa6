/* The network of nn/fconv.h, slow and obvious: computes the whole sequence at once, in double,
 * directly from the tensors of a model file. */
#ifndef FCONV_REFERENCE_H
#define FCONV_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Returns the logits (n_previous, vocabulary) after each input of the decoder, of which the first
 * is the start token. The last id of the source is its end token. Unused ids have logits like any
 * other. The caller frees the logits. Fails the test if the file cannot be read. */
double *fconv_reference_logits(const char *path, const int32_t *source, size_t n_source,
                               const int32_t *previous, size_t n_previous);

#endif
