/* UTF-8: checks which bytes are text or a token, and quotes text in messages. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the size of the character at the start of `text`, which has `left` >= 1 bytes. Returns 0
 * for a malformed character or a zero byte. */
size_t utf8_character_size(const char *text, size_t left);

/* Returns the code point of the well-formed character of `size` bytes at `text`. */
uint32_t utf8_code(const char *text, size_t size);

/* Returns whether a character appears on a terminal: false for control codes, invisible characters
 * and those that change the direction of text. show.c lists them. */
bool utf8_is_visible(uint32_t code);

/* Writes a backslash, the letter and n_digits hexadecimal digits of the code. Returns the number of
 * bytes. */
size_t utf8_escape(char *escape, char letter, uint32_t code, int n_digits);

/* Returns whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing above
 * U+10FFFF) without a zero byte, so that they can be kept as a terminated string. */
bool utf8_is_text(const char *text, size_t size);

/* Returns whether the bytes can be a token of a model whose text is joined with spaces: text as
 * above, not empty, and without spaces, tabs or line ends. */
bool utf8_is_token(const char *text, size_t size);

/* Finds the next word of text[*position .. size): a run of bytes other than space, tab, carriage
 * return and line feed. Moves *position past it. Returns false if there is none. */
bool utf8_next_word(const char *text, size_t size, size_t *position, const char **word,
                    size_t *word_size);

/* Returns the number of bytes of `text` to quote in a message ("%.*s"): at most 60, without cutting
 * a character in two. */
int utf8_excerpt(const char *text, size_t size);

#endif
