/* Ends the command with a message and exit code 1 if a library crashes because memory ran out. */
#ifndef COMMON_LAST_RESORT_H
#define COMMON_LAST_RESORT_H

/* Installs the handlers, unless somebody else has installed others. It runs before the initialisers
 * of the shared libraries if the system can do that; main calls it for all other systems. */
void last_resort_install(void);

#endif
