/* What the workers ask of an sb_interrupt. */
#ifndef DECODE_INTERRUPT_H
#define DECODE_INTERRUPT_H

#include <stdbool.h>

#include "sbeam/draw.h"

/* NULL is never raised. */
bool interrupt_is_raised(const sb_interrupt *interrupt);

#endif
