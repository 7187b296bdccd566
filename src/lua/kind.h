/* The kinds of plugin: which members the table of each has. */
#ifndef MPL_LUA_KIND_H
#define MPL_LUA_KIND_H

#include "../core/text.h"

typedef enum mpl_kind {
    MPL_CAPABILITY,
    MPL_BUILDER,
    MPL_EXECUTOR,
    MPL_AUTHORIZER,
    MPL_KINDS /* none of them */
} mpl_kind;

/* The function members of all kinds. A call into a plugin names one of them; where the functions
 * themselves live is the vessel's business. */
typedef enum mpl_function {
    MPL_RUN,
    MPL_CHECK,
    MPL_BUILD,
    MPL_PREPARE,
    MPL_SIMULATE,
    MPL_ESTIMATE,
    MPL_SUBMIT,
    MPL_OUTCOME,
    MPL_DECIDE,
    MPL_FUNCTIONS
} mpl_function;

extern const char *const mpl_function_names[MPL_FUNCTIONS];
/* The prelude that calls the function, as prelude(function, input, ctx); NULL: nothing stands
 * between. */
const char *mpl_function_prelude(mpl_function function);
/* MPL_FUNCTIONS if there is none of that name. */
mpl_function mpl_function_of(moonplan_text name);

typedef struct mpl_kind_info {
    const char *name;    /* "capability" */
    const char *article; /* "a capability" */
    const char *members; /* all names, as errors list them: data, then functions */
    const char *data[12];
    unsigned functions, required; /* bits 1 << mpl_function */
} mpl_kind_info;

extern const mpl_kind_info mpl_kinds[MPL_KINDS];
#define MPL_KIND_NAMES "capability, builder, executor, authorizer"

/* MPL_KINDS if there is none of that name. */
mpl_kind mpl_kind_of(moonplan_text name);
bool mpl_kind_has_data(mpl_kind kind, moonplan_text name);

static inline bool mpl_kind_has_function(mpl_kind kind, mpl_function function) {
    return function < MPL_FUNCTIONS && (mpl_kinds[kind].functions >> function & 1);
}

#endif
