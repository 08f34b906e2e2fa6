/* Prints a message if a model file is cut short while it is mapped into memory. The library
 * installs no signal handlers, so without this the process would end without a message. */
#ifndef COMMON_MODEL_GUARD_H
#define COMMON_MODEL_GUARD_H

/* From now on, if the process reads a page that a mapped file no longer has (SIGBUS), it prints
 * "sbeam COMMAND: the model file ... was cut short ..." and exits with EXIT_FAILED. `path` names
 * the model that the command opens. */
void model_guard_start(const char *command, const char *path);

#endif
