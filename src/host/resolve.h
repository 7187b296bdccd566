/* Looking names up, with an end to the waiting. */
#ifndef MPL_HOST_RESOLVE_H
#define MPL_HOST_RESOLVE_H

#include "../moonplan.h"

/* A host with more addresses is refused: all of them are to be judged. */
#define MPL_ADDRESSES_MOST 64

typedef struct mpl_addresses {
    moonplan_address list[MPL_ADDRESSES_MOST];
    size_t count;
} mpl_addresses;

typedef enum mpl_resolve_end {
    MPL_RESOLVE_DONE, /* one address or more */
    MPL_RESOLVE_NONE, /* there is no such name, or it has no address */
    MPL_RESOLVE_MANY, /* more than MPL_ADDRESSES_MOST */
    MPL_RESOLVE_LATE, /* no answer in time */
    MPL_RESOLVE_BUSY, /* too many earlier look-ups still have no answer */
    MPL_RESOLVE_MEMORY
} mpl_resolve_end;

/* May be used by several threads at once. */
typedef struct mpl_resolver mpl_resolver;

/* `call` NULL: the system's resolver. NULL when memory is short. */
mpl_resolver *mpl_resolver_new(moonplan_resolver call, void *data);
/* Does not wait for look-ups that were given up. */
void mpl_resolver_free(mpl_resolver *resolver);

/* Every address of a name, by `deadline` (mpl_now). */
mpl_resolve_end mpl_resolve(mpl_resolver *resolver, mpl_addresses *out, const char *host,
                            uint64_t deadline);

/* Milliseconds on a clock that only goes forward. */
uint64_t mpl_now(void);

#endif
