#include "seal.h"

#include <sodium.h>
#include <string.h>

#include "../core/error.h"
#include "../core/text.h"

#define PATH_MOST 255
#define DEEPEST   8
/* Entries of one folder, dotfiles among them. */
#define ENTRIES_MOST 10000

mpl_seal *mpl_seal_new(const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    mpl_seal *seal = mpl_allocate(&alloc, sizeof *seal);
    if (!seal) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(seal, 0, sizeof *seal);
    seal->alloc = alloc;
    mpl_buffer_open(&seal->text, &seal->alloc);
    return seal;
}

void mpl_seal_free(mpl_seal *seal) {
    if (!seal) return;
    mpl_buffer_close(&seal->text);
    mpl_release(&seal->alloc, seal->items, seal->item_capacity * sizeof *seal->items);
    mpl_alloc alloc = seal->alloc;
    mpl_release(&alloc, seal, sizeof *seal);
}

#define REFUSE(err, ...)                                                                           \
    return mpl_error_set(err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL, __VA_ARGS__),   \
           false

/* -- Paths -------------------------------------------------------------------*/

static bool plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

bool mpl_seal_path(moonplan_text path, moonplan_error *err) {
    size_t depth = 1;
    bool first = true;
    for (size_t i = 0; i < path.length; i++) {
        char c = path.bytes[i];
        if (c == '/' && first) REFUSE(err, "the path %q has an empty name in it", &path);
        if (c == '.' && first) REFUSE(err, "the path %q has a name that begins with a dot", &path);
        if (c != '/' && !plain(c))
            REFUSE(err, "the path %q has other characters than letters, digits, _, - and .", &path);
        first = c == '/';
        depth += first;
    }
    if (first) REFUSE(err, "the path %q has an empty name in it", &path);
    if (path.length > PATH_MOST || depth > DEEPEST)
        REFUSE(err, "the path %q is longer than %u bytes, or deeper than %u folders", &path,
               (uint64_t)PATH_MOST, (uint64_t)DEEPEST);
    return true;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool alike(moonplan_text a, moonplan_text b) {
    if (a.length != b.length) return false;
    for (size_t i = 0; i < a.length; i++)
        if (lower(a.bytes[i]) != lower(b.bytes[i])) return false;
    return true;
}

/* -- Parsing -----------------------------------------------------------------*/

/* The next word of a line, which ends at a space or at the end of the line; the space is taken. */
static moonplan_text word(moonplan_text *line) {
    const char *space = line->length ? memchr(line->bytes, ' ', line->length) : NULL;
    moonplan_text found = {line->bytes, space ? (size_t)(space - line->bytes) : line->length};
    size_t taken = found.length + (space != NULL);
    line->bytes += taken;
    line->length -= taken;
    return found;
}

static bool read_size(uint64_t *out, moonplan_text digits) {
    *out = 0;
    if (!mpl_decimal(digits) || digits.length > 15) return false;
    for (size_t i = 0; i < digits.length; i++) *out = *out * 10 + (uint64_t)(digits.bytes[i] - '0');
    return true;
}

static bool read_digest(uint8_t out[32], moonplan_text digits) {
    if (digits.length != MPL_DIGEST_DIGITS) return false;
    for (size_t i = 0; i < digits.length; i++) {
        char c = digits.bytes[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
    }
    mpl_hex_decode(out, digits.bytes, 32);
    return true;
}

static bool read_file(mpl_seal *seal, moonplan_text line, moonplan_error *err) {
    moonplan_text path = word(&line), size = word(&line), digest = word(&line);
    if (seal->file_count == MPL_SEAL_FILES)
        REFUSE(err, MPL_SEAL_NAME " names more than %u files", (uint64_t)MPL_SEAL_FILES);
    mpl_seal_file *file = &seal->files[seal->file_count];
    file->path = path;
    if (!mpl_seal_path(path, err)) return false;
    if (line.length || !read_size(&file->size, size) || !read_digest(file->digest, digest))
        REFUSE(err, MPL_SEAL_NAME " does not give %q a size and 64 digits", &path);
    for (size_t i = 0; i < seal->file_count; i++)
        if (alike(seal->files[i].path, path))
            REFUSE(err, MPL_SEAL_NAME " names %q and %q, which some systems take for one",
                   &seal->files[i].path, &path);
    if (seal->file_count > 0 && mpl_text_order(file[-1].path, path) >= 0)
        REFUSE(err, MPL_SEAL_NAME " is not sorted at %q", &path);
    seal->file_count++;
    return true;
}

static bool printable(moonplan_text text) {
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] < 0x21 || text.bytes[i] > 0x7e) return false;
    return text.length > 0;
}

/* NAME.lua or NAME/init.lua */
static bool is_main(moonplan_text path) {
    static const char ends[][10] = {".lua", "/init.lua"};
    const char *slash = path.length ? memchr(path.bytes, '/', path.length) : NULL;
    const char *end = ends[slash != NULL];
    size_t length = strlen(end);
    return path.length > length && (!slash || slash == path.bytes + path.length - length) &&
           memcmp(path.bytes + path.length - length, end, length) == 0;
}

static bool read_item(mpl_seal *seal, moonplan_text line, moonplan_error *err) {
    mpl_seal_item item = {.name = word(&line)};
    item.version = word(&line);
    item.path = word(&line);
    if (line.length || !printable(item.name) || !printable(item.version))
        REFUSE(err, MPL_SEAL_NAME " does not give %q a version and a file", &item.name);
    if (!mpl_seal_find(seal, item.path))
        REFUSE(err, MPL_SEAL_NAME " has %q in %q, a file that it does not name", &item.name,
               &item.path);
    if (!is_main(item.path))
        REFUSE(err, MPL_SEAL_NAME " has %q in %q, which is no plugin's main file", &item.name,
               &item.path);
    if (seal->item_count > 0 &&
        mpl_text_order(seal->items[seal->item_count - 1].name, item.name) >= 0)
        REFUSE(err, MPL_SEAL_NAME " is not sorted at %q", &item.name);
    void *block = seal->items;
    if (!mpl_grow(&seal->alloc, &block, &seal->item_capacity, seal->item_count + 1,
                  sizeof *seal->items)) {
        mpl_error_memory(err);
        return false;
    }
    seal->items = block;
    seal->items[seal->item_count++] = item;
    return true;
}

bool mpl_seal_parse(mpl_seal *seal, moonplan_error *err) {
    moonplan_text text = {seal->text.bytes, seal->text.length};
    if (seal->text.failed) return mpl_error_memory(err), false;
    for (bool first = true; text.length > 0; first = false) {
        const char *end = memchr(text.bytes, '\n', text.length);
        if (!end) REFUSE(err, MPL_SEAL_NAME " ends without the end of a line");
        moonplan_text line = {text.bytes, (size_t)(end - text.bytes)};
        text.length -= line.length + 1;
        text.bytes = end + 1;
        if (first && !mpl_text_is(line, MPL_SEAL_HEADER))
            REFUSE(err, MPL_SEAL_NAME " begins with %q, not with \"" MPL_SEAL_HEADER "\"", &line);
        if (first) continue;
        moonplan_text rest = line, kind = word(&rest);
        bool fine;
        if (mpl_text_is(kind, "file") && seal->item_count == 0)
            fine = read_file(seal, rest, err);
        else if (mpl_text_is(kind, "item"))
            fine = read_item(seal, rest, err);
        else
            REFUSE(err, MPL_SEAL_NAME " has the line %q, which says nothing there", &line);
        if (!fine) return false;
    }
    if (seal->file_count == 0) REFUSE(err, MPL_SEAL_NAME " names no file");
    return true;
}

const mpl_seal_file *mpl_seal_find(const mpl_seal *seal, moonplan_text path) {
    for (size_t i = 0; i < seal->file_count; i++)
        if (mpl_text_equal(seal->files[i].path, path)) return &seal->files[i];
    return NULL;
}

bool mpl_seal_check(const mpl_seal *seal, moonplan_text path, uint64_t size,
                    const uint8_t digest[32], moonplan_error *err) {
    const mpl_seal_file *file = mpl_seal_find(seal, path);
    if (!file) REFUSE(err, "%q is not in the signed " MPL_SEAL_NAME, &path);
    if (file->size != size || memcmp(file->digest, digest, sizeof file->digest) != 0)
        REFUSE(err, "%q is not what was signed: it has been changed", &path);
    return true;
}

/* -- Folders -----------------------------------------------------------------*/

struct presence {
    bool *manifest, *signature;
};

static bool look(void *data, moonplan_text name, bool folder) {
    struct presence *presence = data;
    (void)folder;
    if (mpl_text_is(name, MPL_SEAL_NAME)) *presence->manifest = true;
    if (mpl_text_is(name, MPL_SIGNATURE_NAME)) *presence->signature = true;
    return true;
}

bool mpl_seal_present(moonplan_root *root, bool *manifest, bool *signature, moonplan_error *err) {
    struct presence presence = {manifest, signature};
    *manifest = *signature = false;
    return moonplan_root_list(root, look, &presence, "", 0, ENTRIES_MOST, err);
}

struct walking {
    moonplan_root *root;
    bool (*each)(void *data, moonplan_text path);
    void *data;
    char path[PATH_MOST + 256 + 2];
    size_t length, depth;
    bool failed;
    moonplan_error *err;
};

static bool walk_folder(struct walking *walking);

static bool walk_entry(void *data, moonplan_text name, bool folder) {
    struct walking *walking = data;
    size_t before = walking->length;
    if (name.bytes[0] == '.') return true;
    if (before == 0 && (mpl_text_is(name, MPL_SEAL_NAME) || mpl_text_is(name, MPL_SIGNATURE_NAME)))
        return true;
    if (before > 0) walking->path[walking->length++] = '/';
    if (name.length > 255 || walking->length + name.length > PATH_MOST + 256) {
        mpl_error_set(walking->err, MOONPLAN_PLUGIN_SIGNATURE, MOONPLAN_NO_OFFSET, NULL,
                      "the path of %q is longer than %u bytes", &name, (uint64_t)PATH_MOST);
        walking->failed = true;
        return false;
    }
    memcpy(walking->path + walking->length, name.bytes, name.length);
    walking->length += name.length;
    moonplan_text path = {walking->path, walking->length};
    if (!mpl_seal_path(path, walking->err) ||
        !(folder ? walk_folder(walking) : walking->each(walking->data, path)))
        walking->failed = true;
    walking->length = before;
    return !walking->failed;
}

/* mpl_seal_path has seen that it is not too deep. */
static bool walk_folder(struct walking *walking) {
    return moonplan_root_list(walking->root, walk_entry, walking, walking->path, walking->length,
                              ENTRIES_MOST, walking->err) &&
           !walking->failed;
}

bool mpl_seal_walk(moonplan_root *root, bool (*each)(void *data, moonplan_text path), void *data,
                   moonplan_error *err) {
    struct walking walking = {.root = root, .each = each, .data = data, .err = err};
    return walk_folder(&walking);
}

struct comparing {
    const mpl_seal *seal;
    bool found[MPL_SEAL_FILES];
    moonplan_error *err;
};

static bool compare(void *data, moonplan_text path) {
    struct comparing *comparing = data;
    const mpl_seal_file *file = mpl_seal_find(comparing->seal, path);
    if (!file) REFUSE(comparing->err, "%q is not in the signed " MPL_SEAL_NAME, &path);
    comparing->found[file - comparing->seal->files] = true;
    return true;
}

bool mpl_seal_compare(const mpl_seal *seal, moonplan_root *root, moonplan_error *err) {
    struct comparing comparing = {.seal = seal, .err = err};
    if (!mpl_seal_walk(root, compare, &comparing, err)) return false;
    for (size_t i = 0; i < seal->file_count; i++)
        if (!comparing.found[i])
            REFUSE(err, "%q is missing, which the signed " MPL_SEAL_NAME " names",
                   &seal->files[i].path);
    return true;
}

/* -- Contents ----------------------------------------------------------------*/

bool mpl_seal_hash(moonplan_root *root, const char *path, uint64_t most, mpl_alloc *alloc,
                   uint64_t *size, uint8_t digest[32], moonplan_error *err) {
    mpl_buffer bytes;
    mpl_buffer_open(&bytes, alloc);
    bool fine = moonplan_root_read(root, mpl_buffer_sink, &bytes, path, strlen(path), most, err);
    if (fine && bytes.failed) {
        mpl_error_memory(err);
        fine = false;
    }
    if (fine) {
        *size = bytes.length;
        crypto_generichash_blake2b(digest, 32, (const unsigned char *)bytes.bytes, bytes.length,
                                   NULL, 0);
    }
    mpl_buffer_close(&bytes);
    return fine;
}

bool mpl_seal_contents(const mpl_seal *seal, moonplan_root *root, uint64_t most,
                       moonplan_error *err) {
    char path[256];
    mpl_alloc alloc = seal->alloc;
    for (size_t i = 0; i < seal->file_count; i++) {
        moonplan_text text = seal->files[i].path; /* at most 255 bytes, which parsing has seen */
        uint64_t size;
        uint8_t digest[32];
        memcpy(path, text.bytes, text.length);
        path[text.length] = 0;
        if (!mpl_seal_hash(root, path, most, &alloc, &size, digest, err) ||
            !mpl_seal_check(seal, text, size, digest, err))
            return false;
    }
    return true;
}
