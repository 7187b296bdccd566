#include "path.h"

#include <string.h>

#include "error.h"
#include "text.h"

bool mpl_path_refuse(moonplan_text path, const char *why, moonplan_error *err) {
    mpl_error_set(err, MOONPLAN_FILE_PATH, MOONPLAN_NO_OFFSET, NULL, "the path %q %s", &path, why);
    return false;
}

static bool too_long(moonplan_text path, moonplan_error *err) {
    return mpl_path_refuse(path, "is longer than 4095 bytes", err);
}

static bool holds_nul(moonplan_text path, moonplan_error *err) {
    return mpl_path_refuse(path, "holds a NUL", err);
}

bool mpl_path_check_outer(moonplan_text path, moonplan_error *err) {
    if (path.length == 0) return mpl_path_refuse(path, "is empty", err);
    if (path.length > MPL_PATH_MOST) return too_long(path, err);
    return !memchr(path.bytes, 0, path.length) || holds_nul(path, err);
}

bool mpl_path_check(moonplan_text path, moonplan_error *err) {
    const char *bytes = path.bytes;
    if (path.length > MPL_PATH_MOST) return too_long(path, err);
    if (path.length > 0 && bytes[0] == '/')
        return mpl_path_refuse(path, "begins at /; paths begin below the granted folder", err);
    for (size_t from = 0, at = 0; at <= path.length && path.length > 0; at++) {
        if (at < path.length && bytes[at] == 0) return holds_nul(path, err);
        if (at < path.length && bytes[at] != '/') continue;
        moonplan_text name = {bytes + from, at - from};
        if (name.length == 0)
            return mpl_path_refuse(path, "has an empty name between slashes", err);
        if (name.length > MPL_PATH_NAME_MOST)
            return mpl_path_refuse(path, "has a name over 255 bytes", err);
        if (mpl_text_is(name, ".."))
            return mpl_path_refuse(path, "has \"..\", which leads out", err);
        if (mpl_text_is(name, "."))
            return mpl_path_refuse(path, "has \".\", which says nothing", err);
        from = at + 1;
    }
    return true;
}
