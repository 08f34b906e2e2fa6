/* Header fields and numbers of the text formats.
 *
 * Probabilities of long sequences are tiny: at low temperatures 1e-119 is common, and below 1e-308
 * exp(log p) is zero although the sequence was drawn. So small numbers are written from their
 * logarithm, with as many digits as the column holds. */
#include "cli/text_form.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf.h"

const char *text_number(char *text, double x, int decimals, int width)
{
    if (!isfinite(x))
        return strcpy(text, "-");
    if (x == 0)
        return strcpy(text, "0");
    for (int n = fabs(x) >= 1e-4 ? decimals : -1; n >= 0; n--)
        if (snprintf(text, TEXT_SIZE, "%.*f", n, x) <= width && strtod(text, NULL) != 0)
            return text;
    for (int n = 3; n >= 0; n--)
        if (snprintf(text, TEXT_SIZE, "%.*e", n, x) <= width)
            break;
    return text;
}

int text_decimals(double x, int n)
{
    if (x == 0 || !isfinite(x))
        return n - 1;
    const double decimals = n - 1 - floor(log10(fabs(x)));
    return decimals < 0 ? 0 : decimals > 20 ? 20 : (int)decimals;
}

const char *text_small(char *text, double x, double log_x)
{
    if (x >= 1e-99 || log_x == -INFINITY) {
        snprintf(text, TEXT_SIZE, "%.1e", x);
        return text;
    }
    const double log10_x = log_x / log(10);
    double exponent = floor(log10_x);
    int digit = (int)lround(pow(10, log10_x - exponent));
    if (digit == 10) {
        digit = 1;
        exponent++;
    }
    if (exponent < -999)
        return strcpy(text, "<1e-999");
    snprintf(text, TEXT_SIZE, "%de%.0f", digit, exponent);
    return text;
}

void text_put_field(const terminal *term, output *out, size_t *column, const char *field)
{
    const size_t n = utf_text_width(field, strlen(field));
    if (*column > 0 && *column + 2 + n > term->width) {
        output_char(out, '\n');
        *column = 0;
    }
    if (*column > 0) {
        output_text(out, "  ");
        *column += 2;
    }
    output_text(out, field);
    *column += n;
}

void text_put_input(const terminal *term, output *out, uint64_t stream, const char *text,
                    size_t size)
{
    char label[40];
    const int n = snprintf(label, sizeof label, "input %" PRIu64 ": ", stream);
    output_text(out, label);
    if (size > 0)
        utf_put_cut(out, text, size, term->width > (size_t)n ? term->width - (size_t)n : 1,
                    term->unicode);
    else
        output_text(out, "(empty)");
    output_char(out, '\n');
}
