#include "trust.h"

#include <string.h>

#include "../core/build.h"
#include "../core/text.h"
#include "../core/value.h"
#include "manifest.h"

#define POLICY_NAME "trust.json"
#define SEEN_NAME   "seen.json"
/* More than these are no store that people look after. */
#define FILE_MOST    1048576
#define KEYS_MOST    256
#define ENTRIES_MOST 10000

typedef struct trusted_key {
    moonplan_text name;
    moonplan_public_key key;
    moonplan_value signs; /* an array of names; MOONPLAN_NONE: any */
    bool state, revoked, expires;
    int64_t end; /* the first moment at which it is too late */
} trusted_key;

typedef struct seen {
    moonplan_text name, version;
} seen;

struct mpl_trust {
    mpl_alloc alloc;
    moonplan_options options;
    mpl_arena texts;
    moonplan_root *root;
    int64_t (*now)(void *data);
    void *now_data;
    moonplan_document *policy; /* NULL: no trust.json */
    trusted_key *keys;
    size_t key_count, key_capacity;
    moonplan_value pins; /* an array or MOONPLAN_NONE */
    bool refuse_unsigned;
    seen *seen;
    size_t seen_count, seen_capacity;
    bool raised;       /* some of `seen` is not written down */
    char forgets[512]; /* why nothing is written down; "": it is */
};

#define SIGNATURE(err, ...)                                                                        \
    return mpl_error_set(err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL, __VA_ARGS__),   \
           false
#define TRUST(err, ...)                                                                            \
    return mpl_error_set(err, MOONPLAN_PLUGIN_TRUST, MOONPLAN_NO_OFFSET, NULL, __VA_ARGS__), false

const char *mpl_origin_name(mpl_origin origin) {
    static const char *const names[] = {[MPL_SHIPPED] = "shipped",
                                        [MPL_PINNED] = "pinned",
                                        [MPL_SIGNED] = "signed",
                                        [MPL_OTHER] = "unsigned"};
    return names[origin];
}

/* -- Reading the store -------------------------------------------------------*/

/* A whole file; the buffer is the caller's. */
static bool read_file(mpl_trust *trust, mpl_buffer *out, const char *name, moonplan_error *err) {
    if (!moonplan_root_read(trust->root, mpl_buffer_sink, out, name, strlen(name), FILE_MOST, err))
        return false;
    if (out->failed) mpl_error_memory(err);
    return !out->failed;
}

static moonplan_document *read_document(mpl_trust *trust, const char *name, moonplan_error *err) {
    mpl_buffer text;
    moonplan_error why;
    moonplan_document *document = NULL;
    mpl_buffer_open(&text, &trust->alloc);
    if (read_file(trust, &text, name, err)) {
        document = moonplan_document_parse(text.length ? text.bytes : "", text.length,
                                           &trust->options, &why);
        if (!document && why.code == MOONPLAN_MEMORY) {
            mpl_error_memory(err);
        } else if (!document) {
            moonplan_error_locate(&why, 1, text.length ? text.bytes : "", text.length);
            mpl_error_set(err, MOONPLAN_PLUGIN_TRUST, MOONPLAN_NO_OFFSET, NULL,
                          "%s, line %u, is no JSON: %s", name, (uint64_t)why.line, why.message);
        }
    }
    mpl_buffer_close(&text);
    return document;
}

/* The isolation that a member `isolation` earns. */
static bool read_isolation(bool *state, moonplan_value entry, moonplan_text whose,
                           moonplan_error *err) {
    moonplan_value value = mpl_member(entry, "isolation");
    moonplan_text text = moonplan_value_string(value);
    if (moonplan_value_type(value) == MOONPLAN_NONE) return true;
    *state = text.bytes && mpl_text_is(text, "state");
    if (*state || (text.bytes && mpl_text_is(text, "process"))) return true;
    TRUST(err, POLICY_NAME " gives %q another isolation than \"state\" or \"process\"", &whose);
}

/* Nothing but these members, so that a misspelling never takes a restriction away. */
static bool check_members(moonplan_value object, const char *const *names, moonplan_text whose,
                          moonplan_error *err) {
    moonplan_walk walk = moonplan_value_walk(object);
    if (moonplan_value_type(object) != MOONPLAN_OBJECT)
        TRUST(err, POLICY_NAME " describes %q by something else than an object", &whose);
    while (moonplan_walk_next(&walk)) {
        size_t i = 0;
        while (names[i] && !mpl_text_is(walk.name, names[i])) i++;
        if (!names[i])
            TRUST(err, POLICY_NAME " has %q in %q, which means nothing there", &walk.name, &whose);
    }
    return true;
}

static bool is_digest(moonplan_text text) {
    for (size_t i = 0; i < text.length; i++)
        if (!memchr("0123456789abcdef", text.bytes[i], 16)) return false;
    return text.bytes && text.length == MPL_DIGEST_DIGITS;
}

static bool read_names(moonplan_value *out, moonplan_value entry, moonplan_text whose,
                       moonplan_error *err) {
    *out = mpl_member(entry, "signs");
    moonplan_walk walk = moonplan_value_walk(*out);
    bool fine = moonplan_value_type(*out) == MOONPLAN_ARRAY;
    if (moonplan_value_type(*out) == MOONPLAN_NONE) return true;
    while (fine && moonplan_walk_next(&walk)) {
        moonplan_text name = moonplan_value_string(walk.value);
        fine = name.bytes && mpl_plugin_name(name);
    }
    if (!fine) TRUST(err, POLICY_NAME " lets %q sign what is no list of plugins' names", &whose);
    return true;
}

static bool read_key_entry(trusted_key *key, moonplan_value entry, moonplan_error *err) {
    static const char *const names[] = {"signs", "isolation", "expires", "revoked", NULL};
    moonplan_value expires = mpl_member(entry, "expires"), revoked = mpl_member(entry, "revoked");
    moonplan_text end = moonplan_value_string(expires);
    if (!check_members(entry, names, key->name, err) ||
        !read_names(&key->signs, entry, key->name, err) ||
        !read_isolation(&key->state, entry, key->name, err))
        return false;
    key->expires = moonplan_value_type(expires) != MOONPLAN_NONE;
    if (key->expires && (!end.bytes || !mpl_time_read(&key->end, end)))
        TRUST(err, POLICY_NAME " ends %q at no time like 2027-01-01T00:00:00Z", &key->name);
    moonplan_type type = moonplan_value_type(revoked);
    key->revoked = type == MOONPLAN_TRUE;
    if (type != MOONPLAN_NONE && type != MOONPLAN_TRUE && type != MOONPLAN_FALSE)
        TRUST(err, POLICY_NAME " revokes %q by something else than true", &key->name);
    return true;
}

static trusted_key *find_key(mpl_trust *trust, moonplan_text name) {
    for (size_t i = 0; i < trust->key_count; i++)
        if (mpl_text_equal(trust->keys[i].name, name)) return &trust->keys[i];
    return NULL;
}

/* A policy for no key would be a restriction, or a revocation, of none. */
static bool refuse_key(const mpl_trust *trust, moonplan_text name, moonplan_error *err) {
    char list[160];
    size_t length = 0;
    for (size_t i = 0; i < trust->key_count; i++) {
        moonplan_text one = trust->keys[i].name;
        if (length + one.length + 8 > sizeof list) {
            memcpy(list + length, ", ...", 5);
            length += 5;
            break;
        }
        if (length > 0) {
            memcpy(list + length, ", ", 2);
            length += 2;
        }
        memcpy(list + length, one.bytes, one.length);
        length += one.length;
    }
    moonplan_text there = {list, length};
    if (length == 0)
        TRUST(err, POLICY_NAME " describes the key %q, but there is no file %t.pub, nor any other",
              &name, &name);
    TRUST(err, POLICY_NAME " describes the key %q, but there is no file %t.pub; there are: %t",
          &name, &name, &there);
}

static bool read_keys_policy(mpl_trust *trust, moonplan_value keys, moonplan_error *err) {
    moonplan_walk walk = moonplan_value_walk(keys);
    moonplan_type type = moonplan_value_type(keys);
    if (type != MOONPLAN_NONE && type != MOONPLAN_OBJECT)
        TRUST(err, "the member keys of " POLICY_NAME " is no object");
    while (type == MOONPLAN_OBJECT && moonplan_walk_next(&walk)) {
        trusted_key other = {.name = walk.name}, *key = find_key(trust, walk.name);
        if (!read_key_entry(key ? key : &other, walk.value, err)) return false;
        if (!key) return refuse_key(trust, walk.name, err);
    }
    return true;
}

static bool read_pins(mpl_trust *trust, moonplan_value pins, moonplan_error *err) {
    static const char *const names[] = {"name", "digest", "isolation", NULL};
    moonplan_walk walk = moonplan_value_walk(pins);
    moonplan_type type = moonplan_value_type(pins);
    trust->pins = pins;
    if (type != MOONPLAN_NONE && type != MOONPLAN_ARRAY)
        TRUST(err, "the member pins of " POLICY_NAME " is no array");
    while (type == MOONPLAN_ARRAY && moonplan_walk_next(&walk)) {
        bool state;
        moonplan_text name = moonplan_value_string(mpl_member(walk.value, "name"));
        if (!check_members(walk.value, names, MOONPLAN_TEXT("a pin"), err)) return false;
        if (!name.bytes || !mpl_plugin_name(name))
            TRUST(err, POLICY_NAME " has a pin without the name of a plugin");
        if (!is_digest(moonplan_value_string(mpl_member(walk.value, "digest"))))
            TRUST(err, POLICY_NAME " pins %q to no digest of 64 lower-case digits", &name);
        if (!read_isolation(&state, walk.value, name, err)) return false;
    }
    return true;
}

static bool read_policy(mpl_trust *trust, moonplan_error *err) {
    static const char *const names[] = {"keys", "pins", "unsigned", NULL};
    trust->policy = read_document(trust, POLICY_NAME, err);
    if (!trust->policy) return false;
    moonplan_value root = moonplan_document_root(trust->policy);
    moonplan_value rule = mpl_member(root, "unsigned");
    moonplan_text text = moonplan_value_string(rule);
    if (!check_members(root, names, MOONPLAN_TEXT(POLICY_NAME), err) ||
        !read_keys_policy(trust, mpl_member(root, "keys"), err) ||
        !read_pins(trust, mpl_member(root, "pins"), err))
        return false;
    trust->refuse_unsigned = text.bytes && mpl_text_is(text, "refuse");
    if (moonplan_value_type(rule) == MOONPLAN_NONE || trust->refuse_unsigned ||
        (text.bytes && mpl_text_is(text, "process")))
        return true;
    TRUST(err, "the member unsigned of " POLICY_NAME " is neither \"process\" nor \"refuse\"");
}

static seen *find_seen(const mpl_trust *trust, moonplan_text name) {
    for (size_t i = 0; i < trust->seen_count; i++)
        if (mpl_text_equal(trust->seen[i].name, name)) return &trust->seen[i];
    return NULL;
}

static bool copy(mpl_trust *trust, moonplan_text *out, moonplan_text text) {
    const char *bytes = mpl_arena_copy(&trust->texts, text.bytes, text.length);
    if (bytes) *out = (moonplan_text){bytes, text.length};
    return bytes != NULL;
}

/* The higher of what is known and this. */
static bool raise(mpl_trust *trust, moonplan_text name, moonplan_text version, bool *raised,
                  moonplan_error *err) {
    seen *known = find_seen(trust, name);
    if (known && mpl_version_order(version, known->version) <= 0) return true;
    void *block = trust->seen;
    seen fresh = {name, version};
    if (!copy(trust, &fresh.version, version) || (!known && !copy(trust, &fresh.name, name)) ||
        (!known && !mpl_grow(&trust->alloc, &block, &trust->seen_capacity, trust->seen_count + 1,
                             sizeof fresh))) {
        mpl_error_memory(err);
        return false;
    }
    trust->seen = block;
    if (known)
        known->version = fresh.version;
    else
        trust->seen[trust->seen_count++] = fresh;
    *raised = true;
    return true;
}

static bool read_seen(mpl_trust *trust, moonplan_error *err) {
    bool raised = false, fine = true;
    moonplan_document *document = read_document(trust, SEEN_NAME, err);
    if (!document) return false;
    moonplan_value root = moonplan_document_root(document);
    moonplan_walk walk = moonplan_value_walk(root);
    bool object = moonplan_value_type(root) == MOONPLAN_OBJECT;
    while (object && fine && moonplan_walk_next(&walk)) {
        moonplan_text version = moonplan_value_string(walk.value);
        object = version.bytes && version.length > 0 && walk.name.length > 0;
        if (object) fine = raise(trust, walk.name, version, &raised, err);
    }
    moonplan_document_free(document);
    if (!object) TRUST(err, SEEN_NAME " is damaged: it holds versions by name and nothing else");
    return fine;
}

/* -- Opening -----------------------------------------------------------------*/

struct listing {
    mpl_trust *trust;
    bool policy, seen, failed;
    moonplan_error *err;
};

static bool add_key(mpl_trust *trust, moonplan_text file, moonplan_error *err) {
    trusted_key key = {.name = {file.bytes, file.length - 4}};
    mpl_buffer text;
    void *block = trust->keys;
    if (!mpl_plugin_name(key.name) || key.name.length > MPL_SIGNER_MOST)
        TRUST(err, "%q is no name for a key: letters, digits, _ and -, with dots between", &file);
    if (trust->key_count == KEYS_MOST)
        TRUST(err, "more than %u keys in one folder", (uint64_t)KEYS_MOST);
    char path[MPL_SIGNER_MOST + 8];
    memcpy(path, file.bytes, file.length);
    path[file.length] = 0;
    mpl_buffer_open(&text, &trust->alloc);
    bool fine = read_file(trust, &text, path, err);
    moonplan_error why = {.code = MOONPLAN_OK};
    if (fine &&
        !moonplan_public_key_parse(&key.key, text.length ? text.bytes : "", text.length, &why)) {
        mpl_error_set(err, MOONPLAN_PLUGIN_TRUST, MOONPLAN_NO_OFFSET, NULL, "%s: %s", path,
                      why.message);
        fine = false;
    }
    mpl_buffer_close(&text);
    for (size_t i = 0; fine && i < trust->key_count; i++)
        if (memcmp(trust->keys[i].key.bytes, key.key.bytes, sizeof key.key.bytes) == 0)
            TRUST(err, "%t.pub and %s hold the same key", &trust->keys[i].name, path);
    if (fine &&
        (!copy(trust, &key.name, key.name) || !mpl_grow(&trust->alloc, &block, &trust->key_capacity,
                                                        trust->key_count + 1, sizeof key))) {
        mpl_error_memory(err);
        fine = false;
    }
    if (fine) {
        trust->keys = block;
        trust->keys[trust->key_count++] = key;
    }
    return fine;
}

/* By its name alone: what is no regular file is refused when it is read, because passing it over
 * would take a restriction or a revocation away. */
static bool list_entry(void *data, moonplan_text name, bool folder) {
    struct listing *listing = data;
    (void)folder;
    if (name.bytes[0] == '.') return true;
    if (mpl_text_is(name, POLICY_NAME)) listing->policy = true;
    if (mpl_text_is(name, SEEN_NAME)) listing->seen = true;
    if (name.length > 4 && memcmp(name.bytes + name.length - 4, ".pub", 4) == 0)
        listing->failed = !add_key(listing->trust, name, listing->err);
    return !listing->failed;
}

static bool read_store(mpl_trust *trust, moonplan_error *err) {
    struct listing listing = {.trust = trust, .err = err};
    return moonplan_root_list(trust->root, list_entry, &listing, "", 0, ENTRIES_MOST, err) &&
           !listing.failed && (!listing.policy || read_policy(trust, err)) &&
           (!listing.seen || read_seen(trust, err));
}

mpl_trust *mpl_trust_open(moonplan_text folder, int64_t (*now)(void *data), void *now_data,
                          const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_trust *trust = mpl_allocate(&alloc, sizeof *trust);
    if (!trust) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(trust, 0, sizeof *trust);
    trust->alloc = alloc;
    trust->options = *options;
    trust->options.errors = NULL;
    trust->options.borrow = false;
    trust->now = now;
    trust->now_data = now_data;
    mpl_arena_open(&trust->texts, &trust->alloc);
    trust->root = moonplan_root_open(folder.bytes, folder.length,
                                     MOONPLAN_ROOT_WRITE | MOONPLAN_ROOT_TRUSTED |
                                         MOONPLAN_ROOT_GUARDED | MOONPLAN_ROOT_OWN,
                                     options, err);
    if (trust->root && read_store(trust, err)) return trust;
    mpl_trust_free(trust);
    return NULL;
}

void mpl_trust_free(mpl_trust *trust) {
    if (!trust) return;
    moonplan_root_free(trust->root);
    moonplan_document_free(trust->policy);
    mpl_release(&trust->alloc, trust->keys, trust->key_capacity * sizeof *trust->keys);
    mpl_release(&trust->alloc, trust->seen, trust->seen_capacity * sizeof *trust->seen);
    mpl_arena_close(&trust->texts);
    mpl_alloc alloc = trust->alloc;
    mpl_release(&alloc, trust, sizeof *trust);
}

/* -- Folders -----------------------------------------------------------------*/

static bool key_counts(const mpl_trust *trust, const trusted_key *key, moonplan_error *err) {
    if (key->revoked) SIGNATURE(err, "the key %t has been revoked", &key->name);
    if (key->expires && trust->now(trust->now_data) >= key->end)
        SIGNATURE(err, "the key %t has expired", &key->name);
    return true;
}

/* Ids can be chosen, so several keys may have one: the signature says which it is. */
static bool find_signer(mpl_trust *trust, mpl_seal *seal, moonplan_text signature,
                        moonplan_error *err) {
    moonplan_public_key named = {.bytes = {0}};
    moonplan_error why;
    const char *bytes = seal->text.length ? seal->text.bytes : "";
    if (!moonplan_signature_key(named.id, signature.bytes, signature.length, &why))
        SIGNATURE(err, MPL_SIGNATURE_NAME ": %s", why.message);
    moonplan_key_name(&named, seal->key);
    mpl_error_set(&why, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL,
                  "signed by the key %s, which is not trusted here", seal->key);
    for (size_t i = 0; i < trust->key_count; i++) {
        const trusted_key *key = &trust->keys[i];
        if (memcmp(key->key.id, named.id, sizeof named.id) != 0) continue;
        if (!moonplan_verify(&key->key, NULL, bytes, seal->text.length, signature.bytes,
                             signature.length, &why))
            continue;
        seal->signer = i;
        return key_counts(trust, key, err);
    }
    SIGNATURE(err, MPL_SEAL_NAME ": %s", why.message);
}

/* NAME, or NAME.something. */
static bool covers(moonplan_text allowed, moonplan_text name) {
    return name.length >= allowed.length &&
           memcmp(name.bytes, allowed.bytes, allowed.length) == 0 &&
           (name.length == allowed.length || name.bytes[allowed.length] == '.');
}

static bool may_sign(const trusted_key *key, moonplan_text name) {
    moonplan_walk walk = moonplan_value_walk(key->signs);
    if (moonplan_value_type(key->signs) == MOONPLAN_NONE) return true;
    while (moonplan_walk_next(&walk))
        if (covers(moonplan_value_string(walk.value), name)) return true;
    return false;
}

/* 1: pinned; 0: has no pins; -1: pinned to something else. */
static int find_pin(const mpl_trust *trust, moonplan_text name, mpl_verdict *out) {
    int found = 0;
    moonplan_walk walk = moonplan_value_walk(trust->pins);
    if (moonplan_value_type(trust->pins) == MOONPLAN_NONE) return 0;
    while (moonplan_walk_next(&walk)) {
        moonplan_text digest = moonplan_value_string(mpl_member(walk.value, "digest"));
        if (!mpl_text_equal(moonplan_value_string(mpl_member(walk.value, "name")), name)) continue;
        found = -1;
        if (memcmp(digest.bytes, out->digest, MPL_DIGEST_DIGITS) != 0) continue;
        out->origin = MPL_PINNED;
        out->state = true;
        (void)read_isolation(&out->state, walk.value, name, NULL);
        return 1;
    }
    return found;
}

/* Of the file NAME.lua or NAME/init.lua, the name. */
static moonplan_text name_of(moonplan_text path) {
    const char *slash = memchr(path.bytes, '/', path.length);
    size_t ending = sizeof ".lua" - 1;
    path.length =
        slash ? (size_t)(slash - path.bytes) : path.length - (path.length > ending ? ending : 0);
    return path;
}

/* Nothing of a folder is used whose signer may not have signed all of it; but for pins, which stand
 * for themselves. */
static bool signs_all(const mpl_trust *trust, const mpl_seal *seal, moonplan_error *err) {
    const trusted_key *key = &trust->keys[seal->signer];
    for (size_t i = 0; i < seal->item_count; i++) {
        const mpl_seal_item *item = &seal->items[i];
        mpl_verdict none = {.digest = ""};
        if (find_pin(trust, name_of(item->path), &none) == 0 && !may_sign(key, item->name))
            SIGNATURE(err, "the key %t may not sign %q", &key->name, &item->name);
    }
    return true;
}

static bool read_seal(mpl_trust *trust, moonplan_root *root, mpl_seal *seal, moonplan_error *err) {
    mpl_buffer signature;
    moonplan_error why = {.code = MOONPLAN_OK};
    mpl_buffer_open(&signature, &trust->alloc);
    bool fine = moonplan_root_read(root, mpl_buffer_sink, &seal->text, MPL_SEAL_NAME,
                                   sizeof MPL_SEAL_NAME - 1, MPL_SEAL_MOST, &why) &&
                moonplan_root_read(root, mpl_buffer_sink, &signature, MPL_SIGNATURE_NAME,
                                   sizeof MPL_SIGNATURE_NAME - 1, MPL_SEAL_MOST, &why);
    if (!fine)
        mpl_error_set(err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL, "%s", why.message);
    if (fine && (seal->text.failed || signature.failed)) {
        mpl_error_memory(err);
        fine = false;
    }
    moonplan_text text = {signature.length ? signature.bytes : "", signature.length};
    fine = fine && find_signer(trust, seal, text, err) && mpl_seal_parse(seal, err) &&
           mpl_seal_compare(seal, root, err) &&
           mpl_seal_contents(seal, root, trust->options.limits.source_kib * 1024, err) &&
           signs_all(trust, seal, err);
    mpl_buffer_close(&signature);
    return fine;
}

bool mpl_trust_seal(mpl_trust *trust, moonplan_root *root, mpl_seal **out, moonplan_error *err) {
    bool manifest, signature;
    *out = NULL;
    if (!mpl_seal_present(root, &manifest, &signature, err)) return false;
    if (!manifest && !signature) return true;
    if (!manifest) SIGNATURE(err, MPL_SIGNATURE_NAME " is there without " MPL_SEAL_NAME);
    if (!signature) SIGNATURE(err, MPL_SEAL_NAME " is there without " MPL_SIGNATURE_NAME);
    mpl_seal *seal = mpl_seal_new(&trust->options, err);
    if (!seal) return false;
    if (read_seal(trust, root, seal, err)) {
        *out = seal;
        return true;
    }
    /* A file that cannot be read is not what was signed. */
    if (err && err->code != MOONPLAN_MEMORY) err->code = MOONPLAN_PLUGIN_SIGNATURE;
    mpl_seal_free(seal);
    return false;
}

/* -- Verdicts ----------------------------------------------------------------*/

static bool check_item(const mpl_trust *trust, const trusted_key *key, const mpl_seal_item *item,
                       moonplan_error *err) {
    const seen *known = find_seen(trust, item->name);
    if (!may_sign(key, item->name))
        SIGNATURE(err, "the key %t may not sign %q", &key->name, &item->name);
    if (known && mpl_version_order(item->version, known->version) < 0)
        SIGNATURE(err, "%t %t is older than %t, which has been here already", &item->name,
                  &item->version, &known->version);
    return true;
}

bool mpl_trust_allows(mpl_trust *trust, const mpl_seal *seal, moonplan_error *err) {
    const trusted_key *key = &trust->keys[seal->signer];
    for (size_t i = 0; i < seal->item_count; i++)
        if (!check_item(trust, key, &seal->items[i], err)) return false;
    return true;
}

bool mpl_trust_signer(const mpl_trust *trust, const mpl_seal *seal, moonplan_text *name) {
    *name = trust->keys[seal->signer].name;
    return trust->keys[seal->signer].state;
}

static bool judge_signed(mpl_trust *trust, const mpl_seal *seal, moonplan_text name,
                         const mpl_sources *sources, mpl_verdict *out, moonplan_error *err) {
    const trusted_key *key = &trust->keys[seal->signer];
    if (!key_counts(trust, key, err)) return false;
    if (!may_sign(key, name)) SIGNATURE(err, "the key %t may not sign %q", &key->name, &name);
    for (size_t i = 0; i < sources->count; i++) {
        const mpl_source_file *file = &sources->files[i];
        if (file->why) SIGNATURE(err, "%s", file->why);
        if (!mpl_seal_check(seal, file->path, file->length, file->digest, err)) return false;
    }
    for (size_t i = 0; i < seal->item_count; i++)
        if (mpl_text_equal(seal->items[i].path, sources->files[0].path) &&
            !check_item(trust, key, &seal->items[i], err))
            return false;
    out->origin = MPL_SIGNED;
    out->state = key->state;
    out->by = key->key;
    memcpy(out->key, seal->key, sizeof out->key);
    memcpy(out->signer, key->name.bytes, key->name.length);
    out->signer[key->name.length] = 0;
    return true;
}

bool mpl_trust_judge(mpl_trust *trust, const mpl_seal *seal, moonplan_text name,
                     const mpl_sources *sources, mpl_verdict *out, moonplan_error *err) {
    memset(out, 0, sizeof *out);
    out->origin = MPL_OTHER;
    mpl_hex_encode(out->digest, sources->digest, sizeof sources->digest);
    if (!trust) return true;
    int pin = find_pin(trust, name, out);
    if (pin < 0) SIGNATURE(err, "%q is pinned to another digest than %s", &name, out->digest);
    if (pin > 0) return true;
    if (seal) return judge_signed(trust, seal, name, sources, out, err);
    if (trust->refuse_unsigned)
        SIGNATURE(err, "nobody has signed it, and " POLICY_NAME " refuses what is unsigned");
    return true;
}

static bool holds_signed(mpl_trust *trust, const mpl_verdict *verdict, moonplan_text item,
                         bool *state, moonplan_error *err) {
    for (size_t i = 0; i < trust->key_count; i++) {
        const trusted_key *key = &trust->keys[i];
        if (memcmp(key->key.bytes, verdict->by.bytes, sizeof key->key.bytes) != 0) continue;
        *state = key->state;
        if (!key_counts(trust, key, err)) return false;
        if (!may_sign(key, item)) SIGNATURE(err, "the key %t may not sign %q", &key->name, &item);
        return true;
    }
    SIGNATURE(err, "signed by the key %s, which is not trusted here any more", verdict->key);
}

bool mpl_trust_holds(mpl_trust *trust, const mpl_verdict *verdict, moonplan_text name,
                     moonplan_text item, bool *state, moonplan_error *err) {
    mpl_verdict now = *verdict;
    *state = true;
    if (verdict->origin == MPL_SHIPPED) return true;
    now.state = false;
    int pin = find_pin(trust, name, &now);
    *state = now.state;
    if (pin < 0) SIGNATURE(err, "%q is pinned to another digest than %s", &name, verdict->digest);
    if (pin > 0) return true;
    if (verdict->origin == MPL_SIGNED) return holds_signed(trust, verdict, item, state, err);
    if (trust->refuse_unsigned)
        SIGNATURE(err, "nobody has signed it, and " POLICY_NAME " refuses what is unsigned");
    return mpl_trust_misses(trust, item, err);
}

bool mpl_trust_meet(mpl_trust *trust, const mpl_seal *seal, const char *file, moonplan_text name,
                    moonplan_text version, moonplan_error *err) {
    moonplan_text path = {file, strlen(file)};
    for (size_t i = 0; i < seal->item_count; i++) {
        const mpl_seal_item *item = &seal->items[i];
        if (mpl_text_equal(item->name, name) && mpl_text_equal(item->version, version) &&
            mpl_text_equal(item->path, path))
            return raise(trust, name, version, &trust->raised, err);
    }
    SIGNATURE(err, "it brings %q %q, which the signed " MPL_SEAL_NAME " does not say", &name,
              &version);
}

bool mpl_trust_misses(const mpl_trust *trust, moonplan_text name, moonplan_error *err) {
    const seen *known = trust ? find_seen(trust, name) : NULL;
    if (!known) return true;
    SIGNATURE(err,
              "nobody has signed it, and %q has been here signed, as %t; a pin in " POLICY_NAME
              " lets it in",
              &name, &known->version);
}

/* -- Memory ------------------------------------------------------------------*/

static void sort(mpl_trust *trust) {
    for (size_t i = 1; i < trust->seen_count; i++) {
        seen moved = trust->seen[i];
        size_t j = i;
        for (; j > 0 && mpl_text_order(moved.name, trust->seen[j - 1].name) < 0; j--)
            trust->seen[j] = trust->seen[j - 1];
        trust->seen[j] = moved;
    }
}

/* What others have written in the meantime counts as well. Hole: two processes that write within
 * the same moment may lose what one of them saw, until it sees it again. */
bool mpl_trust_remember(mpl_trust *trust, moonplan_error *err) {
    moonplan_error why = {.code = MOONPLAN_OK};
    if (!trust->raised) return true;
    if (!read_seen(trust, &why) && why.code == MOONPLAN_MEMORY) return mpl_error_memory(err), false;
    sort(trust);
    mpl_builder builder;
    mpl_build_open(&builder, &trust->options);
    mpl_build_object(&builder);
    for (size_t i = 0; i < trust->seen_count; i++) {
        mpl_build_name(&builder, trust->seen[i].name);
        mpl_build_string(&builder, trust->seen[i].version);
    }
    mpl_build_end(&builder);
    moonplan_document *document = mpl_build_finish(&builder, err);
    if (!document) return false;
    moonplan_text text = moonplan_value_source(moonplan_document_root(document));
    trust->raised = false;
    trust->forgets[0] = 0;
    if (!moonplan_root_write(trust->root, SEEN_NAME, sizeof SEEN_NAME - 1, text.bytes, text.length,
                             &why))
        memcpy(trust->forgets, why.message, sizeof trust->forgets);
    moonplan_document_free(document);
    return true;
}

bool mpl_trust_adopt(mpl_trust *trust, const mpl_trust *other, moonplan_error *err) {
    for (size_t i = 0; i < other->seen_count; i++)
        if (!raise(trust, other->seen[i].name, other->seen[i].version, &trust->raised, err))
            return false;
    return true;
}

const char *mpl_trust_forgets(const mpl_trust *trust) {
    return trust && trust->forgets[0] ? trust->forgets : NULL;
}
