/* Files below a root: what is read, what is not, and that the walk of older kernels decides as
 * openat2 does. The rules are those of the header. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../../src/host/files.h"
#include "check.h"

static char base[] = "/tmp/moonplan-files-XXXXXX";

static void put(const char *name, const char *content) {
    FILE *file = fopen(name, "wb");
    if (!CHECK(file != NULL) || !file) return;
    fwrite(content, 1, strlen(content), file);
    fclose(file);
}

typedef struct taken {
    char bytes[256];
    size_t length;
} taken;

static bool take(void *data, const char *bytes, size_t length) {
    taken *t = data;
    if (length > sizeof t->bytes - t->length) length = sizeof t->bytes - t->length;
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    return true;
}

static moonplan_root *open_root(const char *path, unsigned flags, bool walk) {
    moonplan_error err;
    moonplan_root *root = moonplan_root_open(path, strlen(path), flags, NULL, &err);
    if (!CHECK(root != NULL)) exit(1);
    if (walk) mpl_root_walk(root);
    return root;
}

/* MOONPLAN_OK, with the content in *out, or the code. */
static moonplan_code read_code(moonplan_root *root, taken *out, const char *path, uint64_t most) {
    moonplan_error err;
    out->length = 0;
    bool fine = moonplan_root_read(root, take, out, path, strlen(path), most, &err);
    if (!fine) {
        CHECK(err.message[0] != 0);
        CHECK(strstr(err.message, base) == NULL); /* the root's own path is nobody's business */
    }
    return fine ? MOONPLAN_OK : err.code;
}

static void lay_out(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!CHECK(mkdtemp(base) != NULL) || !CHECK(chdir(base) == 0)) exit(1);
    CHECK(mkdir("root", 0755) == 0 && mkdir("root/dir", 0755) == 0 && mkdir("other", 0755) == 0);
    put("secret", "secret");
    put("other/file", "other");
    put("root/file", "content");
    put("root/empty", "");
    put("root/dir/inner", "inner");
    put("root/.dot", "dot");
    put("root/two", "two names");
    CHECK(link("root/two", "other/two") == 0);
    CHECK(symlink("../secret", "root/out") == 0);
    CHECK(symlink("file", "root/within") == 0);
    CHECK(symlink("../other", "root/folder") == 0);
    CHECK(symlink("dir", "root/near") == 0);
    CHECK(symlink("loop", "root/loop") == 0);
    CHECK(symlink("/proc/self/root", "root/magic") == 0);
    CHECK(mkfifo("root/fifo", 0644) == 0);
    int door = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(address.sun_path, "root/socket");
    CHECK(bind(door, (struct sockaddr *)&address, sizeof address) == 0);
    close(door);
    int sparse = open("root/sparse", O_WRONLY | O_CREAT, 0644);
    CHECK(ftruncate(sparse, (off_t)1 << 40) == 0);
    close(sparse);
}

static void clean_up(void) {
    char command[64];
    CHECK(chdir("/") == 0);
    snprintf(command, sizeof command, "rm -r %s", base);
    CHECK(system(command) == 0);
}

static void reads(bool walk) {
    moonplan_root *root = open_root("root", 0, walk);
    taken t;
    CHECK(read_code(root, &t, "file", 7) == MOONPLAN_OK);
    CHECK(t.length == 7 && memcmp(t.bytes, "content", 7) == 0);
    CHECK(read_code(root, &t, "file", 6) == MOONPLAN_LIMIT);
    CHECK(read_code(root, &t, "empty", 0) == MOONPLAN_OK && t.length == 0);
    CHECK(read_code(root, &t, "dir/inner", 100) == MOONPLAN_OK && t.length == 5);
    CHECK(read_code(root, &t, ".dot", 100) == MOONPLAN_OK && t.length == 3);
    CHECK(read_code(root, &t, "sparse", 1 << 20) == MOONPLAN_LIMIT && t.length == 0);
    static const char *const gone[] = {"none",       "dir/none", "none/file", "file/x",
                                       "dir",        "out",      "within",    "folder/file",
                                       "near/inner", "loop",     "loop/x",    "magic/etc/passwd",
                                       "fifo",       "socket",   "two",       ""};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        CHECK(read_code(root, &t, gone[i], 100) == MOONPLAN_FILE_UNAVAILABLE);
        CHECK(t.length == 0);
    }
    moonplan_root_free(root);
}

static void reads_with_openat2(void) {
    reads(false);
}
static void reads_name_by_name(void) {
    reads(true);
}

static void paths_have_one_form(void) {
    moonplan_root *root = open_root("root", 0, false);
    static const char *const bad[] = {"..",          "../secret", "dir/../file", "dir/..",
                                      "/etc/passwd", "./file",    ".",           "dir/./inner",
                                      "dir//inner",  "dir/",      "/",           "//"};
    taken t;
    moonplan_error err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(read_code(root, &t, bad[i], 100) == MOONPLAN_FILE_PATH);
    CHECK(!moonplan_root_read(root, take, &t, "fi\0le", 5, 100, &err));
    CHECK(err.code == MOONPLAN_FILE_PATH);
    char name[4999];
    memset(name, 'x', sizeof name);
    CHECK(!moonplan_root_read(root, take, &t, name, 256, 100, &err));
    CHECK(err.code == MOONPLAN_FILE_PATH);
    CHECK(!moonplan_root_read(root, take, &t, name, 255, 100, &err));
    CHECK(err.code == MOONPLAN_FILE_UNAVAILABLE);
    for (size_t i = 1; i < sizeof name; i += 2) name[i] = '/';
    CHECK(!moonplan_root_read(root, take, &t, name, sizeof name, 100, &err));
    CHECK(err.code == MOONPLAN_FILE_PATH);
    CHECK(!moonplan_root_read(root, take, &t, name, 4095, 100, &err));
    CHECK(err.code == MOONPLAN_FILE_UNAVAILABLE);
    moonplan_root_free(root);
}

static void devices_are_not_opened_for_reading(void) {
    if (mknod("root/zero", S_IFCHR | 0644, makedev(1, 5)) != 0) {
        check_skip("no device nodes can be made here");
        return;
    }
    for (int walk = 0; walk < 2; walk++) {
        moonplan_root *root = open_root("root", 0, walk);
        taken t;
        CHECK(read_code(root, &t, "zero", 100) == MOONPLAN_FILE_UNAVAILABLE && t.length == 0);
        moonplan_root_free(root);
    }
    unlink("root/zero");
}

/* /proc is a mount point on every machine that has it. */
static void mount_points_are_not_crossed(void) {
    for (int walk = 0; walk < 2; walk++) {
        moonplan_root *root = open_root("/", 0, walk);
        taken t;
        CHECK(read_code(root, &t, "proc/version", 256) == MOONPLAN_FILE_UNAVAILABLE);
        CHECK(t.length == 0);
        moonplan_root_free(root);
        root = open_root("/", MOONPLAN_ROOT_TRUSTED, walk);
        CHECK(read_code(root, &t, "proc/version", 256) == MOONPLAN_OK && t.length > 0);
        moonplan_root_free(root);
    }
}

static void trust_is_about_names_only(void) {
    for (int walk = 0; walk < 2; walk++) {
        moonplan_root *root = open_root("root", MOONPLAN_ROOT_TRUSTED, walk);
        taken t;
        CHECK(read_code(root, &t, "two", 100) == MOONPLAN_OK && t.length == 9);
        CHECK(read_code(root, &t, "within", 100) == MOONPLAN_FILE_UNAVAILABLE);
        CHECK(read_code(root, &t, "fifo", 100) == MOONPLAN_FILE_UNAVAILABLE);
        moonplan_root_free(root);
    }
}

static bool add_name(void *data, moonplan_text name, bool folder) {
    taken *t = data;
    take(t, name.bytes, name.length);
    take(t, folder ? "/ " : " ", folder ? 2 : 1);
    return true;
}

static void folders_are_listed_in_order(void) {
    moonplan_error err;
    taken t = {.length = 0};
    moonplan_root *root = open_root("root", 0, false);
    CHECK(moonplan_root_list(root, add_name, &t, "", 0, 5, &err));
    CHECK_TEXT(".dot dir/ empty file sparse ", ((moonplan_text){t.bytes, t.length}));
    CHECK(!moonplan_root_list(root, add_name, &t, "", 0, 4, &err));
    CHECK(err.code == MOONPLAN_LIMIT);
    CHECK(!moonplan_root_list(root, add_name, &t, "near", 4, 100, &err));
    CHECK(err.code == MOONPLAN_FILE_UNAVAILABLE);
    CHECK(!moonplan_root_list(root, add_name, &t, "file", 4, 100, &err));
    CHECK(err.code == MOONPLAN_FILE_UNAVAILABLE);
    t.length = 0;
    CHECK(moonplan_root_list(root, add_name, &t, "dir", 3, 1, &err));
    CHECK_TEXT("inner ", ((moonplan_text){t.bytes, t.length}));
    moonplan_root_free(root);
}

static void things_have_sizes(void) {
    moonplan_error err;
    moonplan_root *root = open_root("root", 0, false);
    bool folder;
    uint64_t size;
    CHECK(moonplan_root_stat(root, &folder, &size, "file", 4, &err) && !folder && size == 7);
    CHECK(moonplan_root_stat(root, &folder, &size, "", 0, &err) && folder);
    static const char *const gone[] = {"none", "within", "near", "fifo", "socket", "two"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        for (int walk = 0; walk < 2; walk++) {
            if (walk) mpl_root_walk(root);
            CHECK(!moonplan_root_stat(root, &folder, &size, gone[i], strlen(gone[i]), &err));
            CHECK(err.code == MOONPLAN_FILE_UNAVAILABLE);
        }
    moonplan_root_free(root);
}

static bool write_fails(moonplan_root *root, const char *path, moonplan_code code) {
    moonplan_error err;
    return !moonplan_root_write(root, path, strlen(path), "new", 3, &err) && err.code == code;
}

static void writing_replaces_whole_files(void) {
    moonplan_error err;
    moonplan_root *root = open_root("root", 0, false);
    CHECK(write_fails(root, "fresh", MOONPLAN_FILE_UNAVAILABLE)); /* not granted */
    moonplan_root_free(root);
    root = open_root("root", MOONPLAN_ROOT_WRITE, false);
    taken t;
    CHECK(moonplan_root_write(root, "dir/fresh", 9, "new", 3, &err));
    CHECK(read_code(root, &t, "dir/fresh", 100) == MOONPLAN_OK && t.length == 3);
    CHECK(moonplan_root_write(root, "dir/fresh", 9, NULL, 0, &err));
    CHECK(read_code(root, &t, "dir/fresh", 100) == MOONPLAN_OK && t.length == 0);
    /* The other name of a file that is replaced keeps the old content. */
    CHECK(moonplan_root_write(root, "two", 3, "new", 3, &err));
    CHECK(read_code(root, &t, "two", 100) == MOONPLAN_OK && t.length == 3);
    moonplan_root *other = open_root("other", 0, false);
    CHECK(read_code(other, &t, "two", 100) == MOONPLAN_OK && t.length == 9);
    moonplan_root_free(other);
    static const char *const not_there[] = {"dir",         "out",    "within", "near/inner", "fifo",
                                            "folder/file", "none/x", "file/x", "socket"};
    for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
        CHECK(write_fails(root, not_there[i], MOONPLAN_FILE_UNAVAILABLE));
    CHECK(write_fails(root, "../x", MOONPLAN_FILE_PATH));
    CHECK(write_fails(root, "", MOONPLAN_FILE_PATH));
    moonplan_root_free(root);
    root = open_root(".", 0, false);
    CHECK(read_code(root, &t, "secret", 100) == MOONPLAN_OK && t.length == 6);
    CHECK(read_code(root, &t, "other/file", 100) == MOONPLAN_OK && t.length == 5);
    /* No temporary file stays behind. */
    t.length = 0;
    CHECK(moonplan_root_list(root, add_name, &t, "root/dir", 8, 100, &err));
    CHECK_TEXT("fresh inner ", ((moonplan_text){t.bytes, t.length}));
    moonplan_root_free(root);
}

/* What is run: nobody else may be able to change it, or put something in its place. */
static void guarded_roots_are_closed_to_others(void) {
    moonplan_error err;
    taken t;
    CHECK(mkdir("outer", 0755) == 0 && mkdir("outer/run", 0755) == 0 &&
          mkdir("outer/run/sub", 0755) == 0 && mkdir("outer/run/sub/deep", 0755) == 0);
    put("outer/run/file", "content");
    put("outer/run/sub/deep/file", "content");
    CHECK(symlink("file", "outer/run/link") == 0);
    const unsigned flags = MOONPLAN_ROOT_GUARDED | MOONPLAN_ROOT_TRUSTED;
    const struct {
        const char *name;
        mode_t mode;
        bool opens, reads;
    } cases[] = {{"outer/run", 0757, false, false},
                 {"outer/run", 01777, false, false},
                 {"outer/run", 0755, true, true},
                 {"outer", 0777, false, false},
                 {"outer", 01777, true, true},
                 {"outer", 0755, true, true},
                 {"outer/run/sub", 0777, true, false},
                 {"outer/run/sub", 01777, true, false},
                 {"outer/run/sub", 0755, true, true},
                 {"outer/run/sub/deep", 0702, true, false},
                 {"outer/run/sub/deep", 0755, true, true},
                 {"outer/run/sub/deep/file", 0666, true, false},
                 {"outer/run/sub/deep/file", 0644, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(chmod(cases[i].name, cases[i].mode) == 0);
        for (int walk = 0; walk < 2; walk++) {
            moonplan_root *root = moonplan_root_open("outer/run", 9, flags, NULL, &err);
            if (!CHECK((root != NULL) == cases[i].opens)) printf("# case %zu\n", i);
            if (!root) {
                CHECK(err.code == MOONPLAN_FILE_UNAVAILABLE && strstr(err.message, "others"));
                continue;
            }
            if (walk) mpl_root_walk(root);
            CHECK(read_code(root, &t, "file", 100) == MOONPLAN_OK);
            moonplan_code code = read_code(root, &t, "sub/deep/file", 100);
            if (!CHECK(code == (cases[i].reads ? MOONPLAN_OK : MOONPLAN_FILE_UNAVAILABLE)))
                printf("# case %zu\n", i);
            CHECK(read_code(root, &t, "link", 100) == MOONPLAN_FILE_UNAVAILABLE);
            moonplan_root_free(root);
        }
    }
    /* By a link on the way nothing changes: what is above the folder itself counts as well. */
    CHECK(symlink("outer/run", "way") == 0);
    moonplan_root *root = moonplan_root_open("way", 3, flags, NULL, &err);
    CHECK(root != NULL);
    t.length = 0;
    CHECK(root && moonplan_root_list(root, add_name, &t, "", 0, 100, &err));
    CHECK_TEXT("file link sub/ ", ((moonplan_text){t.bytes, t.length})); /* the link is shown */
    moonplan_root_free(root);
    CHECK(chmod("outer", 0777) == 0);
    CHECK(!moonplan_root_open("way", 3, flags, NULL, &err));
    /* Unguarded roots are as they were. */
    root = moonplan_root_open("way", 3, MOONPLAN_ROOT_TRUSTED, NULL, &err);
    CHECK(root != NULL);
    moonplan_root_free(root);
    unlink("way");
    CHECK(chmod("outer", 0755) == 0);
}

/* A group counts, but for root's and one that is the owner's by its number; another owner counts
 * where none is allowed. Only root can give files away. */
static void guarded_roots_have_owners_and_groups(void) {
    moonplan_error err;
    CHECK(mkdir("owned", 0755) == 0);
    if (geteuid() != 0) return;
    const unsigned flags = MOONPLAN_ROOT_GUARDED | MOONPLAN_ROOT_TRUSTED;
    const struct {
        uid_t user;
        gid_t group;
        mode_t mode;
        bool opens, own;
    } cases[] = {{0, 0, 0755, true, true},          {0, 0, 0775, true, true},
                 {0, 100, 0755, true, true},        {0, 100, 0775, false, false},
                 {12345, 12345, 0755, true, false}, {12345, 12345, 0775, true, false},
                 {12345, 100, 0775, false, false},  {12345, 0, 0700, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(chown("owned", cases[i].user, cases[i].group) == 0 &&
              chmod("owned", cases[i].mode) == 0);
        moonplan_root *root = moonplan_root_open("owned", 5, flags, NULL, &err);
        if (!CHECK((root != NULL) == cases[i].opens)) printf("# case %zu\n", i);
        moonplan_root_free(root);
        root = moonplan_root_open("owned", 5, flags | MOONPLAN_ROOT_OWN, NULL, &err);
        if (!CHECK((root != NULL) == cases[i].own)) printf("# own case %zu\n", i);
        if (!root && cases[i].user) CHECK(strstr(err.message, "belongs to the user 12345"));
        moonplan_root_free(root);
    }
}

/* An access control list as the kernel takes it (linux/posix_acl_xattr.h): the owner and the group
 * may do anything, and so may the user or group `id`, as far as the mask goes. */
static bool set_list(const char *path, const char *kind, bool user, uint32_t id, unsigned mask) {
    const struct {
        uint16_t tag, may;
        uint32_t id;
    } all[] = {{1, 7, UINT32_MAX},
               {2, 7, user ? id : 0},
               {4, 5, UINT32_MAX},
               {8, 7, user ? 0 : id},
               {0x10, (uint16_t)mask, UINT32_MAX},
               {0x20, 5, UINT32_MAX}};
    uint8_t list[4 + sizeof all] = {2};
    memcpy(list + 4, all, sizeof all);
    return setxattr(path, kind, list, sizeof list, 0) == 0;
}

/* What an access control list lets others write shows as the group's bit, whose the group is or
 * not: a folder, a file in it, a folder on the way to it, one above it. */
static void guarded_roots_look_at_lists(void) {
    static const char access[] = "system.posix_acl_access";
    moonplan_error err;
    taken t;
    CHECK(mkdir("lists", 0755) == 0 && mkdir("lists/run", 0755) == 0 &&
          mkdir("lists/run/sub", 0755) == 0);
    put("lists/run/sub/file", "content");
    const unsigned flags = MOONPLAN_ROOT_GUARDED | MOONPLAN_ROOT_TRUSTED;
    const struct {
        const char *name;
        bool opens;
    } cases[] = {{"lists/run", false},
                 {"lists", false},
                 {"lists/run/sub", true},
                 {"lists/run/sub/file", true}};
    if (!set_list("lists", access, true, 12345, 5)) {
        CHECK(errno == EOPNOTSUPP);
        printf("# no access control lists in /tmp\n");
        return;
    }
    CHECK(removexattr("lists", access) == 0 && chmod("lists", 0755) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* By a user, by a group; then a list that lets nobody else write; then none, and a group
         * that the owner is alone in. */
        for (int round = 0; round < 4; round++) {
            bool fine = round >= 2;
            if (round < 3)
                CHECK(set_list(cases[i].name, access, round != 1, 12345, round < 2 ? 7 : 5));
            else
                CHECK(removexattr(cases[i].name, access) == 0 && chmod(cases[i].name, 0775) == 0 &&
                      chown(cases[i].name, geteuid(), geteuid()) == 0);
            for (int walk = 0; walk < 2; walk++) {
                moonplan_root *root = moonplan_root_open("lists/run", 9, flags, NULL, &err);
                if (!CHECK((root != NULL) == (fine || cases[i].opens)))
                    printf("# case %zu, round %d\n", i, round);
                if (!root) {
                    CHECK(err.code == MOONPLAN_FILE_UNAVAILABLE && strstr(err.message, "others"));
                    continue;
                }
                if (walk) mpl_root_walk(root);
                moonplan_code code = read_code(root, &t, "sub/file", 100);
                if (!CHECK(code == (fine ? MOONPLAN_OK : MOONPLAN_FILE_UNAVAILABLE)))
                    printf("# case %zu, round %d, read\n", i, round);
                moonplan_root_free(root);
            }
        }
        CHECK(chmod(cases[i].name, 0755) == 0);
    }
    /* A list for what is made in a folder lets nobody write to the folder. */
    CHECK(set_list("lists/run", "system.posix_acl_default", true, 12345, 7) &&
          chmod("lists/run", 0775) == 0);
    moonplan_root *root = moonplan_root_open("lists/run", 9, flags, NULL, &err);
    CHECK(root != NULL);
    moonplan_root_free(root);
}

static bool opens(const char *path, unsigned flags, moonplan_error *err) {
    moonplan_root *root = moonplan_root_open(path, strlen(path), flags, NULL, err);
    moonplan_root_free(root);
    return root != NULL;
}

/* Whoever can change a link on the way says where it leads. */
static void guarded_roots_judge_links(void) {
    moonplan_error err;
    char path[128];
    const unsigned flags = MOONPLAN_ROOT_GUARDED | MOONPLAN_ROOT_TRUSTED;
    CHECK(mkdir("good", 0755) == 0 && mkdir("good/run", 0755) == 0 && mkdir("links", 0755) == 0);
    put("good/file", "content");
    CHECK(symlink("../good/run", "links/last") == 0 && symlink("../good", "links/middle") == 0 &&
          symlink("last", "links/twice") == 0 && symlink("loop", "links/loop") == 0 &&
          symlink("nothing", "links/nowhere") == 0 && symlink("../good/file", "links/file") == 0);
    snprintf(path, sizeof path, "%s/good/run", base);
    CHECK(symlink(path, "links/absolute") == 0);
    static const char *const ways[] = {
        "links/last",        "links/last/",    "links/last/.",     "links/middle/run",
        "links/twice",       "links/absolute", "./links//twice//", "links/middle/../good/run",
        "links/middle/run/."};
    const size_t count = sizeof ways / sizeof *ways;
    for (size_t i = 0; i < count; i++)
        if (!CHECK(opens(ways[i], flags, &err))) printf("# %s: %s\n", ways[i], err.message);
    snprintf(path, sizeof path, "%s/links/middle/run", base);
    CHECK(opens(path, flags, &err) && opens("/", flags, &err) && opens(".", flags, &err));
    CHECK(!opens("links/loop", flags, &err) && strstr(err.message, "symbolic link"));
    CHECK(!opens("links/nowhere/x", flags, &err) && strstr(err.message, "there is no folder"));
    CHECK(!opens("links/file", flags, &err) && strstr(err.message, "is no folder"));
    CHECK(!opens("links/file/x", flags, &err) && strstr(err.message, "is no folder"));
    /* The folder that the links are in is open; by the sticky bit they are their owner's alone. */
    CHECK(chmod("links", 0777) == 0);
    for (size_t i = 0; i < count; i++)
        if (!CHECK(!opens(ways[i], flags, &err) && err.code == MOONPLAN_FILE_UNAVAILABLE &&
                   strstr(err.message, "over a symbolic link that others")))
            printf("# %s\n", ways[i]);
    CHECK(opens("links/last", MOONPLAN_ROOT_TRUSTED, &err)); /* unguarded: as it was */
    CHECK(chmod("links", 01777) == 0 && opens("links/last", flags, &err));
    CHECK(chmod("links", 0755) == 0);
    if (geteuid() != 0) return;
    /* Another one's link, in a folder that is root's alone; then a folder that is another one's. */
    CHECK(lchown("links/last", 12345, 12345) == 0);
    CHECK(!opens("links/last", flags, &err) && !opens("links/twice", flags, &err));
    CHECK(opens("links/middle/run", flags, &err));
    CHECK(lchown("links/last", 0, 0) == 0 && opens("links/twice", flags, &err));
    CHECK(chown("links", 12345, 12345) == 0);
    for (size_t i = 0; i < count; i++)
        if (!CHECK(!opens(ways[i], flags, &err))) printf("# %s\n", ways[i]);
    CHECK(chown("links", 0, 0) == 0);
}

/* While a link is turned from a good folder to another one's and back, what is opened is good. */
static void *turn(void *stop) {
    while (!atomic_load((atomic_bool *)stop)) {
        symlink("good/run", "turn/next");
        rename("turn/next", "turn/link");
        symlink("../good/run", "turn/next");
        if (lchown("turn/next", 12345, 12345) == 0) rename("turn/next", "turn/link");
        unlink("turn/next");
    }
    return NULL;
}

static void nobody_turns_a_link(void) {
    if (geteuid() != 0) return;
    atomic_bool stop = false;
    pthread_t thread;
    moonplan_error err;
    CHECK(mkdir("turn", 0755) == 0 && mkdir("turn/good", 0755) == 0 &&
          mkdir("turn/good/run", 0755) == 0);
    put("turn/good/run/mine", "");
    put("good/run/theirs", "");
    CHECK(symlink("good/run", "turn/link") == 0);
    CHECK(pthread_create(&thread, NULL, turn, &stop) == 0);
    size_t seen = 0, wrong = 0;
    for (int i = 0; i < 4000; i++) {
        bool folder;
        uint64_t size;
        moonplan_root *root = moonplan_root_open("turn/link", 9, MOONPLAN_ROOT_GUARDED, NULL, &err);
        if (!root) continue;
        seen++;
        wrong += !moonplan_root_stat(root, &folder, &size, "mine", 4, &err);
        moonplan_root_free(root);
    }
    atomic_store(&stop, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(wrong == 0);
    CHECK(seen > 0);
}

/* While one thread turns a file and a folder into links that lead out and back, reading never
 * sees what is outside. */
static void *swap(void *stop) {
    while (!atomic_load((atomic_bool *)stop)) {
        rename("race/link", "race/here");
        rename("race/plain", "race/here");
        symlink("../secret", "race/link");
        put("race/plain", "inside");
        rename("race/dir", "race/away");
        symlink("../other", "race/dir");
        unlink("race/dir");
        rename("race/away", "race/dir");
    }
    return NULL;
}

static void nobody_wins_a_race(void) {
    atomic_bool stop = false;
    pthread_t thread;
    CHECK(mkdir("race", 0755) == 0 && mkdir("race/dir", 0755) == 0);
    put("race/dir/file", "inside");
    put("race/plain", "inside");
    CHECK(symlink("../secret", "race/link") == 0);
    CHECK(pthread_create(&thread, NULL, swap, &stop) == 0);
    size_t seen = 0, leaks = 0;
    for (int i = 0; i < 4000; i++) {
        moonplan_root *root = open_root("race", 0, i & 1);
        taken t;
        if (read_code(root, &t, i & 2 ? "here" : "dir/file", 100) == MOONPLAN_OK) {
            seen++;
            leaks += t.length != 0 && (t.length > 6 || memcmp(t.bytes, "inside", t.length) != 0);
        }
        moonplan_root_free(root);
    }
    atomic_store(&stop, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(leaks == 0);
    CHECK(seen > 0);
}

static void memory_may_fail(void) {
    for (size_t n = 1;; n++) {
        counter count;
        moonplan_options options;
        moonplan_error err;
        counter_options(&options, &count);
        count.fail_at = n;
        taken t = {.length = 0};
        moonplan_root *root = moonplan_root_open("root", 4, 0, &options, &err);
        bool fine = root && moonplan_root_list(root, add_name, &t, "", 0, 100, &err);
        if (!fine) CHECK(err.code == MOONPLAN_MEMORY);
        moonplan_root_free(root);
        CHECK(count.used == 0 && !count.wrong);
        if (fine) break;
    }
}

int main(void) {
    lay_out();
    RUN(reads_with_openat2);
    RUN(reads_name_by_name);
    RUN(paths_have_one_form);
    RUN(devices_are_not_opened_for_reading);
    RUN(mount_points_are_not_crossed);
    RUN(trust_is_about_names_only);
    RUN(folders_are_listed_in_order);
    RUN(things_have_sizes);
    RUN(memory_may_fail);
    RUN(writing_replaces_whole_files);
    RUN(guarded_roots_are_closed_to_others);
    RUN(guarded_roots_have_owners_and_groups);
    RUN(guarded_roots_look_at_lists);
    RUN(guarded_roots_judge_links);
    RUN(nobody_turns_a_link);
    RUN(nobody_wins_a_race);
    clean_up();
    return check_end();
}
