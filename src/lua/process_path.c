/* Where the runner is. _GNU_SOURCE comes from the build, and MOONPLAN_RUNNER_PLACES, what the build
 * knows: paths relative to the file that this code is in, and absolute ones. */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/error.h"
#include "process.h"

#ifdef MOONPLAN_WITHOUT_RUNNER
#define LACK "this build has no moonplan-runner, which does that (MOONPLAN_RUNNER=OFF)"
#else
#define LACK                                                                                       \
    "moonplan-runner, which does that, is not where it was built or installed: install it again, " \
    "or name it in the option runner of a host"
#endif

/* A program that belongs to somebody else, or that anybody can write to, is none of ours: the
 * places are looked at from the folder of whoever uses the library, wherever that may be. */
static bool is_ours(const char *path) {
    struct stat status;
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode)) return false;
    return (status.st_uid == 0 || status.st_uid == geteuid()) && (status.st_mode & S_IWOTH) == 0 &&
           access(path, X_OK) == 0;
}

static const char *keep(mpl_buffer *out, const char *path, moonplan_error *err) {
    out->length = 0;
    mpl_buffer_add(out, path, strlen(path) + 1);
    if (!out->failed) return out->bytes;
    mpl_error_memory(err);
    return NULL;
}

/* The folder of the program or library that this code is part of, with its links followed. */
static bool own_folder(char folder[PATH_MAX]) {
    static const char anchor = 0;
    Dl_info info;
    if (!dladdr(&anchor, &info) || !info.dli_fname) return false;
    /* The program itself is known by the name that it was called by. */
    if (!strchr(info.dli_fname, '/') || !realpath(info.dli_fname, folder)) {
        ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
        if (length <= 0) return false;
        folder[length] = 0;
    }
    char *slash = strrchr(folder, '/');
    if (!slash) return false;
    *slash = 0;
    return true;
}

static const char *look(mpl_buffer *out, moonplan_error *err) {
    static const char *const places[] = {MOONPLAN_RUNNER_PLACES};
    char folder[PATH_MAX], path[2 * PATH_MAX];
    if (!own_folder(folder)) folder[0] = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bool relative = places[i][0] != '/';
        if (relative && !folder[0]) continue;
        path[0] = 0;
        if (relative) strcat(strcpy(path, folder), "/");
        if (strlen(path) + strlen(places[i]) >= sizeof path) continue;
        strcat(path, places[i]);
        if (is_ours(path)) return keep(out, path, err);
    }
    mpl_error_set(err, MOONPLAN_PLUGIN_ISOLATION, MOONPLAN_NO_OFFSET, NULL,
                  "it has to be confined, and " LACK
                  "; isolation \"state\" runs it without, for whoever trusts it");
    return NULL;
}

const char *mpl_runner_path(mpl_buffer *out, const moonplan_text *given, moonplan_error *err) {
    if (!given || !given->bytes) return look(out, err);
    out->length = 0;
    mpl_buffer_add(out, given->bytes, given->length);
    mpl_buffer_byte(out, 0);
    if (!out->failed) return out->bytes;
    mpl_error_memory(err);
    return NULL;
}
