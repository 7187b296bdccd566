/* The host's side of powers, from inside: one operation that is being served. */
#ifndef MPL_LUA_SERVE_H
#define MPL_LUA_SERVE_H

#include "../core/error.h"
#include "plugin.h"

typedef struct mpl_serving {
    mpl_plugin_call *call;
    mpl_operation operation;
    const mpl_slots *in; /* of the types that the operation takes */
    mpl_answer *out;
    moonplan_error *err;
    bool no_memory; /* a comparison could not be made */
} mpl_serving;

static inline moonplan_text mpl_in_bytes(const mpl_serving *s, size_t n) {
    return s->in->at[n].bytes;
}
static inline const moonplan_limits *mpl_serving_limits(const mpl_serving *s) {
    return &s->call->call.options->limits;
}
static inline const mpl_grants *mpl_serving_grants(const mpl_serving *s) {
    return &s->call->plugin->owner->grants;
}

/* Whether the item that is called names this in its needs: of rpc and secret, with its name. */
bool mpl_serving_needs(const mpl_serving *s, unsigned power, moonplan_text name);

/* The answer's bytes are all that it is. */
mpl_served mpl_give_bytes(mpl_serving *s);
mpl_served mpl_give_true(mpl_serving *s);
/* A bad call. The format is mpl_error_set's. */
#define MPL_BREAK(s, ...)                                                                          \
    (mpl_error_set((s)->err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL, __VA_ARGS__), MPL_BROKEN)
#define MPL_REFUSE(s, code, ...)                                                                   \
    (mpl_error_set((s)->err, code, MOONPLAN_NO_OFFSET, NULL, __VA_ARGS__), MPL_REFUSED)
mpl_served mpl_refuse_memory(mpl_serving *s);

/* -- Each power ------------------------------------------------------------------*/

mpl_served mpl_serve_fs(mpl_serving *s);   /* serve_fs.c */
mpl_served mpl_serve_kv(mpl_serving *s);   /* serve_kv.c */
mpl_served mpl_serve_http(mpl_serving *s); /* serve_http.c */
mpl_served mpl_serve_rpc(mpl_serving *s);

/* -- Doubles (double.c) ------------------------------------------------------------*/

/* A member of what the example gives; MOONPLAN_NONE where it gives none. */
moonplan_value mpl_given(const mpl_doubles *doubles, const char *power);
/* Write over what was given under a name (content {NULL, 0}: take it away); false for want of
 * memory. */
bool mpl_doubles_write(mpl_doubles *doubles, mpl_written **list, moonplan_text name,
                       moonplan_text content);
/* What was written under a name; NULL if nothing was. */
const mpl_written *mpl_doubles_find(const mpl_written *list, moonplan_text name);
/* Whether an entry of a list has played its part already; the first time notes it. False in *fine
 * for want of memory. */
bool mpl_doubles_used(mpl_doubles *doubles, moonplan_value entry);
bool mpl_doubles_use(mpl_doubles *doubles, moonplan_value entry);

/* -- Secrets (redact.c) ------------------------------------------------------------*/

/* Replace each of the secrets that this call may have seen by [secret:NAME]; false for want of
 * memory, and then the buffer is empty. */
bool mpl_redact_bytes(const mpl_plugin_call *call, mpl_buffer *bytes);
/* The same in the strings and names of a document, which is given back, or another one in its
 * place; NULL for want of memory, or (job.result_shape) when two names of one object would be the
 * same then. It is gone in either case. */
moonplan_document *mpl_redact_document(const mpl_plugin_call *call, moonplan_document *document,
                                       moonplan_error *err);
/* Whether any of this is in the strings, names and numbers of a document; and take it out, with the
 * builder's error. */
bool mpl_hidden_in(const mpl_needles *needles, moonplan_value value);
moonplan_document *mpl_hide_in_document(const mpl_needles *needles, moonplan_document *document,
                                        const moonplan_options *options, moonplan_error *err);
/* Whether there is anything to look for. */
bool mpl_has_secrets(const mpl_plugin_call *call);

#endif
