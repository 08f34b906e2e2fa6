/* Replaces pieces.cc if the library is built without SentencePiece. Nothing can be opened, so the
 * other functions are never called. */
#include "base/status.h"
#include "text/pieces.h"

static sb_status fail_absent(const char *name, sb_error *err)
{
    return status_fail(err, SB_ERR_FORMAT,
                       "%s: the model needs SentencePiece, but sbeam was built without it; "
                       "install it (scripts/setup) and build without -Dsentencepiece=disabled",
                       name);
}

sb_status pieces_open(pieces **opened, const char *name, const void *data, size_t size,
                      sb_error *err)
{
    (void)opened, (void)data, (void)size;
    return fail_absent(name, err);
}

void pieces_close(pieces *p)
{
    (void)p;
}

int32_t pieces_size(const pieces *p)
{
    (void)p;
    return 0;
}

const char *pieces_text(const pieces *p, int32_t id)
{
    (void)p, (void)id;
    return NULL;
}

int32_t pieces_find(const pieces *p, const char *text, size_t size)
{
    (void)p, (void)text, (void)size;
    return -1;
}

sb_status pieces_encode(const pieces *p, const char *text, size_t size, int32_t **ids,
                        int32_t *n_ids, sb_error *err)
{
    (void)p, (void)text, (void)size, (void)ids, (void)n_ids;
    return fail_absent("text", err);
}

sb_status pieces_decode(const pieces *p, const int32_t *ids, int32_t n_ids, char **text,
                        sb_error *err)
{
    (void)p, (void)ids, (void)n_ids, (void)text;
    return fail_absent("text", err);
}
