/* Checks that the numbers of a record fit together. */
#ifndef RECORD_RECORD_CHECK_H
#define RECORD_RECORD_CHECK_H

#include "sbeam/record.h"

/* Fails if no draw can have these numbers (see sb_record_read). */
sb_status record_check(const sb_record *record, sb_error *err);

#endif
