/* The parts of the module. Each pushes a function or a table. */
#ifndef MPL_LUA_MODULE_H
#define MPL_LUA_MODULE_H

#include <lua.h>

#include "../moonplan.h"
#include "bind.h"

int mpl_lua_call_plan(lua_State *L);       /* moonplan.call_plan(text, options) */
int mpl_lua_digest_many(lua_State *L);     /* moonplan.digest_many(texts, options) */
int mpl_lua_engine_new(lua_State *L);      /* moonplan.engine(options) */
int mpl_lua_reference(lua_State *L);       /* moonplan.reference(text, options) */
int mpl_lua_make_reference(lua_State *L);  /* moonplan.make_reference(text, options) */
int mpl_lua_typed_data(lua_State *L);      /* moonplan.typed_data(text, options) */
int mpl_lua_check_result(lua_State *L);    /* moonplan.check_result(text, request, options) */
int mpl_lua_check_receipt(lua_State *L);   /* moonplan.check_receipt(text, request, options) */
int mpl_lua_check_operation(lua_State *L); /* moonplan.check_operation(text, request, options) */
int mpl_lua_review(lua_State *L);        /* moonplan.review(plan, options), plan:review(options) */
int mpl_lua_sign_approval(lua_State *L); /* moonplan.sign_approval(text, key), in jobs.c */
int mpl_lua_findings(lua_State *L);      /* moonplan.findings() */
void mpl_lua_push_abi(lua_State *L);     /* moonplan.abi */
void mpl_lua_push_convert(lua_State *L); /* moonplan.convert */
void mpl_lua_push_json(lua_State *L);    /* moonplan.json */
int mpl_lua_address(lua_State *L);       /* moonplan.address(text) */
int mpl_lua_amount(lua_State *L);        /* moonplan.amount(value, decimals) */
int mpl_lua_units(lua_State *L);         /* moonplan.units(amount, decimals) */
void mpl_lua_push_uint256(lua_State *L); /* moonplan.uint256 */
void mpl_lua_push_pure(lua_State *L);    /* a table with what plugins see of the module as well */

/* Push a plan, or a request, that is closed: what is put into the slot belongs to it. Its text is
 * the string at `text`, which it keeps. */
moonplan_call_plan **mpl_lua_new_plan(lua_State *L, int text);
/* The plan at `plan`, whose document was built here, gets that document's text for its own. */
void mpl_lua_keep_plan_text(lua_State *L, int plan);
/* The plan at argument `arg`, or one made of the text there, which takes the text's place; required
 * capabilities are not enforced then. `text` is what places are in. NULL with work->err; raises
 * when it is neither, or closed. */
const moonplan_call_plan *mpl_lua_plan_or_text(lua_State *L, int arg, moonplan_text *text,
                                               const moonplan_options *options, mpl_lua_work *work);
moonplan_typed_data **mpl_lua_new_request(lua_State *L, int text);
/* The text on top of the stack, which is popped, is the origin that the request at `index` has been
 * proved to come from, "" for none: it counts, whatever is said later. */
void mpl_lua_prove_origin(lua_State *L, int index);

/* Push a slot for a review, which is collected with it. */
moonplan_review **mpl_lua_new_review(lua_State *L);
/* Push what the review in the slot says, and free it; or refuse where there is none. */
int mpl_lua_give_review(lua_State *L, moonplan_review **review, mpl_lua_work *work);

#endif
