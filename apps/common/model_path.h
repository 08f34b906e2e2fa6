/* Where the model is when the command line names none. */
#ifndef COMMON_MODEL_PATH_H
#define COMMON_MODEL_PATH_H

/* The file of the model: `given`, else $SBEAM_MODEL, else the default model in the first place that
 * has it: beside the program, in models/ there or one folder up, in the data folder. The caller's
 * to free. NULL after a message, which is one of wrong usage: `given` is empty, or the default
 * model is in none of these places. */
char *model_path_find(const char *command, const char *given);

#endif
