/* What a host grants plugins: each grant is spelled like the need that it meets, with what it gives
 * behind it. */
#ifndef MPL_LUA_GRANT_H
#define MPL_LUA_GRANT_H

#include "../core/alloc.h"
#include "needles.h"
#include "power.h"

typedef struct mpl_grant {
    moonplan_text need; /* one of MPL_NEED_FORMS */
    /* fs, fs:rw: a folder; http: an origin as moonplan_http_options has it, one a grant; rpc: a
     * URL; secret: a file, or with `literal` the value; of the others, nothing. */
    moonplan_text what;
    bool literal;
} mpl_grant;

typedef struct mpl_endpoint {
    moonplan_text name, url;
    moonplan_http *http; /* reaches this URL alone */
    mpl_needles hidden;  /* the URL and its parts, where an answer quotes them */
} mpl_endpoint;

typedef struct mpl_secret {
    moonplan_text name, bytes;
} mpl_secret;

typedef struct mpl_grants {
    mpl_alloc alloc;
    mpl_arena texts;
    unsigned powers; /* of all that have no name; with fs:rw, fs as well */
    moonplan_root *fs, *fs_rw;
    moonplan_http *http;
    mpl_endpoint *endpoints;
    size_t endpoint_count;
    mpl_secret *secrets;
    size_t secret_count;
    mpl_needles hidden; /* the secrets */
} mpl_grants;

/* Folders and files are opened, URLs are read. False with *err, which names the grant; what a
 * secret's grant says is not shown. `grants` is to be closed either way. */
bool mpl_grants_open(mpl_grants *grants, const mpl_grant *list, size_t count,
                     const moonplan_options *options, moonplan_error *err);
void mpl_grants_close(mpl_grants *grants);

/* Whether a need is met. */
bool mpl_grants_meet(const mpl_grants *grants, moonplan_text need);
const mpl_endpoint *mpl_grants_endpoint(const mpl_grants *grants, moonplan_text name);
/* What tells a secret in a text (redact.c), or a URL (grant_url.c); what is shown for it goes into
 * the arena. False for want of memory; to be closed either way. */
bool mpl_secrets_needles(mpl_needles *out, mpl_alloc *alloc, mpl_arena *texts,
                         const mpl_secret *secrets, size_t count);
bool mpl_url_needles(mpl_needles *out, mpl_alloc *alloc, moonplan_text url);
const mpl_secret *mpl_grants_secret(const mpl_grants *grants, moonplan_text name);

#endif
