#include "power_cut.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECTOR = 512, MOST_FILES = 16 };

typedef enum change_kind { WRITE, TRUNCATE, SYNC, DELETE, DELETE_SYNCED } change_kind;

typedef struct change {
    struct change *next;
    change_kind kind;
    sqlite3_int64 offset; /* TRUNCATE: the new size */
    int length;
    unsigned char bytes[];
} change;

/* One path, since power_on. */
typedef struct track {
    char path[512];
    change *first, **last;
} track;

typedef struct handle {
    sqlite3_file base;
    track *track; /* NULL: a temporary file without a name */
    sqlite3_file real[];
} handle;

static struct {
    sqlite3_vfs vfs, *below;
    bool normal, off;
    long changes, most;
    track tracks[MOST_FILES];
    size_t count;
} disk;

/* -- What happened -----------------------------------------------------------*/

static track *track_of(const char *path) {
    for (size_t i = 0; i < disk.count; i++)
        if (strcmp(disk.tracks[i].path, path) == 0) return &disk.tracks[i];
    if (disk.count == MOST_FILES || strlen(path) >= sizeof disk.tracks->path) abort();
    track *made = &disk.tracks[disk.count++];
    strcpy(made->path, path);
    made->first = NULL;
    made->last = &made->first;
    return made;
}

static change *note(track *at, change_kind kind, sqlite3_int64 offset, const void *bytes,
                    int length) {
    change *made = malloc(sizeof *made + (size_t)length);
    if (!made) abort();
    *made = (change){.kind = kind, .offset = offset, .length = length};
    if (length) memcpy(made->bytes, bytes, (size_t)length);
    *at->last = made;
    at->last = &made->next;
    return made;
}

/* Whether there is power for one more change. */
static bool powered(void) {
    if (!disk.off && disk.most >= 0 && disk.changes >= disk.most) disk.off = true;
    if (!disk.off) disk.changes++;
    return !disk.off;
}

/* What stood in the file before is on the disk already. */
static void note_content(track *at, sqlite3_file *real) {
    sqlite3_int64 size = 0;
    if (at->first || real->pMethods->xFileSize(real, &size) != SQLITE_OK || size == 0) return;
    unsigned char *bytes = malloc((size_t)size);
    if (!bytes || real->pMethods->xRead(real, bytes, (int)size, 0) != SQLITE_OK) abort();
    note(at, WRITE, 0, bytes, (int)size);
    note(at, SYNC, 0, NULL, 0);
    free(bytes);
}

/* -- The VFS -------------------------------------------------------------------*/

static sqlite3_file *real_of(sqlite3_file *file) {
    return ((handle *)file)->real;
}

static int file_close(sqlite3_file *file) {
    sqlite3_file *real = real_of(file);
    return real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *out, int length, sqlite3_int64 offset) {
    if (disk.off) return SQLITE_IOERR_READ;
    return real_of(file)->pMethods->xRead(real_of(file), out, length, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset) {
    track *at = ((handle *)file)->track;
    if (!powered()) return SQLITE_IOERR_WRITE;
    if (at) note(at, WRITE, offset, bytes, length);
    return real_of(file)->pMethods->xWrite(real_of(file), bytes, length, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    track *at = ((handle *)file)->track;
    if (!powered()) return SQLITE_IOERR_TRUNCATE;
    if (at) note(at, TRUNCATE, size, NULL, 0);
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
    track *at = ((handle *)file)->track;
    (void)flags;
    if (!powered()) return SQLITE_IOERR_FSYNC;
    if (at) note(at, SYNC, 0, NULL, 0);
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out) {
    if (disk.off) return SQLITE_IOERR_FSTAT;
    return real_of(file)->pMethods->xFileSize(real_of(file), out);
}

static int file_lock(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_reserved(sqlite3_file *file, int *out) {
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int file_control(sqlite3_file *file, int op, void *arg) {
    /* Returning SQLITE_OK here is how a VFS says that it has dealt with a pragma itself. */
    if (disk.normal && op == SQLITE_FCNTL_PRAGMA) {
        char **texts = arg;
        if (texts[2] && sqlite3_stricmp(texts[1], "synchronous") == 0 &&
            sqlite3_stricmp(texts[2], "NORMAL") != 0)
            return SQLITE_OK;
        /* The store looks whether it has got what it asked for. */
        if (!texts[2] && sqlite3_stricmp(texts[1], "synchronous") == 0) {
            texts[0] = sqlite3_mprintf("2");
            return SQLITE_OK;
        }
    }
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int file_sector(sqlite3_file *file) {
    (void)file;
    return SECTOR;
}

/* No promise that a write of a page is all or nothing. */
static int file_traits(sqlite3_file *file) {
    (void)file;
    return 0;
}

static int shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **out) {
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, out);
}

static int shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void shm_barrier(sqlite3_file *file) {
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shm_unmap(sqlite3_file *file, int delete) {
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete);
}

/* Version 2 has no xFetch: nothing is written through a mapping, past this file. */
static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
};

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                    int *out_flags) {
    handle *opened = (handle *)file;
    (void)vfs;
    opened->base.pMethods = NULL;
    if (disk.off) return SQLITE_CANTOPEN;
    int result = disk.below->xOpen(disk.below, path, opened->real, flags, out_flags);
    if (opened->real->pMethods) opened->base.pMethods = &methods;
    opened->track = NULL;
    if (result == SQLITE_OK && path && !(flags & SQLITE_OPEN_DELETEONCLOSE)) {
        opened->track = track_of(path);
        note_content(opened->track, opened->real);
    }
    return result;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync) {
    (void)vfs;
    if (!powered()) return SQLITE_IOERR_DELETE;
    note(track_of(path), sync ? DELETE_SYNCED : DELETE, 0, NULL, 0);
    return disk.below->xDelete(disk.below, path, 0);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out) {
    (void)vfs;
    return disk.below->xAccess(disk.below, path, flags, out);
}

static int vfs_path(sqlite3_vfs *vfs, const char *path, int size, char *out) {
    (void)vfs;
    return disk.below->xFullPathname(disk.below, path, size, out);
}

static int make_normal(sqlite3 *db, char **message, const struct sqlite3_api_routines *api) {
    (void)message;
    (void)api;
    return sqlite3_exec(db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
}

bool power_install(bool normal) {
    if (!disk.below) {
        disk.below = sqlite3_vfs_find(NULL);
        if (!disk.below) return false;
        disk.vfs = *disk.below;
        disk.vfs.pNext = NULL;
        disk.vfs.zName = "power";
        disk.vfs.szOsFile = (int)sizeof(handle) + disk.below->szOsFile;
        disk.vfs.xOpen = vfs_open;
        disk.vfs.xDelete = vfs_delete;
        disk.vfs.xAccess = vfs_access;
        disk.vfs.xFullPathname = vfs_path;
    }
    disk.normal = normal;
    sqlite3_reset_auto_extension();
    if (normal) {
        /* The type that SQLite declares for it is not the one that it calls. */
        union {
            int (*extension)(sqlite3 *, char **, const struct sqlite3_api_routines *);
            void (*entry)(void);
        } made = {.extension = make_normal};
        if (sqlite3_auto_extension(made.entry) != SQLITE_OK) return false;
    }
    return sqlite3_vfs_register(&disk.vfs, 1) == SQLITE_OK;
}

void power_on(long changes) {
    for (size_t i = 0; i < disk.count; i++) {
        for (change *at = disk.tracks[i].first, *next; at; at = next) {
            next = at->next;
            free(at);
        }
    }
    disk.count = 0;
    disk.changes = 0;
    disk.most = changes;
    disk.off = false;
}

bool power_is_off(void) {
    return disk.off;
}

long power_changes(void) {
    return disk.changes;
}

/* -- What is left ----------------------------------------------------------------*/

static uint64_t draw(uint64_t *state) {
    /* splitmix64, as its author published it, in the public domain */
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

typedef struct image {
    unsigned char *bytes;
    size_t size, room;
    bool there;
} image;

static void resize(image *out, size_t size) {
    if (size > out->room) {
        out->room = size * 2;
        out->bytes = realloc(out->bytes, out->room);
        if (!out->bytes) abort();
    }
    if (size > out->size) memset(out->bytes + out->size, 0, size - out->size);
    out->size = size;
    out->there = true;
}

static void put(image *out, const change *from, size_t begin, size_t end) {
    size_t offset = (size_t)from->offset;
    if (out->size < offset + end) resize(out, offset + end);
    if (!out->bytes) return; /* a write of nothing */
    memcpy(out->bytes + offset + begin, from->bytes + begin, end - begin);
}

static void apply(image *out, const change *from) {
    if (from->kind == WRITE) put(out, from, 0, (size_t)from->length);
    if (from->kind == TRUNCATE) resize(out, (size_t)from->offset);
    if (from->kind == SYNC) out->there = true;
    if (from->kind == DELETE || from->kind == DELETE_SYNCED) {
        out->size = 0;
        out->there = false;
    }
}

static void apply_perhaps(image *out, const change *from, uint64_t *state) {
    uint64_t fate = draw(state) % 4;
    if (fate < 2) {
        apply(out, from);
    } else if (fate == 2 && from->kind == WRITE) {
        size_t length = (size_t)from->length;
        for (size_t at = 0; at < length; at += SECTOR) {
            size_t end = at + SECTOR < length ? at + SECTOR : length;
            if (draw(state) % 2) put(out, from, at, end);
        }
    }
}

static bool lay_out(const track *at, const char *folder, uint64_t *state) {
    image out = {NULL, 0, 0, false};
    const change *from = at->first, *durable = NULL;
    for (const change *next = at->first; next; next = next->next)
        if (next->kind == SYNC || next->kind == DELETE_SYNCED) durable = next;
    if (durable) {
        for (; from != durable->next; from = from->next) apply(&out, from);
    }
    for (; from; from = from->next) apply_perhaps(&out, from, state);
    const char *slash = strrchr(at->path, '/');
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, slash ? slash + 1 : at->path);
    bool fine = true;
    remove(path);
    if (out.there) {
        FILE *file = fopen(path, "wb");
        fine = file && fwrite(out.bytes, 1, out.size, file) == out.size;
        if (file && fclose(file) != 0) fine = false;
    }
    free(out.bytes);
    return fine;
}

bool power_image(const char *folder, uint64_t seed) {
    uint64_t state = seed;
    for (size_t i = 0; i < disk.count; i++)
        if (!lay_out(&disk.tracks[i], folder, &state)) return false;
    return true;
}
