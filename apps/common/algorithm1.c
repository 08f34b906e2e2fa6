#include "common/algorithm1.h"

#include <math.h>

static double log1mexp(double a)
{
    return a > -0.6931471805599453 ? log(-expm1(a)) : log1p(-exp(a));
}

/* Appendix B.3: the value of a child whose free Gumbel is g, given that the largest free Gumbel
 * among its siblings is z and must become t. */
static double shift_gumbel(double g, double z, double t)
{
    if (g == z)
        return t;
    const double v = t - g + log1mexp(g - z);
    return t - fmax(0, v) - log1p(exp(-fabs(v)));
}

/* Merges n children into the k largest so far, in descending order. */
static size_t keep_best(const algorithm1_entry *all, size_t n, size_t k, algorithm1_entry *best,
                        size_t n_best)
{
    for (size_t i = 0; i < n; i++) {
        if (all[i].g == -INFINITY || (n_best == k && all[i].g <= best[k - 1].g))
            continue;
        size_t place = n_best < k ? n_best++ : k - 1;
        for (; place > 0 && best[place - 1].g < all[i].g; place--)
            best[place] = best[place - 1];
        best[place] = all[i];
    }
    return n_best;
}

size_t algorithm1_step(const algorithm1_entry *beam, size_t n_rows, const float *logits,
                       size_t vocab, double temperature, size_t k, algorithm1_uniform uniform,
                       void *user, algorithm1_entry *scratch, algorithm1_entry *best)
{
    size_t n_best = 0;
    for (size_t r = 0; r < n_rows; r++) {
        const float *const x = logits + r * vocab;
        double top = -INFINITY, sum = 0;
        for (size_t j = 0; j < vocab; j++)
            top = fmax(top, (double)x[j]);
        for (size_t j = 0; j < vocab; j++)
            sum += exp(((double)x[j] - top) / temperature);
        const double log_z = top / temperature + log(sum);
        double z = -INFINITY;
        for (size_t j = 0; j < vocab; j++) {
            const double phi = beam[r].phi + (double)x[j] / temperature - log_z;
            const double g = phi == -INFINITY ? phi : phi - log(-log(uniform(user)));
            z = fmax(z, g);
            scratch[j] = (algorithm1_entry){phi, g, r, j};
        }
        for (size_t j = 0; j < vocab; j++)
            if (scratch[j].g > -INFINITY)
                scratch[j].g = shift_gumbel(scratch[j].g, z, beam[r].g);
        n_best = keep_best(scratch, vocab, k, best, n_best);
    }
    return n_best;
}
