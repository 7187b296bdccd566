#include "kind.h"

#include <string.h>

const char *const mpl_function_names[MPL_FUNCTIONS] = {
    [MPL_RUN] = "run",         [MPL_CHECK] = "check",       [MPL_BUILD] = "build",
    [MPL_PREPARE] = "prepare", [MPL_SIMULATE] = "simulate", [MPL_ESTIMATE] = "estimate",
    [MPL_SUBMIT] = "submit",   [MPL_OUTCOME] = "outcome",   [MPL_DECIDE] = "decide",
};

#define BIT(function) (1u << (function))

/* The data stand in documents in this order. */
const mpl_kind_info mpl_kinds[MPL_KINDS] = {
    [MPL_CAPABILITY] = {"capability",
                        "a capability",
                        "kind, api, name, version, summary, risk, needs, input, output, abi, "
                        "examples, run, check",
                        {"kind", "api", "name", "version", "summary", "risk", "needs", "input",
                         "output", "abi", "examples", NULL},
                        BIT(MPL_RUN) | BIT(MPL_CHECK),
                        BIT(MPL_RUN)},
    [MPL_BUILDER] =
        {"builder",
         "a builder",
         "kind, api, name, version, summary, builds, uses, params, abi, examples, build",
         {"kind", "api", "name", "version", "summary", "builds", "uses", "params", "abi",
          "examples", NULL},
         BIT(MPL_BUILD),
         BIT(MPL_BUILD)},
    [MPL_EXECUTOR] =
        {"executor",
         "an executor",
         "kind, api, name, version, summary, needs, implements, submits, abi, examples, "
         "prepare, submit, outcome, simulate, estimate",
         {"kind", "api", "name", "version", "summary", "needs", "implements", "submits", "abi",
          "examples", NULL},
         BIT(MPL_PREPARE) | BIT(MPL_SIMULATE) | BIT(MPL_ESTIMATE) | BIT(MPL_SUBMIT) |
             BIT(MPL_OUTCOME),
         BIT(MPL_PREPARE) | BIT(MPL_SUBMIT) | BIT(MPL_OUTCOME)},
    [MPL_AUTHORIZER] = {"authorizer",
                        "an authorizer",
                        "kind, api, name, version, summary, needs, examples, decide",
                        {"kind", "api", "name", "version", "summary", "needs", "examples", NULL},
                        BIT(MPL_DECIDE),
                        BIT(MPL_DECIDE)},
};

const char *mpl_function_prelude(mpl_function function) {
    return function == MPL_BUILD ? "builder" : NULL;
}

mpl_function mpl_function_of(moonplan_text name) {
    unsigned function = 0;
    while (function < MPL_FUNCTIONS && !mpl_text_is(name, mpl_function_names[function])) function++;
    return (mpl_function)function;
}

mpl_kind mpl_kind_of(moonplan_text name) {
    unsigned kind = 0;
    while (kind < MPL_KINDS && !mpl_text_is(name, mpl_kinds[kind].name)) kind++;
    return (mpl_kind)kind;
}

bool mpl_kind_has_data(mpl_kind kind, moonplan_text name) {
    const char *const *data = mpl_kinds[kind].data;
    while (*data && !mpl_text_is(name, *data)) data++;
    return *data != NULL;
}
