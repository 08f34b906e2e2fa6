#include "sbeam/version.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

const char *sb_version(void)
{
    return TEXT(SB_VERSION_MAJOR) "." TEXT(SB_VERSION_MINOR) "." TEXT(SB_VERSION_PATCH);
}
