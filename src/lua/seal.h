/* plugins.manifest: what a folder of plugins holds, as a text to sign.
 *
 *   moonplan plugins 1
 *   file orders/init.lua 2187 5c1f...        path, bytes, BLAKE2b-256
 *   item orders.create 1.2.0 orders/init.lua  name, version, the file that brings it
 *
 * Files first, sorted by path as bytes; then items, sorted by name. Each line ends with LF. A path
 * has names of letters, digits, _, - and . (not first) with single slashes between them; no two
 * differ in case alone. Files whose name begins with a dot are not looked at, here or by anybody.
 */
#ifndef MPL_LUA_SEAL_H
#define MPL_LUA_SEAL_H

#include "sources.h"

#define MPL_SEAL_HEADER    "moonplan plugins 1"
#define MPL_SEAL_NAME      "plugins.manifest"
#define MPL_SIGNATURE_NAME "plugins.manifest.minisig"
#define MPL_SEAL_MOST      65536
#define MPL_SEAL_FILES     64

typedef struct mpl_seal_file {
    moonplan_text path;
    uint64_t size;
    uint8_t digest[32];
} mpl_seal_file;

typedef struct mpl_seal_item {
    moonplan_text name, version, path;
} mpl_seal_item;

typedef struct mpl_seal {
    mpl_alloc alloc;
    mpl_buffer text; /* of the manifest; the texts above point into it */
    mpl_seal_file files[MPL_SEAL_FILES];
    size_t file_count;
    mpl_seal_item *items;
    size_t item_count, item_capacity;
    /* Who signed it (trust.c). */
    char key[MOONPLAN_KEY_NAME_SIZE];
    size_t signer;
} mpl_seal;

mpl_seal *mpl_seal_new(const moonplan_options *options, moonplan_error *err);
void mpl_seal_free(mpl_seal *seal);

/* Read seal->text; false with `plugin.signature`, or `memory`. */
bool mpl_seal_parse(mpl_seal *seal, moonplan_error *err);
const mpl_seal_file *mpl_seal_find(const mpl_seal *seal, moonplan_text path);
/* The file's bytes are what the manifest says; false with `plugin.signature`. */
bool mpl_seal_check(const mpl_seal *seal, moonplan_text path, uint64_t size,
                    const uint8_t digest[32], moonplan_error *err);
/* Size and digest of a file of at most so many bytes. */
bool mpl_seal_hash(moonplan_root *root, const char *path, uint64_t most, mpl_alloc *alloc,
                   uint64_t *size, uint8_t digest[32], moonplan_error *err);
/* The folder has the manifest's files, and no other; their content is not read. */
bool mpl_seal_compare(const mpl_seal *seal, moonplan_root *root, moonplan_error *err);

/* All of its files are what it says. */
bool mpl_seal_contents(const mpl_seal *seal, moonplan_root *root, uint64_t most,
                       moonplan_error *err);

/* What of a manifest and its signature is in a folder. */
bool mpl_seal_present(moonplan_root *root, bool *manifest, bool *signature, moonplan_error *err);
/* Every file of a folder that a manifest has to name, one call each, sorted within a folder;
 * `each` returns false to end it, with *err. */
bool mpl_seal_walk(moonplan_root *root, bool (*each)(void *data, moonplan_text path), void *data,
                   moonplan_error *err);
/* Whether a manifest can name it: false with `plugin.signature`. */
bool mpl_seal_path(moonplan_text path, moonplan_error *err);

#endif
