/* Gives numbers to the states of the rows that slots ask for, if the decoder serves a session or a
 * host that keeps states (sb_decoder_states). */
#ifndef DECODE_SLOT_STATES_H
#define DECODE_SLOT_STATES_H

#include "decode/slot.h"

/* Hands the states of a level to the rows of the next level, which continue them. */
void slot_hand_on_states(sb_decoder *decoder, struct slot *slot);
/* Gives back the states of a slot whose job has ended. */
void slot_drop_states(sb_decoder *decoder, struct slot *slot);

#endif
