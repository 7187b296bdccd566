/* A step plan that is a Lua table becomes a document.
 *
 * First every field that counts is read, through __index, once each: the goal, the key, the steps,
 * their number, and of each step in turn id, capability, capabilityVersion, input, reason and
 * idempotencyKey. An accessor that raises refuses the plan (plan.capture), whatever else is wrong
 * with it. Then what was read is converted with raw access. The insides of inputs stay shared with
 * the caller, and are read again when their steps begin, unless the plan is to be owned deeply. */
#ifndef MPL_LUA_CAPTURE_H
#define MPL_LUA_CAPTURE_H

#include <lua.h>

#include "../engine/engine.h"
#include "convert.h"

typedef struct mpl_capture {
    const moonplan_options *options;
    mpl_alloc alloc;
    moonplan_document *document; /* whoever takes it sets this to NULL */
    mpl_capture_fault *faults;
    size_t fault_count, fault_capacity;
    bool shared; /* an input is a table */
    moonplan_error err;
    /* Where it stands. */
    lua_Integer count; /* of steps; -1: `steps` is no table */
    lua_Integer step;  /* from 0; -1: the plan itself */
    const char *field;
    mpl_builder whole, part;
    bool whole_open, part_open;
    uint64_t values; /* that may still be converted */
} mpl_capture;

/* Capture the table at `plan`. Pushes two values: the mpl_capture, a userdata, and a table with
 * what was read. False, with capture->err and only the first value pushed, when it was refused. The
 * options have to live as long. */
bool mpl_lua_capture(lua_State *L, int plan, const moonplan_options *options, mpl_capture **out);

/* Push the input of step n, from 0, out of the table with what was read. */
void mpl_lua_capture_input(lua_State *L, int table, size_t n);
/* Convert the value on top of the stack as an input of step n; may raise, and `builder` has to be
 * open. False with *err. */
bool mpl_lua_convert_input(lua_State *L, mpl_builder *builder, const moonplan_options *options,
                           size_t n, moonplan_error *err);

#endif
