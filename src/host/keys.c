/* Key pairs, and minisign's files of them:
 *
 *   untrusted comment: anything
 *   base64("Ed" | id 8 | public key 32)
 *
 *   untrusted comment: anything
 *   base64("Ed" | "Sc" or 0 0 | "B2" | salt 32 | operations 8 | memory 8
 *          | (id 8 | seed 32 | public key 32 | check 32) xor scrypt's stream)
 *
 * with little-endian numbers, and as check the BLAKE2b-256 of "Ed", id, seed and public key.
 * Without a password there is no stream, and check may be zeros: the tool writes it so. */
#include "keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../core/error.h"
#include "../core/path.h"
#include "../core/text.h"
#include "guard.h"
#include "io.h"

#define COMMENT     "untrusted comment: "
#define FILE_MOST   4096
#define BASE64_MOST 256

/* The scrypt of a new key: N = 2^17, r = 8, p = 1, which is 128 MiB and about half a second; the
 * least that OWASP's cheat sheet on password storage asks for. The tool's own 1 GiB is more than
 * many machines have to spare; reading takes whatever a file asks for up to that. */
#define NEW_OPERATIONS  4194304
#define NEW_MEMORY      134217728
#define MOST_OPERATIONS crypto_pwhash_scryptsalsa208sha256_OPSLIMIT_SENSITIVE
#define MOST_MEMORY     crypto_pwhash_scryptsalsa208sha256_MEMLIMIT_SENSITIVE

/* Places in the 158 bytes of a secret key. */
enum {
    AT_ALGORITHM = 0,
    AT_KDF = 2,
    AT_CHECK_KIND = 4,
    AT_SALT = 6,
    AT_OPERATIONS = 38,
    AT_MEMORY = 46,
    AT_ID = 54,
    AT_SECRET = 62,
    AT_CHECK = 126,
    SECRET_SIZE = 158,
    LOCKED_SIZE = SECRET_SIZE - AT_ID,
    PUBLIC_SIZE = 42
};

/* -- Lines -------------------------------------------------------------------*/

moonplan_text mpl_line(moonplan_text *text) {
    moonplan_text line = {NULL, 0};
    if (text->length == 0) return line;
    const char *end = memchr(text->bytes, '\n', text->length);
    line.bytes = text->bytes;
    line.length = end ? (size_t)(end - text->bytes) : text->length;
    size_t taken = line.length + (end != NULL);
    text->bytes += taken;
    text->length -= taken;
    if (line.length && line.bytes[line.length - 1] == '\r') line.length--;
    return line;
}

moonplan_text mpl_line_behind(moonplan_text line, const char *prefix) {
    size_t length = strlen(prefix);
    if (line.length < length || memcmp(line.bytes, prefix, length) != 0)
        return (moonplan_text){NULL, 0};
    return (moonplan_text){line.bytes + length, line.length - length};
}

/* libsodium 1.0.18 takes some bytes from 0x80 on for characters that they are not; so what was read
 * is written again, and has to be the same. */
bool mpl_base64_decode(uint8_t *out, size_t size, moonplan_text text) {
    char again[MPL_BASE64_SIZE(BASE64_MOST)];
    size_t length = 0;
    if (size > BASE64_MOST || text.length != MPL_BASE64_SIZE(size) - 1) return false;
    bool fine = sodium_base642bin(out, size, text.bytes, text.length, NULL, &length, NULL,
                                  sodium_base64_VARIANT_ORIGINAL) == 0 &&
                length == size;
    if (fine) {
        mpl_base64_encode(again, out, size);
        fine = memcmp(again, text.bytes, text.length) == 0;
    }
    sodium_memzero(again, sizeof again);
    return fine;
}

void mpl_base64_encode(char *out, const uint8_t *bytes, size_t size) {
    sodium_bin2base64(out, MPL_BASE64_SIZE(size), bytes, size, sodium_base64_VARIANT_ORIGINAL);
}

static bool refuse(moonplan_error *err, moonplan_code code, const char *why) {
    mpl_error_set(err, code, MOONPLAN_NO_OFFSET, NULL, "%s", why);
    return false;
}

/* The one line that counts: the second, or the only one. False unless there is nothing else. */
static bool find_line(moonplan_text *out, moonplan_text text) {
    moonplan_text first = mpl_line(&text);
    *out = first;
    if (mpl_line_behind(first, COMMENT).bytes) *out = mpl_line(&text);
    return out->bytes && text.length == 0;
}

/* -- Public keys -------------------------------------------------------------*/

bool mpl_key_sound(const uint8_t bytes[32]) {
    return crypto_core_ed25519_is_valid_point(bytes) == 1;
}

bool moonplan_public_key_parse(moonplan_public_key *out, const char *text, size_t length,
                               moonplan_error *err) {
    uint8_t bytes[PUBLIC_SIZE];
    moonplan_text line;
    if (!find_line(&line, (moonplan_text){text, length}) ||
        !mpl_base64_decode(bytes, sizeof bytes, line))
        return refuse(err, MOONPLAN_KEY_FORMAT,
                      "this is no public key: those are a comment line and one of 56 characters");
    if (memcmp(bytes, MPL_KEY_ALGORITHM, 2) != 0)
        return refuse(err, MOONPLAN_KEY_FORMAT, "the key is for another algorithm than Ed25519");
    if (!mpl_key_sound(bytes + 2 + MPL_KEY_ID))
        return refuse(err, MOONPLAN_KEY_FORMAT,
                      "the key is of small order or no point of the curve: anybody could sign");
    memcpy(out->id, bytes + 2, sizeof out->id);
    memcpy(out->bytes, bytes + 2 + MPL_KEY_ID, sizeof out->bytes);
    return true;
}

void moonplan_key_name(const moonplan_public_key *key, char out[MOONPLAN_KEY_NAME_SIZE]) {
    for (size_t i = 0; i < MPL_KEY_ID; i++) {
        uint8_t byte = key->id[MPL_KEY_ID - 1 - i];
        out[2 * i] = "0123456789ABCDEF"[byte >> 4];
        out[2 * i + 1] = "0123456789ABCDEF"[byte & 15];
    }
    out[MOONPLAN_KEY_NAME_SIZE - 1] = 0;
}

#define PUBLIC_COMMENT COMMENT "minisign public key "
#define PUBLIC_TEXT                                                                                \
    (sizeof PUBLIC_COMMENT - 1 + MOONPLAN_KEY_NAME_SIZE + MPL_BASE64_SIZE(PUBLIC_SIZE))

/* PUBLIC_TEXT characters, without a NUL. */
static void write_public(const moonplan_public_key *key, char out[PUBLIC_TEXT]) {
    uint8_t bytes[PUBLIC_SIZE] = MPL_KEY_ALGORITHM;
    char name[MOONPLAN_KEY_NAME_SIZE], coded[MPL_BASE64_SIZE(PUBLIC_SIZE)];
    memcpy(bytes + 2, key->id, sizeof key->id);
    memcpy(bytes + 2 + MPL_KEY_ID, key->bytes, sizeof key->bytes);
    moonplan_key_name(key, name);
    mpl_base64_encode(coded, bytes, sizeof bytes);
    memcpy(out, PUBLIC_COMMENT, sizeof PUBLIC_COMMENT - 1);
    out += sizeof PUBLIC_COMMENT - 1;
    memcpy(out, name, sizeof name - 1);
    out += sizeof name - 1;
    *out++ = '\n';
    memcpy(out, coded, sizeof coded - 1);
    out[sizeof coded - 1] = '\n';
}

bool moonplan_public_key_write(const moonplan_public_key *key, moonplan_sink sink,
                               void *sink_data) {
    char text[PUBLIC_TEXT];
    write_public(key, text);
    return sink(sink_data, text, sizeof text);
}

/* -- Secret keys -------------------------------------------------------------*/

/* With the public half filled in from the secret one. */
static void take_seed(moonplan_secret_key *key, const uint8_t seed[32]) {
    crypto_sign_seed_keypair(key->half.bytes, key->bytes, seed);
}

static moonplan_secret_key *new_key(const moonplan_options *options, moonplan_error *err) {
    mpl_alloc alloc = mpl_alloc_of(options);
    moonplan_secret_key *key = sodium_init() < 0 ? NULL : mpl_allocate(&alloc, sizeof *key);
    if (!key) {
        mpl_error_memory(err);
        return NULL;
    }
    memset(key, 0, sizeof *key);
    key->alloc = alloc;
    return key;
}

moonplan_secret_key *moonplan_secret_key_new(const moonplan_options *options, moonplan_error *err) {
    uint8_t seed[crypto_sign_SEEDBYTES];
    moonplan_secret_key *key = new_key(options, err);
    if (!key) return NULL;
    randombytes_buf(key->half.id, sizeof key->half.id);
    randombytes_buf(seed, sizeof seed);
    take_seed(key, seed);
    sodium_memzero(seed, sizeof seed);
    return key;
}

void moonplan_secret_key_free(moonplan_secret_key *key) {
    if (!key) return;
    mpl_alloc alloc = key->alloc;
    sodium_memzero(key, sizeof *key);
    mpl_release(&alloc, key, sizeof *key);
}

void moonplan_secret_key_public(const moonplan_secret_key *key, moonplan_public_key *out) {
    *out = key->half;
}

static void compute_check(uint8_t out[32], const uint8_t bytes[SECRET_SIZE]) {
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, NULL, 0, 32);
    crypto_generichash_blake2b_update(&state, bytes + AT_ALGORITHM, 2);
    crypto_generichash_blake2b_update(&state, bytes + AT_ID, AT_CHECK - AT_ID);
    crypto_generichash_blake2b_final(&state, out, 32);
    sodium_memzero(&state, sizeof state);
}

static uint64_t read_number(const uint8_t bytes[8]) {
    uint64_t number = 0;
    for (size_t i = 8; i > 0; i--) number = number << 8 | bytes[i - 1];
    return number;
}

static void write_number(uint8_t bytes[8], uint64_t number) {
    for (size_t i = 0; i < 8; i++) bytes[i] = (uint8_t)(number >> (8 * i));
}

/* Lock or unlock, which is the same, by the salt and the costs that stand in the bytes. */
static bool turn(uint8_t bytes[SECRET_SIZE], moonplan_text password, moonplan_error *err) {
    uint8_t stream[LOCKED_SIZE];
    uint64_t operations = read_number(bytes + AT_OPERATIONS);
    uint64_t memory = read_number(bytes + AT_MEMORY);
    if (operations > MOST_OPERATIONS || memory > MOST_MEMORY)
        return refuse(err, MOONPLAN_KEY_FORMAT,
                      "the key asks for more time or memory than any key is unlocked with");
    errno = 0;
    if (crypto_pwhash_scryptsalsa208sha256(stream, sizeof stream, password.bytes, password.length,
                                           bytes + AT_SALT, operations, (size_t)memory) != 0) {
        if (errno != EINVAL) mpl_error_memory(err);
        return errno == EINVAL ? refuse(err, MOONPLAN_KEY_FORMAT,
                                        "the key asks for less time than scrypt can do with")
                               : false;
    }
    for (size_t i = 0; i < sizeof stream; i++) bytes[AT_ID + i] ^= stream[i];
    sodium_memzero(stream, sizeof stream);
    return true;
}

/* Unlocks the bytes where they are locked, and fills the key. */
static bool read_secret(moonplan_secret_key *key, uint8_t bytes[SECRET_SIZE],
                        moonplan_text password, moonplan_error *err) {
    static const uint8_t open_kdf[2] = {0, 0};
    uint8_t check[32];
    if (memcmp(bytes + AT_ALGORITHM, MPL_KEY_ALGORITHM, 2) != 0)
        return refuse(err, MOONPLAN_KEY_FORMAT, "the key is for another algorithm than Ed25519");
    bool locked = memcmp(bytes + AT_KDF, "Sc", 2) == 0;
    if ((!locked && memcmp(bytes + AT_KDF, open_kdf, 2) != 0) ||
        memcmp(bytes + AT_CHECK_KIND, "B2", 2) != 0)
        return refuse(err, MOONPLAN_KEY_FORMAT,
                      "the key is locked in another way than by scrypt, with BLAKE2b to check it");
    if (locked && !password.bytes)
        return refuse(err, MOONPLAN_KEY_PASSWORD, "the key is locked with a password");
    if (locked && !turn(bytes, password, err)) return false;
    compute_check(check, bytes);
    bool fine = sodium_memcmp(check, bytes + AT_CHECK, sizeof check) == 0;
    if (!locked && sodium_is_zero(bytes + AT_CHECK, sizeof check)) fine = true;
    sodium_memzero(check, sizeof check);
    if (!fine && locked) return refuse(err, MOONPLAN_KEY_PASSWORD, "the password is not the key's");
    memcpy(key->half.id, bytes + AT_ID, MPL_KEY_ID);
    take_seed(key, bytes + AT_SECRET);
    /* A public half that is not the seed's own would let two signatures of one message give the
     * secret away. */
    if (!fine || sodium_memcmp(key->bytes, bytes + AT_SECRET, sizeof key->bytes) != 0)
        return refuse(err, MOONPLAN_KEY_FORMAT,
                      "the key is damaged: its parts do not belong together");
    return true;
}

moonplan_secret_key *moonplan_secret_key_parse(const char *text, size_t length,
                                               moonplan_text password,
                                               const moonplan_options *options,
                                               moonplan_error *err) {
    uint8_t bytes[SECRET_SIZE];
    moonplan_text line;
    if (!find_line(&line, (moonplan_text){text, length}) ||
        !mpl_base64_decode(bytes, sizeof bytes, line)) {
        sodium_memzero(bytes, sizeof bytes);
        refuse(err, MOONPLAN_KEY_FORMAT,
               "this is no secret key: those are a comment line and one of 212 characters");
        return NULL;
    }
    moonplan_secret_key *key = new_key(options, err);
    if (key && !read_secret(key, bytes, password, err)) {
        moonplan_secret_key_free(key);
        key = NULL;
    }
    sodium_memzero(bytes, sizeof bytes);
    return key;
}

#define SECRET_COMMENT COMMENT "minisign secret key\n"
#define LOCKED_COMMENT COMMENT "minisign encrypted secret key\n"
#define SECRET_TEXT    (sizeof LOCKED_COMMENT - 1 + MPL_BASE64_SIZE(SECRET_SIZE))

/* At most SECRET_TEXT characters, without a NUL. */
static bool write_secret(const moonplan_secret_key *key, char out[SECRET_TEXT], size_t *length,
                         moonplan_text password, moonplan_error *err) {
    uint8_t bytes[SECRET_SIZE] = MPL_KEY_ALGORITHM;
    char coded[MPL_BASE64_SIZE(SECRET_SIZE)];
    bool locked = password.bytes != NULL, fine = true;
    const char *comment = locked ? LOCKED_COMMENT : SECRET_COMMENT;
    memcpy(bytes + AT_CHECK_KIND, "B2", 2);
    memcpy(bytes + AT_ID, key->half.id, MPL_KEY_ID);
    memcpy(bytes + AT_SECRET, key->bytes, sizeof key->bytes);
    compute_check(bytes + AT_CHECK, bytes);
    if (locked) {
        memcpy(bytes + AT_KDF, "Sc", 2);
        randombytes_buf(bytes + AT_SALT, AT_OPERATIONS - AT_SALT);
        write_number(bytes + AT_OPERATIONS, NEW_OPERATIONS);
        write_number(bytes + AT_MEMORY, NEW_MEMORY);
        fine = turn(bytes, password, err);
    }
    *length = strlen(comment);
    memcpy(out, comment, *length);
    if (fine) {
        mpl_base64_encode(coded, bytes, sizeof bytes);
        memcpy(out + *length, coded, sizeof coded - 1);
        *length += sizeof coded - 1;
        out[(*length)++] = '\n';
    }
    sodium_memzero(coded, sizeof coded);
    sodium_memzero(bytes, sizeof bytes);
    return fine;
}

/* -- Files -------------------------------------------------------------------*/

/* The path with what is appended to it and a NUL. */
static bool copy_path(char out[MPL_PATH_MOST + 8], const char *path, size_t length,
                      const char *ending, moonplan_error *err) {
    moonplan_text text = {path, length};
    if (!mpl_path_check_outer(text, err)) return false;
    memcpy(out, path, length);
    strcpy(out + length, ending);
    return true;
}

static bool unavailable(moonplan_error *err, const char *path, int error) {
    moonplan_text text = {path, strlen(path)};
    const char *format;
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        format = "there is no file %q";
        break;
    case EEXIST:
        format = "%q is there already, and no key is ever overwritten";
        break;
    case EACCES:
    case EPERM:
        format = "%q is not permitted";
        break;
    case EROFS:
        format = "%q is on a file system that is only read";
        break;
    case ENOSPC:
    case EDQUOT:
        format = "there is no room left for %q";
        break;
    case ELOOP:
        format = "%q is a symbolic link";
        break;
    case EISDIR:
        format = "%q is a folder";
        break;
    case ENXIO:
        format = "%q is no regular file";
        break;
    case EMSGSIZE: /* ours */
        format = "%q is too long for a key";
        break;
    case EKEYREJECTED: /* ours */
        format = "others could change %q, or put another file in its place: it, its folders and "
                 "the links to it have to be root's, or of whom they belong to, alone";
        break;
    case EFBIG:
        format = "%q would be larger than this process may make a file (ulimit -f)";
        break;
    case EMFILE:
    case ENFILE:
        format = "%q cannot be opened: too many files are open";
        break;
    default:
        format = "%q cannot be read or written";
        break;
    }
    mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL, format, &text);
    return false;
}

/* 0 or an errno. */
static int read_whole(int file, char out[FILE_MOST], size_t *length) {
    for (*length = 0; *length < FILE_MOST;) {
        size_t got;
        int more = mpl_io_read(file, out + *length, FILE_MOST - *length, &got);
        if (more <= 0) return more < 0 ? errno : 0;
        *length += got;
    }
    return EMSGSIZE;
}

/* Whoever can put another key in the place of this one says whose signatures count. */
static int guard(int folder, int file, const struct stat *found) {
    struct stat guilty;
    bool above = true;
    if (mpl_guard_open(file, found, found->st_uid, false)) return EKEYREJECTED;
    return mpl_guard_folder(folder, found->st_uid, &guilty, &above);
}

static bool read_file(char out[FILE_MOST], size_t *length, const char *path, bool secret,
                      moonplan_error *err) {
    char name[MPL_PATH_NAME_MOST + 1];
    struct stat found = {0};
    int folder;
    int error = mpl_guard_walk(path, !secret, &folder, name);
    if (error) return unavailable(err, path, error);
    int file = mpl_io_open(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
    error = file < 0 || fstat(file, &found) != 0 ? errno : 0;
    if (!error && S_ISDIR(found.st_mode)) error = EISDIR;
    if (!error && !S_ISREG(found.st_mode)) error = ENXIO;
    bool open_to_all = !error && secret && (found.st_mode & 077) != 0;
    if (!error && !open_to_all) error = guard(folder, file, &found);
    if (!error && !open_to_all) error = read_whole(file, out, length);
    if (file >= 0) close(file);
    close(folder);
    if (error) return unavailable(err, path, error);
    if (!open_to_all) return true;
    moonplan_text text = {path, strlen(path)};
    mpl_error_set(err, MOONPLAN_FILE_UNAVAILABLE, MOONPLAN_NO_OFFSET, NULL,
                  "%q is open to others than its owner; chmod 600 closes it", &text);
    return false;
}

/* Where a file's key goes wrong, the file is named. */
static void name_file(moonplan_error *err, const char *path) {
    char message[sizeof err->message];
    moonplan_text text = {path, strlen(path)};
    if (!err || err->code == MOONPLAN_MEMORY) return;
    memcpy(message, err->message, sizeof message);
    mpl_error_set(err, err->code, MOONPLAN_NO_OFFSET, NULL, "%q: %s", &text, message);
}

bool moonplan_public_key_load(moonplan_public_key *out, const char *path, size_t length,
                              moonplan_error *err) {
    char name[MPL_PATH_MOST + 8], text[FILE_MOST];
    size_t size = 0;
    if (!copy_path(name, path, length, "", err) || !read_file(text, &size, name, false, err))
        return false;
    bool fine = moonplan_public_key_parse(out, text, size, err);
    if (!fine) name_file(err, name);
    return fine;
}

moonplan_secret_key *moonplan_secret_key_load(const char *path, size_t length,
                                              moonplan_text password,
                                              const moonplan_options *options,
                                              moonplan_error *err) {
    char name[MPL_PATH_MOST + 8], text[FILE_MOST];
    size_t size = 0;
    moonplan_secret_key *key = NULL;
    if (copy_path(name, path, length, "", err) && read_file(text, &size, name, true, err)) {
        key = moonplan_secret_key_parse(text, size, password, options, err);
        if (!key) name_file(err, name);
    }
    sodium_memzero(text, sizeof text);
    return key;
}

/* 0 or an errno; after an error there is no file of ours. */
static int create(const char *path, mode_t mode, const char *bytes, size_t length) {
    int file = mpl_io_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (file < 0) return errno;
    int error = mpl_io_write(file, bytes, length);
    if (close(file) != 0 && !error) error = errno;
    if (error) unlink(path);
    return error;
}

bool moonplan_secret_key_save(const moonplan_secret_key *key, const char *path, size_t length,
                              moonplan_text password, moonplan_error *err) {
    char secret[MPL_PATH_MOST + 8], public[MPL_PATH_MOST + 8];
    char text[SECRET_TEXT], half[PUBLIC_TEXT];
    size_t size = 0;
    struct stat found;
    if (!copy_path(secret, path, length, ".key", err) ||
        !copy_path(public, path, length, ".pub", err))
        return false;
    /* Looked at first: making the lock takes its time. */
    if (lstat(secret, &found) == 0) return unavailable(err, secret, EEXIST);
    if (lstat(public, &found) == 0) return unavailable(err, public, EEXIST);
    bool fine = write_secret(key, text, &size, password, err);
    if (fine) {
        int error = create(secret, 0600, text, size);
        if (error) fine = unavailable(err, secret, error);
    }
    sodium_memzero(text, sizeof text);
    if (!fine) return false;
    write_public(&key->half, half);
    int error = create(public, 0644, half, sizeof half);
    if (!error) return true;
    unlink(secret);
    return unavailable(err, public, error);
}
