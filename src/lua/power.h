/* What a plugin asks of its host while it is called: an operation, its arguments, and what comes of
 * them, with no Lua in it. The plugin's side (stub.h) may be in another process; the host's side
 * (power.c) believes nothing that comes from there. */
#ifndef MPL_LUA_POWER_H
#define MPL_LUA_POWER_H

#include "../core/buffer.h"

/* Powers, as bits. A grant of fs:rw serves who needs fs as well. rpc and secret stand for one bit
 * each; which endpoints and secrets, the host knows. */
enum {
    MPL_POWER_FS = 1,
    MPL_POWER_FS_RW = 2,
    MPL_POWER_CLOCK = 4,
    MPL_POWER_HTTP = 8,
    MPL_POWER_KV = 16,
    MPL_POWER_RANDOM = 32,
    MPL_POWER_RPC = 64,
    MPL_POWER_SECRET = 128,
    MPL_POWERS = 8
};

/* Bytes of a secret. Fewer could not be told from ordinary text, and more are nobody's password. */
#define MPL_SECRET_LEAST 8
#define MPL_SECRET_MOST  4096

/* What `needs` may name. A plugin names MPL_NEEDS_MOST of them at most. */
#define MPL_NEED_FORMS "fs, fs:rw, clock, http, kv, random, rpc:NAME, secret:NAME"
#define MPL_NEEDS_MOST 32
/* The power of a need ("fs:rw", "rpc:main"), 0 if there is none. `name` (NULL: not wanted) is what
 * stands behind the colon of rpc and secret: letters, digits, _, - and ., at most 64. */
unsigned mpl_power_of(moonplan_text need, moonplan_text *name);

/* Whether an example's `given` (before) or `after` is well made; false with plugin.manifest. */
bool mpl_world_check(moonplan_value world, bool before, moonplan_error *err);

/* in -> out */
typedef enum mpl_operation {
    MPL_LOG = 1,        /* integer level (0 debug, 1 info, 2 warn, 3 error), bytes message, value
                           or nil -> nothing */
    MPL_FS_READ,        /* bytes path -> bytes content */
    MPL_FS_SIZE,        /* bytes path -> integer */
    MPL_FS_LIST,        /* bytes path -> bytes: names, each with a NUL behind it */
    MPL_FS_WRITE,       /* bytes path, bytes content -> boolean true */
    MPL_CLOCK_NOW,      /* -> bytes RFC 3339, integer milliseconds since 1970 */
    MPL_RANDOM_BYTES,   /* integer count -> bytes */
    MPL_RANDOM_INTEGER, /* integer least, integer most -> integer */
    MPL_KV_GET,         /* bytes key -> value, or nil where there is none */
    MPL_KV_SET,         /* bytes key, value, or nil to take it away -> boolean true */
    MPL_KV_LIST,        /* -> bytes: keys, each with a NUL behind it */
    MPL_HTTP_REQUEST,   /* bytes method, bytes url, bytes headers (name NUL value NUL ...), bytes
                           body or nil -> integer status, bytes headers, bytes body */
    MPL_RPC_SEND,       /* bytes endpoint, bytes JSON-RPC request -> bytes what was answered */
    MPL_SECRET_GET,     /* bytes name -> bytes */
    MPL_OPERATIONS = MPL_SECRET_GET
} mpl_operation;

typedef enum mpl_slot_type {
    MPL_SLOT_NIL,
    MPL_SLOT_BOOLEAN,
    MPL_SLOT_INTEGER,
    MPL_SLOT_BYTES, /* any */
    MPL_SLOT_VALUE
} mpl_slot_type;

typedef struct mpl_slot {
    mpl_slot_type type;
    bool boolean;
    int64_t integer;
    moonplan_text bytes;
    moonplan_value value;
} mpl_slot;

#define MPL_SLOTS_MOST 4

typedef struct mpl_slots {
    mpl_slot at[MPL_SLOTS_MOST];
    size_t count;
} mpl_slots;

/* What comes out, and what the slots point into. */
typedef struct mpl_answer {
    mpl_slots slots;
    mpl_buffer bytes;
    moonplan_document *document;
} mpl_answer;

typedef enum mpl_served {
    MPL_SERVED,
    MPL_REFUSED, /* the plugin gets nil and the error */
    MPL_BROKEN   /* a bad call: the error's message is raised on the plugin's line */
} mpl_served;

/* Whoever carries an operation to the host's side. `answer` is open and empty. */
typedef mpl_served (*mpl_exchange)(void *data, mpl_operation operation, const mpl_slots *in,
                                   mpl_answer *answer, moonplan_error *err);

static inline void mpl_answer_open(mpl_answer *answer, mpl_alloc *alloc) {
    answer->slots.count = 0;
    answer->document = NULL;
    mpl_buffer_open(&answer->bytes, alloc);
}
/* Also of one that is zeroed. */
static inline void mpl_answer_close(mpl_answer *answer) {
    moonplan_document_free(answer->document);
    answer->document = NULL;
    if (answer->bytes.alloc) mpl_buffer_close(&answer->bytes);
    answer->slots.count = 0;
}

/* -- Slots --------------------------------------------------------------------*/

static inline mpl_slot *mpl_slots_add(mpl_slots *slots, mpl_slot_type type) {
    mpl_slot *slot = &slots->at[slots->count++];
    *slot = (mpl_slot){.type = type};
    return slot;
}
static inline void mpl_slots_nil(mpl_slots *slots) {
    mpl_slots_add(slots, MPL_SLOT_NIL);
}
static inline void mpl_slots_boolean(mpl_slots *slots, bool truth) {
    mpl_slots_add(slots, MPL_SLOT_BOOLEAN)->boolean = truth;
}
static inline void mpl_slots_integer(mpl_slots *slots, int64_t integer) {
    mpl_slots_add(slots, MPL_SLOT_INTEGER)->integer = integer;
}
static inline void mpl_slots_bytes(mpl_slots *slots, moonplan_text bytes) {
    mpl_slots_add(slots, MPL_SLOT_BYTES)->bytes = bytes;
}
static inline void mpl_slots_value(mpl_slots *slots, moonplan_value value) {
    mpl_slots_add(slots, MPL_SLOT_VALUE)->value = value;
}

#endif
