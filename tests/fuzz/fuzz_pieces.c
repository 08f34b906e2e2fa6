/* Fuzzes SentencePiece behind its checks. An odd first byte: the rest is text for the tests' own
 * model; an even one: the rest is a model. Whatever the bytes, a model is refused with a message or
 * can be used, ids are in range, and decoded text is well-formed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "text/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

/* `is_sound`: the model is the tests' own. Another may replace characters by malformed ones, and
 * give an error where its normalization loses the thread. */
static void use(const pieces *p, const char *text, size_t size, int is_sound)
{
    int32_t *ids, n;
    char *decoded;
    sb_error err = {.message = ""};
    const sb_status status = pieces_encode(p, text, size, &ids, &n, &err);
    require(status == SB_OK || (!is_sound && err.message[0] != '\0'));
    if (status != SB_OK)
        return;
    for (int32_t i = 0; i < n; i++) {
        const char *const piece = pieces_text(p, ids[i]);
        require(piece != NULL && utf8_is_text(piece, strlen(piece)));
        require(!is_sound || pieces_find(p, piece, strlen(piece)) == ids[i]);
    }
    require(pieces_decode(p, ids, n, &decoded, &err) == SB_OK || !is_sound);
    if (err.message[0] == '\0') {
        require(!is_sound || utf8_is_text(decoded, strlen(decoded)));
        alloc_free(decoded);
    }
    alloc_free(ids);
}

static pieces *open_own(void)
{
    static char bytes[1 << 16];
    pieces *p = NULL;
    FILE *const file = fopen(TEST_DATA "/pieces.model", "rb");
    require(file != NULL);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    require(pieces_open(&p, "own", bytes, size, NULL) == SB_OK);
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pieces *own;
    if (own == NULL)
        own = open_own();
    if (size == 0)
        return 0;
    const char *const rest = (const char *)data + 1;
    if (data[0] & 1) {
        use(own, rest, size - 1, 1);
        return 0;
    }
    pieces *p = NULL;
    sb_error err = {.message = ""};
    if (pieces_open(&p, "fuzz", rest, size - 1, &err) != SB_OK) {
        require(err.message[0] != '\0' && p == NULL);
        return 0;
    }
    static const char text[] = "The \xef\xac\x81ve boats\xe2\x80\xa6 <url> \xff\xa0 aaaaaaaaa";
    require(pieces_size(p) > 0);
    use(p, text, sizeof text - 1, 0);
    use(p, rest, size - 1 < 200 ? size - 1 : 200, 0);
    pieces_close(p);
    return 0;
}
