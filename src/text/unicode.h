/* Classes of characters, from utf8proc. A build without utf8proc has none (unicode_absent.c). */
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

/* Returns whether this build knows the classes. If not, all characters are UNICODE_OTHER. */
bool unicode_is_present(void);

unicode_class unicode_classify(uint32_t code);

#endif
