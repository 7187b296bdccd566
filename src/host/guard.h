/* Who else could change what is in a folder, or what a path leads to. */
#ifndef MPL_HOST_GUARD_H
#define MPL_HOST_GUARD_H

#include <stdbool.h>
#include <sys/stat.h>

#include "../core/path.h"

/* Whether others than root, `owner` and the user that this process acts as can change this file, or
 * what is in this folder; of a folder on the way down (`above`), whether they could put another one
 * in the place of what is below. *found is of what `file` is open on (O_PATH is enough). */
bool mpl_guard_open(int file, const struct stat *found, uid_t owner, bool above);
/* The folder of `owner` and all that it stands in; on the way down itself if `*above` is set. 0, or
 * EKEYREJECTED with the guilty one in *found, or another errno. */
int mpl_guard_folder(int folder, uid_t owner, struct stat *found, bool *above);

/* The folder that a path's last name stands in, opened with O_PATH, and that name, which is to be
 * opened with O_NOFOLLOW. Links on the way are followed, and with `last` one that the path ends
 * with, as long as they belong to root or to the user that this process acts as, and stand in a
 * folder where nobody else could put another one in their place: a link names what it names to
 * whoever can change it. 0, or EKEYREJECTED for a link of others, or another errno. */
int mpl_guard_walk(const char *path, bool last, int *folder, char name[MPL_PATH_NAME_MOST + 1]);

#endif
