/* file references: what is found below the folders that were named, and that everything else fails
 * in one way, to the byte. The rules are those of ERC-8410, file Transport. */
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
#include <time.h>
#include <unistd.h>

#include "../../src/host/fetch.h"
#include "check.h"
#include "samples.h"

static char base[] = "/tmp/moonplan-fetch-XXXXXX";
static sample plan;
static moonplan_error uniform; /* of a file that is not there */

static void put(const char *name, const char *content, size_t length) {
    FILE *file = fopen(name, "wb");
    CHECK(file != NULL);
    if (!file) return;
    CHECK(fwrite(content, 1, length, file) == length);
    fclose(file);
}

static size_t no_lookup(void *data, const char *host, moonplan_address *out, size_t room) {
    (void)data, (void)host, (void)out, (void)room;
    CHECK(false);
    return 0;
}

static int no_socket(void *data, int *family, int type, int protocol, void *address,
                     unsigned *length) {
    (void)data, (void)family, (void)type, (void)protocol, (void)address, (void)length;
    CHECK(false);
    return -1;
}

static moonplan_fetcher *open_fetcher(const char *a, const char *b) {
    moonplan_text roots[] = {{a, a ? strlen(a) : 0}, {b, b ? strlen(b) : 0}};
    moonplan_fetch_options fetch = {.file_roots = roots,
                                    .file_root_count = (size_t)(a != NULL) + (b != NULL),
                                    .resolver = no_lookup};
    moonplan_error err;
    moonplan_fetcher *fetcher = moonplan_fetcher_new(&fetch, NULL, &err);
    if (!CHECK(fetcher != NULL)) exit(1);
    mpl_fetcher_hook(fetcher, no_socket, NULL);
    return fetcher;
}

/* A reference that promises this body. NULL when it is refused as it is read. */
static moonplan_artifact *open_artifact(const char *url, const char *body, size_t length,
                                        const moonplan_options *given, moonplan_error *err) {
    moonplan_options options;
    if (given)
        options = *given;
    else
        moonplan_options_init(&options);
    options.transports = MOONPLAN_TRANSPORT_FILE;
    moonplan_document *made = moonplan_artifact_make(
        MOONPLAN_KIND_CALL_PLAN, (moonplan_text){url, strlen(url)}, body, length, NULL, err);
    if (!made) return NULL;
    moonplan_text source = moonplan_value_source(moonplan_document_root(made));
    moonplan_artifact *artifact = moonplan_artifact_parse(source.bytes, source.length,
                                                          MOONPLAN_KIND_CALL_PLAN, &options, err);
    moonplan_document_free(made);
    return artifact;
}

/* The code; *err is filled where it is not MOONPLAN_OK. */
static moonplan_code fetch_at(moonplan_fetcher *fetcher, const char *url, const char *body,
                              size_t length, moonplan_error *err) {
    moonplan_artifact *artifact = open_artifact(url, body, length, NULL, err);
    if (!CHECK(artifact != NULL)) return err->code;
    bool fine = moonplan_artifact_fetch(artifact, fetcher, err);
    if (fine) {
        CHECK(!moonplan_artifact_host(artifact).bytes); /* no origin is proved */
        moonplan_call_plan *read = moonplan_artifact_call_plan(artifact, NULL, err);
        fine = read != NULL;
        moonplan_call_plan_free(read);
    } else {
        CHECK(!moonplan_artifact_body(artifact).bytes);
    }
    moonplan_artifact_free(artifact);
    return fine ? MOONPLAN_OK : err->code;
}

static moonplan_code find(moonplan_fetcher *fetcher, const char *path) {
    char url[6000];
    moonplan_error err;
    snprintf(url, sizeof url, "file://%s%s%s", path[0] == '/' ? "" : base,
             path[0] == '/' ? "" : "/", path);
    moonplan_code code = fetch_at(fetcher, url, plan.bytes, plan.length, &err);
    if (code != MOONPLAN_OK && !CHECK(memcmp(&err, &uniform, sizeof err) == 0))
        printf("# %s: %s %s\n", path, moonplan_code_name(err.code), err.message);
    return code;
}

static void lay_out(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!CHECK(mkdtemp(base) != NULL) || !CHECK(chdir(base) == 0)) exit(1);
    CHECK(mkdir("root", 0755) == 0 && mkdir("root/dir", 0755) == 0 && mkdir("other", 0755) == 0);
    CHECK(mkdir("root-like", 0755) == 0);
    put("secret.json", plan.bytes, plan.length);
    put("other/plan.json", plan.bytes, plan.length);
    put("root-like/plan.json", plan.bytes, plan.length);
    put("root/plan.json", plan.bytes, plan.length);
    put("root/with space.json", plan.bytes, plan.length);
    put("root/dir/plan.json", plan.bytes, plan.length);
    put("root/two.json", plan.bytes, plan.length);
    CHECK(link("root/two.json", "other/two.json") == 0);
    put("root/short.json", plan.bytes, plan.length - 1);
    put("root/empty.json", "", 0);
    FILE *longer = fopen("root/long.json", "wb");
    fprintf(longer, "%s ", plan.bytes);
    fclose(longer);
    plan.bytes[0] = '[';
    put("root/changed.json", plan.bytes, plan.length);
    plan.bytes[0] = '{';
    put("root/unreadable.json", plan.bytes, plan.length);
    CHECK(chmod("root/unreadable.json", 0) == 0);
    CHECK(symlink("../secret.json", "root/out.json") == 0);
    CHECK(symlink("plan.json", "root/within.json") == 0);
    CHECK(symlink("../other", "root/folder") == 0);
    CHECK(symlink("dir", "root/near") == 0);
    CHECK(symlink("loop.json", "root/loop.json") == 0);
    CHECK(symlink("/proc/self/root", "root/magic") == 0);
    CHECK(symlink("root", "alias") == 0);
    CHECK(mkfifo("root/fifo.json", 0644) == 0);
    int door = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(address.sun_path, "root/socket.json");
    CHECK(bind(door, (struct sockaddr *)&address, sizeof address) == 0);
    close(door);
    int sparse = open("root/sparse.json", O_WRONLY | O_CREAT, 0644);
    CHECK(ftruncate(sparse, (off_t)1 << 40) == 0);
    close(sparse);
    if (mknod("root/zero.json", S_IFCHR | 0644, makedev(1, 5)) != 0)
        check_skip("no device nodes can be made here");
}

static void clean_up(void) {
    char command[64];
    CHECK(chdir("/") == 0);
    snprintf(command, sizeof command, "rm -r %s", base);
    CHECK(system(command) == 0);
}

static void files_below_a_root_are_found(void) {
    char root[64], alias[64], trailing[64];
    snprintf(root, sizeof root, "%s/root", base);
    snprintf(alias, sizeof alias, "%s/alias", base);
    snprintf(trailing, sizeof trailing, "%s/root//", base);
    const char *const spellings[] = {root,     alias,   trailing,       "root",
                                     "./root", "alias", "other/../root"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        moonplan_fetcher *fetcher = open_fetcher(spellings[i], NULL);
        CHECK(find(fetcher, "root/plan.json") == MOONPLAN_OK);
        CHECK(find(fetcher, "root/dir/plan.json") == MOONPLAN_OK);
        CHECK(find(fetcher, "root/with%20space.json") == MOONPLAN_OK);
        CHECK(find(fetcher, "root/%70lan.json") == MOONPLAN_OK);
        CHECK((find(fetcher, "alias/plan.json") == MOONPLAN_OK) == (spellings[i] == alias));
        CHECK(find(fetcher, "other/plan.json") == MOONPLAN_ARTIFACT_UNAVAILABLE);
        moonplan_fetcher_free(fetcher);
    }
    moonplan_fetcher *fetcher = open_fetcher("other", "root");
    CHECK(find(fetcher, "root/plan.json") == MOONPLAN_OK);
    CHECK(find(fetcher, "other/plan.json") == MOONPLAN_OK);
    moonplan_fetcher_free(fetcher);
    fetcher = open_fetcher("/tmp", NULL);
    CHECK(find(fetcher, "root/plan.json") == MOONPLAN_OK);
    moonplan_fetcher_free(fetcher);
}

/* Another file system is not entered from a root outside it, so that the roots' order would count
 * if it were not the innermost that decides. */
static void the_innermost_root_decides(void) {
    char shared[] = "/dev/shm/moonplan-fetch-XXXXXX", path[64];
    struct stat outer, inner;
    if (!mkdtemp(shared) || stat("/", &outer) != 0 || stat(shared, &inner) != 0 ||
        outer.st_dev == inner.st_dev) {
        check_skip("/dev/shm is no file system of its own");
        return;
    }
    snprintf(path, sizeof path, "%s/plan.json", shared);
    put(path, plan.bytes, plan.length);
    for (int i = 0; i < 2; i++) {
        moonplan_fetcher *fetcher = open_fetcher(i ? "/" : shared, i ? shared : "/");
        CHECK(find(fetcher, path) == MOONPLAN_OK);
        moonplan_fetcher_free(fetcher);
    }
    moonplan_fetcher *fetcher = open_fetcher("/", NULL);
    CHECK(find(fetcher, path) == MOONPLAN_ARTIFACT_UNAVAILABLE);
    moonplan_fetcher_free(fetcher);
    CHECK(unlink(path) == 0 && rmdir(shared) == 0);
}

static void every_failure_looks_like_every_other(void) {
    static const char *const paths[] = {"root/none.json",
                                        "root/none/plan.json",
                                        "root/plan.json/x",
                                        "root",
                                        "root/",
                                        "root/dir",
                                        "root/dir/",
                                        "root//plan.json",
                                        "root/./plan.json",
                                        "root/../secret.json",
                                        "root/%2e%2e/secret.json",
                                        "root/.%2e/secret.json",
                                        "root/dir/../plan.json",
                                        "root/..%2fsecret.json",
                                        "root/%252e%252e/secret.json",
                                        "root%2fplan.json",
                                        "root/plan.json%00.txt",
                                        "root/%00",
                                        "root%5cplan.json",
                                        "secret.json",
                                        "other/plan.json",
                                        "root-like/plan.json",
                                        "/etc/passwd",
                                        "/proc/self/environ",
                                        "/proc/self/fd/0",
                                        "/dev/zero",
                                        "/dev/tty",
                                        "/",
                                        "root/out.json",
                                        "root/within.json",
                                        "root/folder/plan.json",
                                        "root/loop.json",
                                        "root/loop.json/x",
                                        "root/near/plan.json",
                                        "root/magic/etc/passwd",
                                        "root/fifo.json",
                                        "root/socket.json",
                                        "root/zero.json",
                                        "root/sparse.json",
                                        "root/two.json",
                                        "root/short.json",
                                        "root/empty.json",
                                        "root/long.json",
                                        "root/changed.json"};
    moonplan_fetcher *fetcher = open_fetcher("root", NULL);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!CHECK(find(fetcher, paths[i]) == MOONPLAN_ARTIFACT_UNAVAILABLE))
            printf("# %s\n", paths[i]);
    }
    if (geteuid() == 0)
        check_skip("root reads files whatever their mode");
    else
        CHECK(find(fetcher, "root/unreadable.json") == MOONPLAN_ARTIFACT_UNAVAILABLE);
    /* Names longer than any file has. */
    char path[5100];
    memset(path, 'x', sizeof path);
    memcpy(path, "root/", 5);
    path[4999] = 0;
    CHECK(find(fetcher, path) == MOONPLAN_ARTIFACT_UNAVAILABLE);
    for (size_t i = 5; i + 1 < sizeof path; i += 2) path[i] = '.', path[i + 1] = '/';
    path[1805] = 0;
    CHECK(find(fetcher, path) == MOONPLAN_ARTIFACT_UNAVAILABLE);
    moonplan_fetcher_free(fetcher);
    /* Without a root there is nothing. */
    fetcher = open_fetcher(NULL, NULL);
    CHECK(find(fetcher, "root/plan.json") == MOONPLAN_ARTIFACT_UNAVAILABLE);
    moonplan_fetcher_free(fetcher);
    /* /proc is a mount point on every machine that has it, and files there have no size. */
    fetcher = open_fetcher("/", NULL);
    CHECK(find(fetcher, "/proc/version") == MOONPLAN_ARTIFACT_UNAVAILABLE);
    CHECK(find(fetcher, "/proc/self/environ") == MOONPLAN_ARTIFACT_UNAVAILABLE);
    moonplan_fetcher_free(fetcher);
}

/* Verified, and no call plan: that is how a file fails as well. */
static void a_file_that_is_no_plan_fails_alike(void) {
    static const char *const bodies[] = {"{}", "", "not JSON", "{\"ordered_steps\":[]}", "\xff"};
    moonplan_fetcher *fetcher = open_fetcher("root", NULL);
    char url[128];
    snprintf(url, sizeof url, "file://localhost%s/root/body.json", base);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        moonplan_error err;
        put("root/body.json", bodies[i], strlen(bodies[i]));
        CHECK(fetch_at(fetcher, url, bodies[i], strlen(bodies[i]), &err) ==
              MOONPLAN_ARTIFACT_UNAVAILABLE);
        CHECK(memcmp(&err, &uniform, sizeof err) == 0);
    }
    moonplan_fetcher_free(fetcher);
}

/* A FIFO would wait for a writer, a terminal for a line. */
static void nothing_is_waited_for(void) {
    moonplan_fetcher *fetcher = open_fetcher("root", NULL);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 100; i++) {
        CHECK(find(fetcher, "root/fifo.json") == MOONPLAN_ARTIFACT_UNAVAILABLE);
        CHECK(find(fetcher, "root/sparse.json") == MOONPLAN_ARTIFACT_UNAVAILABLE);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    CHECK(to.tv_sec - from.tv_sec <= 2); /* 200 of them */
    moonplan_fetcher_free(fetcher);
}

static void roots_must_be_folders(void) {
    static const char *const bad[] = {"none", "root/plan.json", "root/fifo.json", ""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        moonplan_text root = {bad[i], strlen(bad[i])};
        moonplan_fetch_options fetch = {.file_roots = &root, .file_root_count = 1};
        moonplan_error err;
        CHECK(!moonplan_fetcher_new(&fetch, NULL, &err));
        CHECK(err.code == MOONPLAN_FILE_UNAVAILABLE || err.code == MOONPLAN_FILE_PATH);
    }
}

/* -- Races -------------------------------------------------------------------*/

static sample grown; /* the plan with spaces behind it: a plan as well */

/* A file, a link to what is outside, a FIFO and a file that grows take turns at one name, and a
 * folder and a link to one outside at another. */
static void *swap(void *stop) {
    while (!atomic_load((atomic_bool *)stop)) {
        symlink("../secret.json", "root/race.tmp");
        rename("root/race.tmp", "root/race.json");
        mkfifo("root/race.tmp", 0644);
        rename("root/race.tmp", "root/race.json");
        put("root/race.tmp", plan.bytes, plan.length);
        rename("root/race.tmp", "root/race.json");
        FILE *file = fopen("root/race.json", "ab");
        if (file) {
            fwrite(grown.bytes + plan.length, 1, grown.length - plan.length, file);
            fclose(file);
        }
        rename("root/moving", "root/away");
        symlink("../other", "root/moving");
        unlink("root/moving");
        rename("root/away", "root/moving");
    }
    return NULL;
}

/* Outside lies another plan of the same length, and every second reference promises just that: it
 * would be kept only if what is outside were read. */
static void nobody_wins_a_race(void) {
    atomic_bool stop = false;
    pthread_t thread;
    char inside[128], folder[128];
    sample outside = plan_tiny();
    size_t seen = 0;
    outside.bytes[outside.length - 1] = ' '; /* for the brace at the end */
    put("secret.json", outside.bytes, outside.length);
    put("other/inner.json", outside.bytes, outside.length);
    CHECK(mkdir("root/moving", 0755) == 0);
    put("root/moving/inner.json", plan.bytes, plan.length);
    put("root/race.json", plan.bytes, plan.length);
    sample_add(&grown, "%s", plan.bytes);
    sample_repeat(&grown, " ", 100000);
    snprintf(inside, sizeof inside, "file://%s/root/race.json", base);
    snprintf(folder, sizeof folder, "file://%s/root/moving/inner.json", base);
    moonplan_fetcher *fetcher = open_fetcher("root", NULL);
    CHECK(pthread_create(&thread, NULL, swap, &stop) == 0);
    const char *soak = getenv("MOONPLAN_SOAK");
    time_t end = time(NULL) + (soak ? 60 : 0);
    for (int i = 0; i < 2000 || time(NULL) < end; i++) {
        moonplan_error err;
        const char *url = i & 1 ? inside : folder;
        moonplan_artifact *artifact = open_artifact(url, outside.bytes, outside.length, NULL, &err);
        CHECK(!moonplan_artifact_fetch(artifact, fetcher, &err));
        CHECK(memcmp(&err, &uniform, sizeof err) == 0);
        moonplan_artifact_free(artifact);
        /* What is inside is there now and then, and then it is whole. */
        artifact = open_artifact(url, plan.bytes, plan.length, NULL, &err);
        seen += moonplan_artifact_fetch(artifact, fetcher, &err);
        moonplan_artifact_free(artifact);
    }
    atomic_store(&stop, true);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(seen > 0);
    moonplan_fetcher_free(fetcher);
    sample_free(&outside);
    sample_free(&grown);
}

/* -- Memory --------------------------------------------------------------------*/

static void memory_may_fail(void) {
    char url[128];
    snprintf(url, sizeof url, "file://%s/root/plan.json", base);
    for (size_t n = 1;; n++) {
        counter count;
        moonplan_options options;
        moonplan_error err;
        moonplan_text roots[] = {{"root", 4}, {base, strlen(base)}};
        moonplan_fetch_options fetch = {.file_roots = roots, .file_root_count = 2};
        counter_options(&options, &count);
        moonplan_artifact *artifact = open_artifact(url, plan.bytes, plan.length, &options, &err);
        CHECK(artifact != NULL);
        count.fail_at = count.calls + n;
        moonplan_fetcher *fetcher = moonplan_fetcher_new(&fetch, &options, &err);
        bool fine = fetcher && moonplan_artifact_fetch(artifact, fetcher, &err);
        if (!fine) CHECK(err.code == MOONPLAN_MEMORY);
        CHECK(fine == (count.refused == 0));
        moonplan_artifact_free(artifact);
        moonplan_fetcher_free(fetcher);
        CHECK(count.used == 0 && !count.wrong);
        if (fine) break;
    }
}

int main(void) {
    plan = plan_tiny();
    lay_out();
    moonplan_fetcher *fetcher = open_fetcher("root", NULL);
    char url[128];
    snprintf(url, sizeof url, "file://%s/root/not-there.json", base);
    CHECK(fetch_at(fetcher, url, plan.bytes, plan.length, &uniform) ==
          MOONPLAN_ARTIFACT_UNAVAILABLE);
    CHECK(strcmp(uniform.message, "artifact not available") == 0);
    moonplan_fetcher_free(fetcher);
    RUN(files_below_a_root_are_found);
    RUN(the_innermost_root_decides);
    RUN(every_failure_looks_like_every_other);
    RUN(a_file_that_is_no_plan_fails_alike);
    RUN(nothing_is_waited_for);
    RUN(roots_must_be_folders);
    RUN(memory_may_fail);
    RUN(nobody_wins_a_race);
    clean_up();
    sample_free(&plan);
    return check_end();
}
