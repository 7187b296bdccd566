#include "abi.h"

#include <string.h>

#include "../core/text.h"

static moonplan_value member(moonplan_value object, const char *name) {
    return moonplan_value_member(object, name, strlen(name));
}

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
    if (moonplan_value_type(parameter) != MOONPLAN_OBJECT) {
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, parameter, "a parameter must be an object, not %s",
                  mpl_type_text(moonplan_value_type(parameter)));
        return false;
    }
    moonplan_value type = member(parameter, "type"), components = member(parameter, "components");
    at->known = at->tuple = false;
    if (moonplan_value_type(type) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MOONPLAN_CALL_ABI, parameter, "the parameter", "type");
    else if (moonplan_value_type(type) == MOONPLAN_STRING)
        at->known = mpl_abi_type_fault(moonplan_value_string(type), &at->tuple) == NULL;
    if (at->known && at->tuple && moonplan_value_type(components) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MOONPLAN_CALL_ABI, parameter, "the tuple", "components");
    at->members = moonplan_value_walk(parameter);
    return true;
}

/* Look at a member of a parameter; true if it holds parameters in turn. */
static bool check_member(mpl_faults *faults, const level *at) {
    moonplan_text name = at->members.name;
    moonplan_value value = at->members.value;
    moonplan_type found = moonplan_value_type(value);
    if (mpl_text_is(name, "name") && found != MOONPLAN_STRING) {
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, value, "a parameter's name must be a string, not %s",
                  mpl_type_text(found));
    } else if (mpl_text_is(name, "type") && found != MOONPLAN_STRING) {
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, value, "a parameter's type must be a string, not %s",
                  mpl_type_text(found));
    } else if (mpl_text_is(name, "type") && !at->known) {
        moonplan_text type = moonplan_value_string(value);
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
    levels[0].parameters = moonplan_value_walk(list);
    while (depth > 0 && !mpl_faults_enough(faults)) {
        level *at = &levels[depth - 1];
        if (!inside) {
            if (moonplan_walk_next(&at->parameters))
                inside = open_parameter(faults, at, at->parameters.value);
            else
                inside = --depth > 0;
        } else if (!moonplan_walk_next(&at->members)) {
            inside = false;
        } else if (check_member(faults, at)) {
            if (depth == LEVELS_MOST) {
                MPL_FAULT(faults, MOONPLAN_CALL_ABI, at->members.value,
                          "tuples are nested more than %u deep", (uint64_t)LEVELS_MOST);
                continue;
            }
            levels[depth++].parameters = moonplan_value_walk(at->members.value);
            inside = false;
        }
    }
}

static void check_error(mpl_faults *faults, moonplan_value entry) {
    if (moonplan_value_type(member(entry, "name")) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MOONPLAN_CALL_ABI, entry, "the error", "name");
    if (moonplan_value_type(member(entry, "inputs")) == MOONPLAN_NONE)
        mpl_fault_missing(faults, MOONPLAN_CALL_ABI, entry, "the error", "inputs");
    moonplan_walk walk = moonplan_value_walk(entry);
    while (!mpl_faults_enough(faults) && moonplan_walk_next(&walk)) {
        moonplan_type found = moonplan_value_type(walk.value);
        if (mpl_text_is(walk.name, "name")) {
            moonplan_text name = moonplan_value_string(walk.value);
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
    static const char *const kinds[] = {"error",    "function", "constructor",
                                        "fallback", "receive",  "event"};
    bool error = false, sound = true;
    moonplan_walk walk = moonplan_value_walk(abi);
    while (moonplan_walk_next(&walk)) {
        bool object = moonplan_value_type(walk.value) == MOONPLAN_OBJECT;
        error = error || mpl_text_is(moonplan_value_string(member(walk.value, "type")), "error");
        sound = sound && object;
    }
    if (moonplan_value_count(abi) == 0)
        MPL_FAULT(faults, MOONPLAN_CALL_ABI, abi, "abi is empty; it must declare an error");
    else if (sound && !error)
        MPL_FAULT(faults, MOONPLAN_CALL_ABI_NO_ERROR, abi,
                  "none of the entries of abi declares an error, so no revert can be decoded");
    walk = moonplan_value_walk(abi);
    while (!mpl_faults_enough(faults) && moonplan_walk_next(&walk)) {
        moonplan_type found = moonplan_value_type(walk.value);
        if (found != MOONPLAN_OBJECT) {
            MPL_FAULT(faults, MOONPLAN_CALL_TYPE, walk.value,
                      "an ABI entry must be an object, not %s", mpl_type_text(found));
            continue;
        }
        moonplan_value type = member(walk.value, "type");
        if (moonplan_value_type(type) == MOONPLAN_NONE) {
            mpl_fault_missing(faults, MOONPLAN_CALL_ABI, walk.value, "the ABI entry", "type");
            continue;
        }
        moonplan_text name = moonplan_value_string(type);
        bool known = false;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            known = known || mpl_text_is(name, kinds[i]);
        if (moonplan_value_type(type) != MOONPLAN_STRING)
            MPL_FAULT(faults, MOONPLAN_CALL_ABI, type,
                      "an ABI entry's type must be a string, not %s",
                      mpl_type_text(moonplan_value_type(type)));
        else if (!known)
            MPL_FAULT(faults, MOONPLAN_CALL_ABI, type,
                      "%q is no type of ABI entry; there are: error, function, constructor, "
                      "fallback, receive, event",
                      &name);
        else if (mpl_text_is(name, "error"))
            check_error(faults, walk.value);
    }
}
