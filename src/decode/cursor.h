/* The inside of a cursor, for tests. */
#ifndef DECODE_CURSOR_H
#define DECODE_CURSOR_H

#include "decode/slot.h"
#include "sbeam/cursor.h"

/* Returns the decoder, whose limits most_states and first_children a test can lower before the
 * first sequence. */
sb_decoder *cursor_get_decoder(sb_cursor *cursor);

#endif
