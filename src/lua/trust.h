/* Whom a plugin file comes from: what is signed, by which key, and what that key may sign.
 *
 * A trust store is a folder of public keys, NAME.pub, with a file trust.json beside them, which may
 * be absent, and a file seen.json, in which moonplan keeps the highest version seen of every name:
 *
 *   { "keys": { "alice": { "signs": ["orders", "text.extra"], "isolation": "state",
 *                          "expires": "2027-01-01T00:00:00Z", "revoked": false } },
 *     "pins": [ { "name": "orders", "digest": "64 digits", "isolation": "state" } ],
 *     "unsigned": "process" }
 *
 * All members are optional. A key may sign any name unless `signs` says which (with "orders" goes
 * "orders.eu"), and earns the isolation "process" unless "state" is said. A pin is a digest that is
 * trusted without a signature; a name that has pins is none of its other digests, and earns
 * "state". "unsigned": "refuse" lets nothing in that is neither signed nor pinned. */
#ifndef MPL_LUA_TRUST_H
#define MPL_LUA_TRUST_H

#include "seal.h"

typedef enum mpl_origin { MPL_SHIPPED, MPL_PINNED, MPL_SIGNED, MPL_OTHER } mpl_origin;

#define MPL_SIGNER_MOST 128

typedef struct mpl_verdict {
    mpl_origin origin;
    bool state;                         /* it earns the isolation "state" */
    char digest[MPL_DIGEST_DIGITS + 1]; /* "": not read */
    char key[MOONPLAN_KEY_NAME_SIZE];   /* "" unless signed */
    char signer[MPL_SIGNER_MOST + 1];   /* NAME of NAME.pub */
    moonplan_public_key by;             /* where it is signed */
} mpl_verdict;

/* "shipped", "pinned", "signed", "unsigned" */
const char *mpl_origin_name(mpl_origin origin);

typedef struct mpl_trust mpl_trust;

/* False with `plugin.trust`, or file.unavailable for a folder that cannot be had. */
mpl_trust *mpl_trust_open(moonplan_text folder, int64_t (*now)(void *data), void *now_data,
                          const moonplan_options *options, moonplan_error *err);
void mpl_trust_free(mpl_trust *trust);
/* What another one has seen counts here as well; false with `memory`. */
bool mpl_trust_adopt(mpl_trust *trust, const mpl_trust *other, moonplan_error *err);

/* Read, verify and compare what signs a folder of plugins. True with *out NULL when nobody signed
 * it; false with `plugin.signature` when something about it is wrong. */
bool mpl_trust_seal(mpl_trust *trust, moonplan_root *root, mpl_seal **out, moonplan_error *err);

/* Whom the files of one plugin come from. `seal` is its folder's, `trust` the host's; both may be
 * NULL. Before anything of it runs. */
bool mpl_trust_judge(mpl_trust *trust, const mpl_seal *seal, moonplan_text name,
                     const mpl_sources *sources, mpl_verdict *out, moonplan_error *err);
/* Whether a verdict of before still holds for what the plugin NAME brings as `item`: its key may
 * have been taken away, revoked or restricted, its pin be gone. Its files are not looked at. False
 * with `plugin.signature`; *state says whether it still earns the isolation. */
bool mpl_trust_holds(mpl_trust *trust, const mpl_verdict *verdict, moonplan_text name,
                     moonplan_text item, bool *state, moonplan_error *err);
/* An item that a signed plugin really brings: whether the manifest says so. Its version is
 * remembered. */
bool mpl_trust_meet(mpl_trust *trust, const mpl_seal *seal, const char *file, moonplan_text name,
                    moonplan_text version, moonplan_error *err);
/* An item that an unsigned plugin brings: false where a signed one had its name, or to take the
 * signature away would undo what is kept of versions. */
bool mpl_trust_misses(const mpl_trust *trust, moonplan_text name, moonplan_error *err);
/* Whether the manifest's signer may sign all of its items, and none is older than what has been
 * seen. */
bool mpl_trust_allows(mpl_trust *trust, const mpl_seal *seal, moonplan_error *err);
/* The name of its key; true when that earns the isolation "state". */
bool mpl_trust_signer(const mpl_trust *trust, const mpl_seal *seal, moonplan_text *name);
/* Once all have been met; false with `memory`. */
bool mpl_trust_remember(mpl_trust *trust, moonplan_error *err);
/* Why versions are remembered no longer than the engine lives; NULL: they are written down. */
const char *mpl_trust_forgets(const mpl_trust *trust);

/* Order of versions as in Semantic Versioning 2.0.0, section 11, for any text: numbers in rows,
 * then what stands behind a "-"; what stands behind a "+" does not count. */
int mpl_version_order(moonplan_text a, moonplan_text b);

#endif
