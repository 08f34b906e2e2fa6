/* The settings of a record. */
#ifndef RECORD_RECORD_SETTINGS_H
#define RECORD_RECORD_SETTINGS_H

#include "record/json_buffer.h"
#include "sbeam/config.h"
#include "sbeam/model.h"
#include "sbeam/record.h"

enum { SETTING_SIZE = 64 }; /* bytes for the key or the value of a setting, with its terminator */

/* Writes the key of an option: its name with underscores for dashes. */
void record_settings_key(const char *name, char key[SETTING_SIZE]);

/* Appends ,"key":value for each setting that a record mentions, then the model and the version. The
 * model may be NULL. */
void record_settings_put(json_buffer *to, const sb_model *model, const sb_config *config);

/* Checks the types of the settings in record->document and writes record->settings, which
 * sb_record_close frees. */
sb_status record_settings_read(sb_record *record, sb_error *err);

/* Returns the total probability that ends the draw. If the draw has no such rule, returns 0. */
double record_settings_until_mass(const sb_record *record);
/* Checks that record->stopped_by can follow from the rules among the settings. */
sb_status record_settings_check_rule(const sb_record *record, sb_error *err);

#endif
