/* The network of nn/fconv.h, slow and obvious: the whole sequence at once, in double, straight from
 * the tensors of a model file. */
#ifndef FCONV_REFERENCE_H
#define FCONV_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* The logits (n_previous, vocabulary) after each of the decoder's inputs, of which the first is the
 * start token; the source's last id is its end token. Ids outside of the support have logits like
 * any other. The caller frees them. Fails the test where the file cannot be read. */
double *fconv_reference_logits(const char *path, const int32_t *source, size_t n_source,
                               const int32_t *previous, size_t n_previous);

#endif
