/* Reads JSON texts and writes the values that the JSON reader finds, for tests/json_reference.py. A
 * text is its size in decimal, a line end, and its bytes. For each text a line is written: the
 * value in canonical form (json_text.h), or "refused: " and the message. */
#include <stdio.h>
#include <stdlib.h>

#include "json_text.h"

int main(void)
{
    size_t size;
    while (scanf("%zu", &size) == 1 && getchar() == '\n') {
        char *const text = malloc(size + 1);
        if (text == NULL || fread(text, 1, size, stdin) != size)
            return 1;
        json_value *root = NULL;
        sb_error err;
        if (json_line_parse(&root, text, size, "", &err) == SB_OK)
            json_text_write_canonical(stdout, root);
        else
            printf("refused: %s", err.message);
        putchar('\n');
        json_close(root);
        free(text);
    }
    return ferror(stdin) || fflush(stdout) != 0;
}
