/* Files below a root: the public functions are in moonplan.h; this is for tests. */
#ifndef MPL_HOST_FILES_H
#define MPL_HOST_FILES_H

#include "../moonplan.h"

/* From now on walk name by name, as on a kernel without openat2. */
void mpl_root_walk(moonplan_root *root);

#endif
