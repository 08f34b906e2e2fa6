/* Finds the model file. */
#ifndef COMMON_MODEL_PATH_H
#define COMMON_MODEL_PATH_H

/* Returns the path of the model: `given`; if that is NULL, $SBEAM_MODEL; if that is unset or empty,
 * the default model in the first folder that has it: the program's, models/ in it, models/ beside
 * it, the data folder, share/sbeam beside it. The path is the caller's to free. Returns NULL after
 * a message of wrong usage if `given` is empty or no folder has the default model. */
char *model_path_find(const char *command, const char *given);

/* Does the same if nothing is given, but prints no message. */
char *model_path_default(void);

#endif
