/* What every function of the module needs: typed userdata, options, errors, and a place for what
 * one call holds in C.
 *
 * Any lua_ call may leave the function by a memory error. So whatever C owns is hung into a
 * userdata that has its metatable already, and freed by that userdata's __gc if nobody comes
 * back. */
#ifndef MPL_LUA_BIND_H
#define MPL_LUA_BIND_H

#include <lauxlib.h>
#include <lua.h>

#include "../core/build.h"

/* -- Userdata --------------------------------------------------------------*/

/* A type of userdata. Its address is its name in the registry, so that two copies of the library
 * in one lua_State never take each other's objects for their own. */
typedef struct mpl_lua_type {
    const char *name;    /* __name; "moonplan.call_plan" */
    const char *what;    /* in errors: "a call plan" */
    const luaL_Reg *own; /* the metamethods, then {NULL, NULL} */
} mpl_lua_type;

/* A zeroed userdata of this type, pushed; its metatable is made when it is needed first. */
void *mpl_lua_new(lua_State *L, const mpl_lua_type *type, size_t size, int user_values);
/* The userdata at `index`, or NULL when it is anything else. */
void *mpl_lua_test(lua_State *L, int index, const mpl_lua_type *type);
/* The same for argument `arg`; raises when it is anything else. */
void *mpl_lua_check(lua_State *L, int arg, const mpl_lua_type *type);

/* Which of `names` (NULL at the end) the key at `key` is; raises when it is none of them, so that
 * a misspelling is not a silent nil. */
int mpl_lua_field(lua_State *L, int key, const char *what, const char *const *names);

/* Push a key as errors show it: "name", 7, or its type. */
const char *mpl_lua_push_key(lua_State *L, int key);

/* -- One call's holdings ---------------------------------------------------*/

typedef struct mpl_lua_work {
    moonplan_document *document;
    moonplan_error_list *errors;
    mpl_alloc alloc; /* of the buffers */
    mpl_buffer text, scratch;
    mpl_builder builder;
    bool building;
    moonplan_engine *engine; /* held open until `leave`, NULL: none */
    void (*leave)(moonplan_engine *engine);
    moonplan_error err;
} mpl_lua_work;

/* A builder without limits of its own, because a budget counts, or what goes in has been counted.
 */
static inline void mpl_build_open_wide(mpl_builder *builder, const moonplan_options *options) {
    mpl_build_open(builder, options);
    builder->max_depth = builder->max_values = UINT64_MAX;
}

/* Push an empty one. */
mpl_lua_work *mpl_lua_work_new(lua_State *L);
/* Give back what it holds, now rather than with the next collection. */
void mpl_lua_work_close(mpl_lua_work *work);

/* -- Options ---------------------------------------------------------------*/

/* Options that a function takes beside those that all take. */
typedef struct mpl_lua_more {
    const char *const *names; /* NULL at the end; eight at most */
    /* The value of names[which] is on top of the stack and has to stay there; raises when something
     * is wrong with it. What is to outlive the call has to be copied. */
    void (*read)(lua_State *L, int arg, int which, void *data);
    void *data;
} mpl_lua_more;

/* The options at argument `arg`, a table or nothing, read with raw access: implements, hex_case,
 * limits, enforce_capabilities, transports, and `more` (NULL: no more). Raises when something is
 * wrong with them. Pushes one value, which has to stay on the stack as long as the options are
 * used. The errors go to work->errors, and the memory comes from the state's allocator. */
void mpl_lua_options(lua_State *L, int arg, moonplan_options *options, mpl_lua_work *work,
                     const mpl_lua_more *more);

/* The same for many digests at once, with `jobs`; in digest_many.c. More than one of them cannot
 * use the state's allocator. */
void mpl_lua_many_options(lua_State *L, int arg, moonplan_options *options, mpl_lua_work *work);

/* Raises: the option `name` must be `wanted`, not what is at `value`. */
int mpl_lua_bad_option(lua_State *L, int arg, const char *name, const char *wanted, int value);

/* The option `limits`, a table on top of the stack. */
void mpl_lua_read_limits(lua_State *L, int arg, moonplan_options *options);

/* The state's own allocator. */
void mpl_lua_alloc(lua_State *L, moonplan_options *options);

/* -- Errors ----------------------------------------------------------------*/

/* Push nil and an error table made of work->errors, or of work->err where there is no list, with
 * lines and columns in `text` (bytes NULL: it has no places); give back what `work` holds;
 * return 2. */
int mpl_lua_refuse(lua_State *L, mpl_lua_work *work, moonplan_text text);
/* Push a list of error tables. */
void mpl_lua_push_errors(lua_State *L, moonplan_error *errors, size_t count, moonplan_text text);

/* The error at `index`: a string is the text; a table with a string `message` gives that, and its
 * `code` if it is a string. False when it is anything else. Raw access; may raise for want of
 * memory. */
bool mpl_lua_read_error(lua_State *L, int index, mpl_buffer *text, mpl_buffer *code);
/* The same for the value on top of the stack, which is popped; never raises. */
bool mpl_lua_pop_error(lua_State *L, mpl_buffer *text, mpl_buffer *code);

/* After a failure: whether it was for want of memory, garbage has been collected since, and it is
 * worth one more attempt. C memory that hangs from unreachable userdata is only given back by a
 * collection, which C's allocations do not set off. */
bool mpl_lua_again(lua_State *L, mpl_lua_work *work, int *attempts);
/* The text as work->document; false with work->err. */
bool mpl_lua_parse(lua_State *L, mpl_lua_work *work, moonplan_text text,
                   const moonplan_options *options);
/* Tell the collector that a userdata holds so many bytes that it does not see. */
void mpl_lua_weigh(lua_State *L, size_t bytes);

/* Push a text as mpl_quote shows it. */
void mpl_lua_push_quoted(lua_State *L, moonplan_text text, size_t room);
/* Push 0x and 64 digits. */
void mpl_lua_push_hash(lua_State *L, const uint8_t hash[32]);

/* Push a text, or nil for {NULL, 0}; return 1. */
int mpl_lua_push_text(lua_State *L, moonplan_text text);
/* Push what a document that has been read says there, as a fresh Lua value, or nil for
 * MOONPLAN_NONE; return 1. Numbers that Lua cannot hold are legal in a document, so this may fail;
 * it raises the error table then, for a field has no second value to return. */
int mpl_lua_push_value(lua_State *L, moonplan_value value);

/* The string at argument `arg`; numbers are no texts. */
moonplan_text mpl_lua_check_text(lua_State *L, int arg);

#endif
