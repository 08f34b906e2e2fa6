#include "decode/method.h"

#include <string.h>

#define ADDRESS(suffix, c_name, name) &method_##c_name,
#define NAME(suffix, c_name, name)    name,
static const struct method *const methods[] = {SB_METHOD_LIST(ADDRESS)};
static const char *const names[] = {SB_METHOD_LIST(NAME)};

enum { N_METHODS = sizeof methods / sizeof *methods };

const struct method *method_get(sb_method method)
{
    return (size_t)method < N_METHODS ? methods[method] : NULL;
}

const struct method *method_of(const sb_config *config)
{
    return config->search == SB_SEARCH_BEST_FIRST ? &method_best_first : methods[config->method];
}

int64_t method_needed_rows(const sb_config *config)
{
    const struct method *const method = method_of(config);
    return method->needed_rows != NULL ? method->needed_rows(config) : config->k;
}

const sb_method_info *sb_method_get_info(sb_method method)
{
    return (size_t)method < N_METHODS ? &methods[method]->info : NULL;
}

const char *sb_method_name(sb_method method)
{
    return (size_t)method < N_METHODS ? names[method] : NULL;
}

bool sb_method_find(const char *name, sb_method *method)
{
    for (size_t i = 0; name != NULL && i < N_METHODS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *method = (sb_method)i;
            return true;
        }
    }
    return false;
}
