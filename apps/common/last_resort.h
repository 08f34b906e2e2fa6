/* Ends the command with a message and exit code 1 if a library crashes because memory ran out. */
#ifndef COMMON_LAST_RESORT_H
#define COMMON_LAST_RESORT_H

/* Installs the handlers, unless the signals already have other handlers. If the system can do that,
 * it runs before the initialisers of the shared libraries. On other systems main calls it. */
void last_resort_install(void);

#endif
