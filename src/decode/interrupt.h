/* Tells the workers whether an sb_interrupt was raised. */
#ifndef DECODE_INTERRUPT_H
#define DECODE_INTERRUPT_H

#include <stdbool.h>

#include "sbeam/draw.h"

/* Returns whether the interrupt has been raised; false for NULL. */
bool interrupt_is_raised(const sb_interrupt *interrupt);

#endif
