/* getaddrinfo has no time limit of its own and cannot be interrupted, and neither can whatever a
 * host puts in its place. So each look-up runs in a thread, and who asked stops waiting when the
 * time is up; the thread ends when its answer comes, and nobody looks at it. Of such threads there
 * is a most. (c-ares would do without threads; but it reads the system's configuration in its own
 * way, and names would mean one thing here and another next door.)
 *
 * _GNU_SOURCE comes from the build: dladdr is glibc's. */
#include "resolve.h"

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HOST_MOST    253
#define LOOKUPS_MOST 16

/* What a look-up that was given up still needs stays until it ends. The memory is the C library's:
 * the host's allocator is for the host's threads. */
struct mpl_resolver {
    moonplan_resolver call;
    void *data;
    atomic_size_t owners, lookups;
};

typedef struct lookup {
    mpl_resolver *resolver;
    pthread_mutex_t mutex;
    pthread_cond_t done_or_not;
    bool done, given_up;
    mpl_resolve_end end;
    mpl_addresses found;
    char host[HOST_MOST + 1];
} lookup;

uint64_t mpl_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void drop(mpl_resolver *resolver) {
    if (atomic_fetch_sub(&resolver->owners, 1) == 1) free(resolver);
}

mpl_resolver *mpl_resolver_new(moonplan_resolver call, void *data) {
    mpl_resolver *resolver = malloc(sizeof *resolver);
    if (!resolver) return NULL;
    resolver->call = call;
    resolver->data = data;
    atomic_init(&resolver->owners, 1);
    atomic_init(&resolver->lookups, 0);
    return resolver;
}

void mpl_resolver_free(mpl_resolver *resolver) {
    if (resolver) drop(resolver);
}

/* -- The system's resolver --------------------------------------------------*/

/* Files of hosts, search domains and the rest are the system's business: what they lead to has to
 * be public all the same, and to have the certificate. */
static size_t ask_system(const char *host, moonplan_address *out, size_t room) {
    size_t count = 0;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found, *at;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) return 0;
    for (at = found; at; at = at->ai_next) {
        moonplan_address address = {0, {0}}; /* of no length: not public, whatever it is */
        if (at->ai_family == AF_INET) {
            struct sockaddr_in four;
            memcpy(&four, at->ai_addr, sizeof four);
            address.length = 4;
            memcpy(address.bytes, &four.sin_addr, 4);
        } else if (at->ai_family == AF_INET6) {
            struct sockaddr_in6 six;
            memcpy(&six, at->ai_addr, sizeof six);
            address.length = 16;
            memcpy(address.bytes, &six.sin6_addr, 16);
        }
        if (count < room) out[count] = address;
        count++;
    }
    freeaddrinfo(found);
    return count;
}

/* -- Look-ups ----------------------------------------------------------------*/

static void end_lookup(lookup *l) {
    pthread_cond_destroy(&l->done_or_not);
    pthread_mutex_destroy(&l->mutex);
    free(l);
}

static void *run(void *data) {
    lookup *l = data;
    mpl_resolver *resolver = l->resolver;
    size_t count = resolver->call
                       ? resolver->call(resolver->data, l->host, l->found.list, MPL_ADDRESSES_MOST)
                       : ask_system(l->host, l->found.list, MPL_ADDRESSES_MOST);
    pthread_mutex_lock(&l->mutex);
    l->found.count = count;
    l->end = count == 0                   ? MPL_RESOLVE_NONE
             : count > MPL_ADDRESSES_MOST ? MPL_RESOLVE_MANY
                                          : MPL_RESOLVE_DONE;
    l->done = true;
    bool mine = l->given_up;
    atomic_fetch_sub(&resolver->lookups, 1);
    pthread_cond_signal(&l->done_or_not);
    pthread_mutex_unlock(&l->mutex);
    if (mine) end_lookup(l);
    drop(resolver);
    return NULL;
}

/* A thread that was given up returns into this code: a host that unloads the library (Lua does so
 * to its modules) must not take it away. */
static void stay_loaded(void) {
    static const char here = 0;
    Dl_info about;
    if (dladdr(&here, &about) && about.dli_fname)
        (void)dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* The host's signals are for the host's threads. */
static bool start(lookup *l) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attributes, run, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static lookup *open_lookup(mpl_resolver *resolver, const char *host, size_t length) {
    lookup *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&l->done_or_not, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&l->mutex, NULL);
    l->resolver = resolver;
    memcpy(l->host, host, length + 1);
    return l;
}

mpl_resolve_end mpl_resolve(mpl_resolver *resolver, mpl_addresses *out, const char *host,
                            uint64_t deadline) {
    size_t length = strlen(host);
    if (length == 0 || length > HOST_MOST) return MPL_RESOLVE_NONE;
    if (atomic_fetch_add(&resolver->lookups, 1) >= LOOKUPS_MOST) {
        atomic_fetch_sub(&resolver->lookups, 1);
        return MPL_RESOLVE_BUSY;
    }
    lookup *l = open_lookup(resolver, host, length);
    if (l) {
        stay_loaded();
        atomic_fetch_add(&resolver->owners, 1);
    }
    if (!l || !start(l)) {
        atomic_fetch_sub(&resolver->lookups, 1);
        if (!l) return MPL_RESOLVE_MEMORY;
        end_lookup(l);
        drop(resolver);
        return MPL_RESOLVE_BUSY;
    }
    struct timespec until = {.tv_sec = (time_t)(deadline / 1000),
                             .tv_nsec = (long)(deadline % 1000) * 1000000};
    int error = 0;
    pthread_mutex_lock(&l->mutex);
    while (!l->done && error == 0)
        error = pthread_cond_timedwait(&l->done_or_not, &l->mutex, &until);
    bool done = l->done;
    mpl_resolve_end end = done ? l->end : MPL_RESOLVE_LATE;
    if (end == MPL_RESOLVE_DONE) *out = l->found;
    l->given_up = !done;
    pthread_mutex_unlock(&l->mutex);
    if (done) end_lookup(l);
    return end;
}
