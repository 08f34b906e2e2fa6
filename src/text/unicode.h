/* Classes of characters, from utf8proc. A build without it has none (unicode_absent.c). */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum unicode_class {
    UNICODE_OTHER,
    UNICODE_NUMBER,      /* general category N: digits of any script, and the like */
    UNICODE_PUNCTUATION, /* P */
    UNICODE_SYMBOL       /* S: mathematics, currencies, emoji */
} unicode_class;

/* Whether this build knows the classes; where not, all characters are of UNICODE_OTHER. */
bool unicode_is_present(void);

unicode_class unicode_classify(uint32_t code);

#endif
