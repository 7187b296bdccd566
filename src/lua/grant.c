#include "grant.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "../core/error.h"
#include "../core/text.h"

#define PATH_ROOM 4096

/* -- Secrets -------------------------------------------------------------------*/

static bool refuse(moonplan_error *err, moonplan_code code, moonplan_text need, const char *text) {
    mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, "the grant of %q %s", &need, text);
    return false;
}

/* A file's whole content, but for a line's end behind it. Links are followed, and whatever is there
 * is read: the host chose it. */
static bool read_file(char out[MPL_SECRET_MOST + 3], size_t *length, const mpl_grant *grant,
                      moonplan_error *err) {
    char path[PATH_ROOM];
    if (grant->what.length == 0 || grant->what.length >= sizeof path ||
        memchr(grant->what.bytes, 0, grant->what.length))
        return refuse(err, MOONPLAN_OPTION, grant->need, "names no file");
    memcpy(path, grant->what.bytes, grant->what.length);
    path[grant->what.length] = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return refuse(err, MOONPLAN_FILE_UNAVAILABLE, grant->need,
                      "names a file that cannot be read");
    setvbuf(file, NULL, _IONBF, 0); /* no second copy of it */
    *length = fread(out, 1, MPL_SECRET_MOST + 3, file);
    bool broken = ferror(file) != 0;
    fclose(file);
    if (broken)
        return refuse(err, MOONPLAN_FILE_UNAVAILABLE, grant->need,
                      "names a file that cannot be read");
    if (*length && out[*length - 1] == '\n') --*length;
    if (*length && out[*length - 1] == '\r') --*length;
    return true;
}

static bool keep_secret(mpl_grants *grants, const mpl_grant *grant, moonplan_text name,
                        moonplan_text bytes, moonplan_error *err) {
    if (bytes.length < MPL_SECRET_LEAST || bytes.length > MPL_SECRET_MOST) {
        mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                      "the grant of %q has %u bytes; a secret has 8 to 4096", &grant->need,
                      (uint64_t)bytes.length);
        return false;
    }
    mpl_secret *kept = &grants->secrets[grants->secret_count];
    kept->name.bytes = mpl_arena_copy(&grants->texts, name.bytes, name.length);
    kept->name.length = name.length;
    char *copy = kept->name.bytes ? mpl_allocate(&grants->alloc, bytes.length) : NULL;
    if (!copy) {
        mpl_error_memory(err);
        return false;
    }
    memcpy(copy, bytes.bytes, bytes.length);
    kept->bytes = (moonplan_text){copy, bytes.length};
    grants->secret_count++;
    return true;
}

static bool open_secret(mpl_grants *grants, const mpl_grant *grant, moonplan_text name,
                        moonplan_error *err) {
    char content[MPL_SECRET_MOST + 3];
    size_t length;
    if (grant->literal) return keep_secret(grants, grant, name, grant->what, err);
    bool fine = read_file(content, &length, grant, err) &&
                keep_secret(grants, grant, name, (moonplan_text){content, length}, err);
    sodium_memzero(content, sizeof content);
    return fine;
}

/* -- Folders and URLs ----------------------------------------------------------*/

static bool open_folder(moonplan_root **root, const mpl_grant *grant, unsigned flags,
                        const moonplan_options *options, moonplan_error *err) {
    *root = moonplan_root_open(grant->what.bytes, grant->what.length, flags, options, err);
    return *root != NULL;
}

static moonplan_http *open_http(const moonplan_text *origins, size_t count, unsigned methods,
                                const moonplan_options *options, moonplan_text need,
                                moonplan_error *err) {
    uint64_t most = options->limits.string_mib << 20;
    moonplan_http_options wanted = {.origins = origins,
                                    .origin_count = count,
                                    .methods = methods,
                                    .request_bytes = most,
                                    .response_bytes = most};
    moonplan_error why;
    moonplan_http *http = moonplan_http_new(&wanted, options, &why);
    if (http) return http;
    if (why.code == MOONPLAN_MEMORY)
        mpl_error_memory(err);
    else
        mpl_error_set(err, why.code, MOONPLAN_NO_OFFSET, NULL, "the grant of %q: %s", &need,
                      why.message);
    return NULL;
}

static bool open_endpoint(mpl_grants *grants, const mpl_grant *grant, moonplan_text name,
                          const moonplan_options *options, moonplan_error *err) {
    static const char https[] = "https://", http[] = "http://";
    moonplan_text url = grant->what;
    if ((url.length < sizeof https || memcmp(url.bytes, https, sizeof https - 1) != 0) &&
        (url.length < sizeof http || memcmp(url.bytes, http, sizeof http - 1) != 0))
        return refuse(err, MOONPLAN_OPTION, grant->need,
                      "is no URL: https://HOST/PATH, or http://127.0.0.1:PORT");
    mpl_endpoint *kept = &grants->endpoints[grants->endpoint_count];
    kept->name.bytes = mpl_arena_copy(&grants->texts, name.bytes, name.length);
    kept->name.length = name.length;
    kept->url.bytes = mpl_arena_copy(&grants->texts, url.bytes, url.length);
    kept->url.length = url.length;
    if (!kept->name.bytes || !kept->url.bytes) {
        mpl_error_memory(err);
        return false;
    }
    kept->http = open_http(&kept->url, 1, MOONPLAN_HTTP_POST, options, grant->need, err);
    if (!kept->http) return false;
    grants->endpoint_count++;
    if (mpl_url_needles(&kept->hidden, &grants->alloc, kept->url)) return true;
    mpl_error_memory(err);
    return false;
}

/* All origins make one client. */
static bool open_origins(mpl_grants *grants, const mpl_grant *list, size_t count,
                         const moonplan_options *options, moonplan_error *err) {
    size_t found = 0;
    moonplan_text *origins = mpl_arena_take(&grants->texts, (count + 1) * sizeof *origins);
    if (!origins) {
        mpl_error_memory(err);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (mpl_power_of(list[i].need, NULL) == MPL_POWER_HTTP) origins[found++] = list[i].what;
    if (found == 0) return true;
    grants->http = open_http(origins, found, 63, options, MOONPLAN_TEXT("http"), err);
    return grants->http != NULL;
}

/* -- All of them -----------------------------------------------------------------*/

static bool open_one(mpl_grants *grants, const mpl_grant *grant, const moonplan_options *options,
                     moonplan_error *err) {
    moonplan_text name;
    unsigned power = mpl_power_of(grant->need, &name);
    switch (power) {
    case 0:
        mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                      "there is no power %q; there are: " MPL_NEED_FORMS, &grant->need);
        return false;
    case MPL_POWER_FS:
        if (!open_folder(&grants->fs, grant, 0, options, err)) return false;
        break;
    case MPL_POWER_FS_RW:
        if (!open_folder(&grants->fs_rw, grant, MOONPLAN_ROOT_WRITE, options, err)) return false;
        power |= MPL_POWER_FS;
        break;
    case MPL_POWER_RPC:
        return open_endpoint(grants, grant, name, options, err);
    case MPL_POWER_SECRET:
        return open_secret(grants, grant, name, err);
    default:
        break;
    }
    grants->powers |= power;
    return true;
}

/* http may be granted host by host. */
static bool check_twice(const mpl_grant *list, size_t n, moonplan_error *err) {
    if (mpl_power_of(list[n].need, NULL) == MPL_POWER_HTTP) return true;
    for (size_t i = 0; i < n; i++)
        if (mpl_text_equal(list[i].need, list[n].need)) {
            mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL, "%q is granted twice",
                          &list[n].need);
            return false;
        }
    return true;
}

bool mpl_grants_open(mpl_grants *grants, const mpl_grant *list, size_t count,
                     const moonplan_options *options, moonplan_error *err) {
    memset(grants, 0, sizeof *grants);
    grants->alloc = mpl_alloc_of(options);
    mpl_arena_open(&grants->texts, &grants->alloc);
    if (count == 0) return true;
    grants->endpoints = mpl_arena_take(&grants->texts, count * sizeof *grants->endpoints);
    grants->secrets = mpl_arena_take(&grants->texts, count * sizeof *grants->secrets);
    if (!grants->endpoints || !grants->secrets) {
        mpl_error_memory(err);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!check_twice(list, i, err) || !open_one(grants, &list[i], options, err)) return false;
    if (!mpl_secrets_needles(&grants->hidden, &grants->alloc, &grants->texts, grants->secrets,
                             grants->secret_count)) {
        mpl_error_memory(err);
        return false;
    }
    return open_origins(grants, list, count, options, err);
}

void mpl_grants_close(mpl_grants *grants) {
    moonplan_root_free(grants->fs);
    moonplan_root_free(grants->fs_rw);
    moonplan_http_free(grants->http);
    for (size_t i = 0; i < grants->endpoint_count; i++) {
        moonplan_http_free(grants->endpoints[i].http);
        mpl_needles_close(&grants->endpoints[i].hidden);
    }
    mpl_needles_close(&grants->hidden);
    for (size_t i = 0; i < grants->secret_count; i++) {
        moonplan_text secret = grants->secrets[i].bytes;
        void *bytes = (void *)(uintptr_t)secret.bytes;
        sodium_memzero(bytes, secret.length);
        mpl_release(&grants->alloc, bytes, secret.length);
    }
    mpl_arena_close(&grants->texts);
    memset(grants, 0, sizeof *grants);
}

const mpl_endpoint *mpl_grants_endpoint(const mpl_grants *grants, moonplan_text name) {
    for (size_t i = 0; i < grants->endpoint_count; i++)
        if (mpl_text_equal(grants->endpoints[i].name, name)) return &grants->endpoints[i];
    return NULL;
}

const mpl_secret *mpl_grants_secret(const mpl_grants *grants, moonplan_text name) {
    for (size_t i = 0; i < grants->secret_count; i++)
        if (mpl_text_equal(grants->secrets[i].name, name)) return &grants->secrets[i];
    return NULL;
}

bool mpl_grants_meet(const mpl_grants *grants, moonplan_text need) {
    moonplan_text name;
    unsigned power = mpl_power_of(need, &name);
    if (power == MPL_POWER_RPC) return mpl_grants_endpoint(grants, name) != NULL;
    if (power == MPL_POWER_SECRET) return mpl_grants_secret(grants, name) != NULL;
    return power && (grants->powers & power);
}
