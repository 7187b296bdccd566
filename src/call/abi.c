#include "abi.h"

#include <string.h>

#include "../core/text.h"

/* One level of parameters: those still to come, and what is left of the current one. */
typedef struct level {
    moonplan_walk parameters, members;
    bool known, tuple; /* the current one's type */
} level;

/* Components nest in the document itself, two levels of it for one of theirs, so that the ceiling
 * of the limit depth bounds them. */
#define LEVELS_MOST 512

/* Begin a parameter; false if it has no members to look at. */
static bool open_parameter(mpl_faults *faults, level *at, moonplan_value parameter) {
    if (mpl_type(parameter) != MOONPLAN_OBJECT) {
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, parameter, "a parameter must be an object, not %s",
                  mpl_type_text(mpl_type(parameter)));
        return false;
    }
    moonplan_value type = mpl_member(parameter, "type"),
                   components = mpl_member(parameter, "components");
    at->known = at->tuple = false;
    if (mpl_type(type) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MOONPLAN_CALL_ABI, parameter, "the parameter", "type");
    else if (mpl_type(type) == MOONPLAN_STRING)
        at->known = mpl_abi_type_fault(mpl_string(type), &at->tuple) == NULL;
    if (at->known && at->tuple && mpl_type(components) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MOONPLAN_CALL_ABI, parameter, "the tuple", "components");
    at->members = mpl_walk(parameter);
    return true;
}

/* Look at a member of a parameter; true if it holds parameters in turn. */
static bool check_member(mpl_faults *faults, const level *at) {
    moonplan_text name = at->members.name;
    moonplan_value value = at->members.value;
    moonplan_type found = mpl_type(value);
    if (mpl_text_is(name, "name") && found != MOONPLAN_STRING) {
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, value, "a parameter's name must be a string, not %s",
                  mpl_type_text(found));
    } else if (mpl_text_is(name, "type") && found != MOONPLAN_STRING) {
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, value, "a parameter's type must be a string, not %s",
                  mpl_type_text(found));
    } else if (mpl_text_is(name, "type") && !at->known) {
        moonplan_text type = mpl_string(value);
        bool tuple;
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, value, "%q is no ABI type: %s", &type,
                  mpl_abi_type_fault(type, &tuple));
    } else if (mpl_text_is(name, "components")) {
        if (at->known && !at->tuple)
            MPL_FAULT(faults, MOONPLAN_CALL_ABI, value, "only a tuple has components");
        else if (found != MOONPLAN_ARRAY)
            MPL_FAULT(faults, MOONPLAN_CALL_ABI, value, "components must be an array, not %s",
                      mpl_type_text(found));
        else
            return true;
    }
    return false;
}

/* Without recursion: half a kilobyte a level would be too much for a host's small thread. */
static void check_parameters(mpl_faults *faults, moonplan_value list) {
    level levels[LEVELS_MOST];
    size_t depth = 1;
    bool inside = false;
    levels[0].parameters = mpl_walk(list);
    while (depth > 0 && !mpl_faults_enough(faults)) {
        level *at = &levels[depth - 1];
        if (!inside) {
            if (mpl_walk_next(&at->parameters))
                inside = open_parameter(faults, at, at->parameters.value);
            else
                inside = --depth > 0;
        } else if (!mpl_walk_next(&at->members)) {
            inside = false;
        } else if (check_member(faults, at)) {
            if (depth == LEVELS_MOST) {
                MPL_FAULT(faults, MOONPLAN_CALL_ABI, at->members.value,
                          "tuples are nested more than %u deep", (uint64_t)LEVELS_MOST);
                continue;
            }
            levels[depth++].parameters = mpl_walk(at->members.value);
            inside = false;
        }
    }
}

static void check_error(mpl_faults *faults, moonplan_value entry) {
    if (mpl_type(mpl_member(entry, "name")) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MOONPLAN_CALL_ABI, entry, "the error", "name");
    if (mpl_type(mpl_member(entry, "inputs")) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MOONPLAN_CALL_ABI, entry, "the error", "inputs");
    moonplan_walk walk = mpl_walk(entry);
    while (!mpl_faults_enough(faults) && mpl_walk_next(&walk)) {
        moonplan_type found = mpl_type(walk.value);
        if (mpl_text_is(walk.name, "name")) {
            moonplan_text name = mpl_string(walk.value);
            if (found != MOONPLAN_STRING)
                MPL_FAULT(faults, MOONPLAN_CALL_ABI, walk.value,
                          "an error's name must be a string, not %s", mpl_type_text(found));
            else if (!mpl_abi_identifier(name))
                MPL_FAULT(faults, MOONPLAN_CALL_ABI, walk.value,
                          "%q is no name for an error: letters, digits, _ and $, and no digit "
                          "first",
                          &name);
        } else if (mpl_text_is(walk.name, "inputs")) {
            if (found != MOONPLAN_ARRAY)
                MPL_FAULT(faults, MOONPLAN_CALL_ABI, walk.value,
                          "an error's inputs must be an array, not %s", mpl_type_text(found));
            else
                check_parameters(faults, walk.value);
        }
    }
}

void mpl_abi_check(mpl_faults *faults, moonplan_value abi) {
    bool error = false, sound = true;
    moonplan_walk walk = mpl_walk(abi);
    while (mpl_walk_next(&walk)) {
        bool object = mpl_type(walk.value) == MOONPLAN_OBJECT;
        error = error || mpl_text_is(mpl_string(mpl_member(walk.value, "type")), "error");
        sound = sound && object;
    }
    if (moonplan_value_count(abi) == 0)
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, abi, "abi is empty; it must declare an error");
    else if (sound && !error)
        MPL_FAULT(faults, MOONPLAN_CALL_ABI_NO_ERROR, abi,
                  "none of the entries of abi declares an error, so no revert can be decoded");
    walk = mpl_walk(abi);
    while (!mpl_faults_enough(faults) && mpl_walk_next(&walk)) {
        moonplan_type found = mpl_type(walk.value);
        if (found != MOONPLAN_OBJECT) {
            MPL_FAULT(faults, MOONPLAN_CALL_TYPE, walk.value,
                      "an ABI entry must be an object, not %s", mpl_type_text(found));
            continue;
        }
        moonplan_value type = mpl_member(walk.value, "type");
        if (mpl_type(type) == MOONPLAN_NONE) {
            mpl_fault_missing(faults, MOONPLAN_CALL_ABI, walk.value, "the ABI entry", "type");
            continue;
        }
        moonplan_text name = mpl_string(type);
        bool known = mpl_text_is(name, "error") || mpl_text_is(name, "function") ||
                     mpl_text_is(name, "constructor") || mpl_text_is(name, "fallback") ||
                     mpl_text_is(name, "receive") || mpl_text_is(name, "event");
        if (mpl_type(type) != MOONPLAN_STRING)
            MPL_FAULT(faults, MOONPLAN_CALL_ABI, type,
                      "an ABI entry's type must be a string, not %s",
                      mpl_type_text(mpl_type(type)));
        else if (!known)
            MPL_FAULT(faults, MOONPLAN_CALL_ABI, type,
                      "%q is no type of ABI entry; there are: error, function, constructor, "
                      "fallback, receive, event",
                      &name);
        else if (mpl_text_is(name, "error"))
            check_error(faults, walk.value);
    }
}
