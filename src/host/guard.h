/* Who else could change what is in a folder. */
#ifndef MPL_HOST_GUARD_H
#define MPL_HOST_GUARD_H

#include <stdbool.h>
#include <sys/stat.h>

/* Whether others than root and `owner` can change this file, or what is in this folder; of a folder
 * on the way down (`above`), whether they could put another one in the place of what is below. */
bool mpl_guard_open(const struct stat *found, uid_t owner, bool above);
/* The folder of `owner` and all that it stands in; 0, or EKEYREJECTED
 * with the guilty one in *found, or another errno. */
int mpl_guard_folder(int folder, uid_t owner, struct stat *found, bool *above);

#endif
