/* An interrupt is a number that a thread or a signal handler stores and the workers read. It passes
 * on no other data, so relaxed loads and stores are enough. */
#include "decode/interrupt.h"

#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/status.h"

#if ATOMIC_INT_LOCK_FREE != 2
#error "a signal handler needs an atomic int without a lock"
#endif

struct sb_interrupt {
    atomic_int raised;
};

sb_status sb_interrupt_open(sb_interrupt **interrupt, sb_error *err)
{
    if (interrupt == NULL)
        return status_fail(err, SB_ERR_ARGUMENT, "sb_interrupt_open: interrupt is NULL");
    sb_interrupt *const opened = alloc_zeroed(1, sizeof *opened);
    if (opened == NULL)
        return status_no_memory(err);
    atomic_init(&opened->raised, 0);
    *interrupt = opened;
    return SB_OK;
}

void sb_interrupt_close(sb_interrupt *interrupt)
{
    alloc_free(interrupt);
}

void sb_interrupt_raise(sb_interrupt *interrupt)
{
    if (interrupt != NULL)
        atomic_store_explicit(&interrupt->raised, 1, memory_order_relaxed);
}

bool interrupt_is_raised(const sb_interrupt *interrupt)
{
    return interrupt != NULL && atomic_load_explicit(&interrupt->raised, memory_order_relaxed) != 0;
}
