/* _GNU_SOURCE comes from the build: realpath. */
#include "fetch.h"

#include <stdlib.h>
#include <string.h>

#include "../call/artifact.h"
#include "../core/error.h"

/* A folder that file references may lead to, and what it is called. */
typedef struct folder {
    moonplan_root *root;
    /* Absolute, without a slash at the end ("" is the root of all): as it was given, {NULL, 0} when
     * that was relative; and without links. */
    moonplan_text given, real;
    char *bytes; /* of both */
    size_t size;
} folder;

struct moonplan_fetcher {
    mpl_alloc alloc;
    uint64_t fetch_ms;
    mpl_http *http;
    folder *folders;
    size_t folder_count;
};

/* -- Folders -----------------------------------------------------------------*/

static moonplan_text without_slashes(moonplan_text path) {
    while (path.length && path.bytes[path.length - 1] == '/') path.length--;
    return path;
}

static bool open_folder(mpl_alloc *alloc, folder *out, moonplan_text path,
                        const moonplan_options *options, moonplan_error *err) {
    out->root = moonplan_root_open(path.bytes, path.length, 0, options, err);
    if (!out->root) return false;
    /* It has no NUL in it, or the root would not be open. */
    char *given = mpl_allocate(alloc, path.length + 1), *real = NULL;
    if (given) {
        memcpy(given, path.bytes, path.length);
        given[path.length] = 0;
        real = realpath(given, NULL);
        mpl_release(alloc, given, path.length + 1);
    }
    size_t real_length = real ? strlen(real) : 0;
    out->size = path.length + real_length + 1;
    out->bytes = given ? mpl_allocate(alloc, out->size) : NULL;
    if (out->bytes) {
        memcpy(out->bytes, path.bytes, path.length);
        if (real) memcpy(out->bytes + path.length, real, real_length);
        if (path.bytes[0] == '/')
            out->given = without_slashes((moonplan_text){out->bytes, path.length});
        if (real)
            out->real = without_slashes((moonplan_text){out->bytes + path.length, real_length});
    } else {
        mpl_error_memory(err);
    }
    free(real);
    return out->bytes != NULL;
}

static bool open_folders(moonplan_fetcher *fetcher, const moonplan_fetch_options *fetch,
                         const moonplan_options *options, moonplan_error *err) {
    size_t count = fetch->file_root_count;
    if (count == 0) return true;
    fetcher->folders = mpl_allocate(&fetcher->alloc, count * sizeof *fetcher->folders);
    if (!fetcher->folders) {
        mpl_error_memory(err);
        return false;
    }
    memset(fetcher->folders, 0, count * sizeof *fetcher->folders);
    fetcher->folder_count = count;
    for (size_t i = 0; i < count; i++)
        if (!open_folder(&fetcher->alloc, &fetcher->folders[i], fetch->file_roots[i], options, err))
            return false;
    return true;
}

/* What stands in a path behind the name of a folder and a slash; {NULL, 0} if it does not lead
 * there. */
static moonplan_text below(moonplan_text path, moonplan_text name) {
    if (!name.bytes || path.length <= name.length + 1 || path.bytes[name.length] != '/' ||
        memcmp(path.bytes, name.bytes, name.length) != 0)
        return (moonplan_text){NULL, 0};
    return (moonplan_text){path.bytes + name.length + 1, path.length - name.length - 1};
}

/* -- Fetchers ----------------------------------------------------------------*/

moonplan_fetcher *moonplan_fetcher_new(const moonplan_fetch_options *fetch,
                                       const moonplan_options *options, moonplan_error *err) {
    static const moonplan_fetch_options none = {.file_roots = NULL};
    moonplan_options own = mpl_options_of(options);
    if (!fetch) fetch = &none;
    if (!mpl_options_sound(&own, err)) return NULL;
    mpl_alloc alloc = mpl_alloc_of(&own);
    moonplan_fetcher *fetcher = mpl_allocate(&alloc, sizeof *fetcher);
    if (!fetcher) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(fetcher, 0, sizeof *fetcher);
    fetcher->alloc = alloc;
    fetcher->fetch_ms = own.limits.fetch_ms;
    mpl_http_setup setup = {.at_once = (size_t)own.limits.fetches,
                            .ca_file = fetch->ca_file,
                            .resolver = fetch->resolver,
                            .resolver_data = fetch->resolver_data};
    fetcher->http = mpl_http_new(&setup, &alloc, err);
    if (!fetcher->http || !open_folders(fetcher, fetch, &own, err)) {
        moonplan_fetcher_free(fetcher);
        return NULL;
    }
    return fetcher;
}

void moonplan_fetcher_free(moonplan_fetcher *fetcher) {
    if (!fetcher) return;
    mpl_alloc alloc = fetcher->alloc;
    for (size_t i = 0; i < fetcher->folder_count; i++) {
        moonplan_root_free(fetcher->folders[i].root);
        mpl_release(&alloc, fetcher->folders[i].bytes, fetcher->folders[i].size);
    }
    mpl_release(&alloc, fetcher->folders, fetcher->folder_count * sizeof *fetcher->folders);
    mpl_http_free(fetcher->http);
    mpl_release(&alloc, fetcher, sizeof *fetcher);
}

void mpl_fetcher_hook(moonplan_fetcher *fetcher, mpl_http_socket make, void *data) {
    mpl_http_hook(fetcher->http, make, data);
}

/* -- file --------------------------------------------------------------------*/

static bool take_piece(void *data, const char *bytes, size_t length) {
    return moonplan_artifact_add(data, bytes, length);
}

/* The folder that a path leads into, the innermost of them, and the rest of the path. */
static const folder *find_folder(const moonplan_fetcher *fetcher, moonplan_text path,
                                 moonplan_text *rest) {
    const folder *found = NULL;
    for (size_t i = 0; i < fetcher->folder_count; i++) {
        const moonplan_text names[] = {fetcher->folders[i].given, fetcher->folders[i].real};
        for (size_t k = 0; k < 2; k++) {
            moonplan_text name = below(path, names[k]);
            if (!name.bytes || (found && name.length >= rest->length)) continue;
            found = &fetcher->folders[i];
            *rest = name;
        }
    }
    return found;
}

/* No reason is given for what is not found: none would be shown. A root on a file system that
 * stalls (a network's, or a program's) stalls this; fetch_ms does not reach into the kernel. */
static void fetch_file(moonplan_fetcher *fetcher, moonplan_artifact *artifact) {
    moonplan_text rest;
    const folder *f = find_folder(fetcher, moonplan_artifact_path(artifact), &rest);
    if (f && moonplan_root_read(f->root, take_piece, artifact, rest.bytes, rest.length,
                                moonplan_artifact_size(artifact), NULL))
        moonplan_artifact_end(artifact);
    else
        moonplan_artifact_fail(artifact, "");
}

/* -- https -------------------------------------------------------------------*/

static bool take_addresses(void *data, const mpl_addresses *addresses) {
    moonplan_artifact *artifact = data;
    /* An address in the URL was judged with it. */
    moonplan_address first;
    if (moonplan_artifact_address(artifact, &first, 0)) return true;
    return moonplan_artifact_resolved(artifact, addresses->list, addresses->count);
}

static bool take_status(void *data, unsigned status) {
    return moonplan_artifact_status(data, status);
}

static void fetch_https(moonplan_fetcher *fetcher, moonplan_artifact *artifact) {
    static const mpl_http_header accept = {{"Accept", 6}, {"application/json", 16}};
    /* A byte now and then is no answer: any line that still works carries 64 in a second. How long
     * the server thinks before it answers is bounded by fetch_ms alone. */
    mpl_http_policy policy = {.schemes = MPL_HTTP_SECURE,
                              .methods = MOONPLAN_HTTP_GET,
                              .head_most = 65536,
                              .body_most = moonplan_artifact_size(artifact),
                              .resolve_ms = 5000,
                              .connect_ms = 5000,
                              .slow_bytes = 64,
                              .slow_ms = 2000};
    mpl_http_request request = {.scheme = MPL_HTTP_SECURE,
                                .method = MOONPLAN_HTTP_GET,
                                .host = moonplan_artifact_host(artifact),
                                .target = moonplan_artifact_target(artifact),
                                .headers = &accept,
                                .header_count = 1,
                                .deadline = mpl_now() + fetcher->fetch_ms,
                                .resolved = take_addresses,
                                .status = take_status,
                                .piece = take_piece,
                                .data = artifact};
    const char *reason = "";
    moonplan_error late;
    switch (mpl_http_perform(fetcher->http, &policy, &request, &artifact->alloc, &reason)) {
    case MPL_HTTP_DONE:
        moonplan_artifact_end(artifact);
        break;
    case MPL_HTTP_STOPPED: /* the artifact did, and knows why; a refusal stays as it is */
        moonplan_artifact_fail(artifact, "the response was not wanted");
        break;
    case MPL_HTTP_MEMORY:
        mpl_artifact_no_memory(artifact);
        break;
    case MPL_HTTP_LATE:
        mpl_error_set(&late, MOONPLAN_ARTIFACT_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                      "%s: the limit fetch_ms allows %u milliseconds", reason, fetcher->fetch_ms);
        moonplan_artifact_fail(artifact, late.message);
        break;
    default:
        moonplan_artifact_fail(artifact, reason);
    }
}

bool moonplan_artifact_fetch(moonplan_artifact *artifact, moonplan_fetcher *fetcher,
                             moonplan_error *err) {
    for (;;) {
        switch (moonplan_artifact_next(artifact, err)) {
        case MOONPLAN_ARTIFACT_WANTS_NOTHING:
            return true;
        case MOONPLAN_ARTIFACT_REFUSED:
            return false;
        default:
            if (moonplan_artifact_transport(artifact) == MOONPLAN_TRANSPORT_FILE)
                fetch_file(fetcher, artifact);
            else
                fetch_https(fetcher, artifact);
        }
    }
}
