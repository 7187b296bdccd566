/* Paths below a folder, as the power fs takes them: the real one and its double in examples. */
#ifndef MPL_CORE_PATH_H
#define MPL_CORE_PATH_H

#include "../moonplan.h"

#define MPL_PATH_MOST      4095
#define MPL_PATH_NAME_MOST 255

/* A row of names with single slashes between them, or "", the folder itself; false with
 * `file.path`. */
bool mpl_path_check(moonplan_text path, moonplan_error *err);
/* The path of a root or a key, anywhere: neither empty nor too long, and without a NUL. */
bool mpl_path_check_outer(moonplan_text path, moonplan_error *err);
/* Set `file.path` for a path that `why` is said of; false. */
bool mpl_path_refuse(moonplan_text path, const char *why, moonplan_error *err);

#endif
