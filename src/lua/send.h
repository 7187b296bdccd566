/* engine:send, and what it is made of. */
#ifndef MPL_LUA_SEND_H
#define MPL_LUA_SEND_H

#include <stddef.h>

/* The executor that is taken where none is named. */
#define MPL_SEND_EXECUTOR "wallet.rpc"

/* lua/moonplan/send.lua; made by the build. */
typedef struct mpl_send_lua {
    const char *file, *text;
    size_t length;
} mpl_send_lua;
extern const mpl_send_lua mpl_send_text;

#endif
