/* A disk whose power can be cut: a VFS of SQLite's that keeps every write in mind until it is
 * synced, and can lay out what a disk might hold afterwards. Reading, locking and shared memory are
 * those of the VFS below; nothing is really synced, so that it is quick. */
#ifndef MOONPLAN_SPEC_POWER_CUT_H
#define MOONPLAN_SPEC_POWER_CUT_H

#include <stdbool.h>
#include <stdint.h>

/* Make it the VFS that databases are opened with. With `normal` every connection runs with
 * synchronous NORMAL, whatever it asks for. */
bool power_install(bool normal);

/* A new disk, where files are as they stand. After `changes` more of them (writes, truncations,
 * syncs, deletions; -1: never) the power is gone: whatever touches the disk fails. */
void power_on(long changes);
bool power_is_off(void);
/* Changes since power_on. */
long power_changes(void);

/* Write the files that were opened since power_on into another folder, under their own names, as
 * they might stand on the disk: what was synced, and of every later change all, nothing, or, of a
 * write, some of its sectors of 512 bytes, as the seed decides. */
bool power_image(const char *folder, uint64_t seed);

#endif
