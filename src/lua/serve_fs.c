/* fs: files below the granted folders, or those of an example. */
#include <string.h>

#include "../core/path.h"
#include "../core/text.h"
#include "serve.h"

/* -- Doubles ---------------------------------------------------------------*/

bool mpl_doubles_read(const mpl_doubles *doubles, moonplan_text path, moonplan_text *out) {
    const mpl_written *written = mpl_doubles_find(doubles->files, path);
    if (written) {
        *out = written->content;
        return true;
    }
    moonplan_value file = moonplan_value_member(mpl_given(doubles, "fs"), path.bytes, path.length);
    *out = moonplan_value_string(file);
    return moonplan_value_type(file) == MOONPLAN_STRING;
}

typedef enum stands { NOTHING, A_FILE, A_FOLDER, BELOW_A_FILE } stands;

static bool holds(moonplan_text folder, moonplan_text path) {
    return path.length > folder.length && path.bytes[folder.length] == '/' &&
           memcmp(path.bytes, folder.bytes, folder.length) == 0;
}

/* Folders are there as far as a file is in them; the granted one always is. */
static stands stands_at(const mpl_doubles *doubles, moonplan_text path) {
    moonplan_text content;
    if (path.length == 0) return A_FOLDER;
    if (mpl_doubles_read(doubles, path, &content)) return A_FILE;
    moonplan_walk walk = moonplan_value_walk(mpl_given(doubles, "fs"));
    while (moonplan_walk_next(&walk))
        if (holds(path, walk.name)) return A_FOLDER;
    for (const mpl_written *at = doubles->files; at; at = at->next)
        if (holds(path, at->path)) return A_FOLDER;
    for (size_t i = 0; i < path.length; i++)
        if (path.bytes[i] == '/' &&
            mpl_doubles_read(doubles, (moonplan_text){path.bytes, i}, &content))
            return BELOW_A_FILE;
    return NOTHING;
}

static bool unavailable(moonplan_error *err, const char *format, moonplan_text path) {
    mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL, format, &path);
    return false;
}

/* What the real power says where `wanted` does not stand at the path. */
static bool expect(const mpl_doubles *doubles, stands wanted, moonplan_text path,
                   moonplan_error *err) {
    if (!mpl_path_check(path, err)) return false;
    stands found = stands_at(doubles, path);
    if (found == wanted) return true;
    if (found == NOTHING) return unavailable(err, "there is no file %q", path);
    return unavailable(
        err, found == A_FOLDER ? "%q is a folder" : "%q leads through something that is no folder",
        path);
}

static bool may_write(const mpl_doubles *doubles, moonplan_text path, moonplan_error *err) {
    if (!mpl_path_check(path, err)) return false;
    if (path.length == 0) return mpl_path_refuse(path, "names no file", err);
    moonplan_text folder = path;
    while (folder.length && folder.bytes[folder.length - 1] != '/') folder.length--;
    if (folder.length) folder.length--;
    stands found = stands_at(doubles, folder);
    if (found == NOTHING) return unavailable(err, "there is no folder for %q", path);
    if (found != A_FOLDER)
        return unavailable(err, "%q leads through something that is no folder", path);
    if (stands_at(doubles, path) == A_FOLDER) return unavailable(err, "%q is a folder", path);
    return true;
}

/* The part of a path below a folder, up to the next slash: what the folder's list shows of it. */
static bool below(moonplan_text *name, bool *folder, moonplan_text path, moonplan_text within) {
    if (within.length) {
        if (path.length <= within.length + 1 || path.bytes[within.length] != '/' ||
            memcmp(path.bytes, within.bytes, within.length) != 0)
            return false;
        path.bytes += within.length + 1;
        path.length -= within.length + 1;
    }
    const char *slash = memchr(path.bytes, '/', path.length);
    *folder = slash != NULL;
    *name = (moonplan_text){path.bytes, slash ? (size_t)(slash - path.bytes) : path.length};
    return true;
}

/* Names as they stand in a list, each with a NUL behind it. */
static bool add_name(void *data, moonplan_text name, bool folder) {
    mpl_buffer *out = data;
    mpl_buffer_add(out, name.bytes, name.length);
    if (folder) mpl_buffer_byte(out, '/');
    mpl_buffer_byte(out, 0);
    return true;
}

/* The least name of the folder's list behind `last` ({NULL, 0}: the first): an example has a
 * handful of files. */
static bool next_double(const mpl_doubles *doubles, moonplan_text within, moonplan_text last,
                        moonplan_text *name, bool *folder) {
    bool found = false;
    moonplan_walk walk = moonplan_value_walk(mpl_given(doubles, "fs"));
    const mpl_written *at = doubles->files;
    for (;;) {
        moonplan_text path, one;
        bool is_folder;
        if (moonplan_walk_next(&walk)) {
            path = walk.name;
        } else if (at) {
            path = at->path;
            at = at->next;
        } else {
            return found;
        }
        if (!below(&one, &is_folder, path, within)) continue;
        if (last.bytes && mpl_text_order(one, last) <= 0) continue;
        if (found && mpl_text_order(one, *name) >= 0) continue;
        *name = one;
        *folder = is_folder;
        found = true;
    }
}

static bool list_doubles(const mpl_doubles *doubles, moonplan_text within, mpl_buffer *out,
                         moonplan_error *err) {
    moonplan_text name, last = {NULL, 0};
    bool folder;
    if (!expect(doubles, A_FOLDER, within, err)) return false;
    while (next_double(doubles, within, last, &name, &folder)) {
        add_name(out, name, folder);
        last = name;
    }
    return true;
}

/* -- Operations --------------------------------------------------------------*/

static moonplan_root *root_of(const mpl_serving *s) {
    const mpl_grants *grants = mpl_serving_grants(s);
    bool writable = (s->call->allowed & MPL_POWER_FS_RW) != 0;
    return grants->fs && !writable ? grants->fs : grants->fs_rw;
}

static bool read_file(mpl_serving *s, moonplan_text path) {
    const mpl_doubles *doubles = s->call->doubles;
    moonplan_text content;
    uint64_t mib = mpl_serving_limits(s)->string_mib;
    if (doubles) {
        if (!expect(doubles, A_FILE, path, s->err)) return false;
        mpl_doubles_read(doubles, path, &content);
        mpl_buffer_add(&s->out->bytes, content.bytes, content.length);
        return true;
    }
    if (moonplan_root_read(root_of(s), mpl_buffer_sink, &s->out->bytes, path.bytes, path.length,
                           mib << 20, s->err))
        return true;
    if (s->err->code == MOONPLAN_LIMIT)
        mpl_error_set(s->err, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                      "%q is larger than the limit string_mib allows: %u", &path, mib);
    return false;
}

static bool measure(mpl_serving *s, moonplan_text path, uint64_t *size) {
    const mpl_doubles *doubles = s->call->doubles;
    moonplan_text content;
    bool folder = false;
    if (doubles) {
        if (!expect(doubles, A_FILE, path, s->err)) return false;
        mpl_doubles_read(doubles, path, &content);
        *size = content.length;
        return true;
    }
    if (!moonplan_root_stat(root_of(s), &folder, size, path.bytes, path.length, s->err))
        return false;
    return !folder || unavailable(s->err, "%q is a folder", path);
}

static bool list(mpl_serving *s, moonplan_text path) {
    if (s->call->doubles) return list_doubles(s->call->doubles, path, &s->out->bytes, s->err);
    return moonplan_root_list(root_of(s), add_name, &s->out->bytes, path.bytes, path.length,
                              mpl_serving_limits(s)->copied_values, s->err);
}

static bool write_file(mpl_serving *s, moonplan_text path, moonplan_text content) {
    mpl_doubles *doubles = s->call->doubles;
    if (!doubles)
        return moonplan_root_write(root_of(s), path.bytes, path.length, content.bytes,
                                   content.length, s->err);
    if (!may_write(doubles, path, s->err)) return false;
    if (mpl_doubles_write(doubles, &doubles->files, path, content)) return true;
    mpl_error_memory(s->err);
    return false;
}

mpl_served mpl_serve_fs(mpl_serving *s) {
    moonplan_text path = mpl_in_bytes(s, 0);
    uint64_t size = 0;
    switch (s->operation) {
    case MPL_FS_READ:
        return read_file(s, path) ? mpl_give_bytes(s) : MPL_REFUSED;
    case MPL_FS_LIST:
        return list(s, path) ? mpl_give_bytes(s) : MPL_REFUSED;
    case MPL_FS_SIZE:
        if (!measure(s, path, &size)) return MPL_REFUSED;
        mpl_slots_integer(&s->out->slots, (int64_t)size);
        return MPL_SERVED;
    default:
        return write_file(s, path, mpl_in_bytes(s, 1)) ? mpl_give_true(s) : MPL_REFUSED;
    }
}
