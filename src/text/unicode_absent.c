/* Replaces unicode.c if the library is built without utf8proc. */
#include "text/unicode.h"

bool unicode_is_present(void)
{
    return false;
}

unicode_class unicode_classify(uint32_t code)
{
    (void)code;
    return UNICODE_OTHER;
}
