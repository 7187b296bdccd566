#include "faults.h"

#include <string.h>

#include "text.h"

void mpl_faults_open(mpl_faults *faults, const moonplan_options *options) {
    memset(faults, 0, sizeof *faults);
    faults->alloc = mpl_alloc_of(options);
    faults->most = options->limits.errors;
    faults->collect = options->errors != NULL;
    if (options->errors) *options->errors = NULL;
}

moonplan_error *mpl_faults_add(mpl_faults *faults) {
    faults->count++;
    if (!faults->collect) return faults->count == 1 ? &faults->first : NULL;
    if (faults->count > faults->most || faults->no_memory) return NULL;
    if (!faults->list) faults->list = mpl_error_list_new(&faults->alloc);
    moonplan_error *slot = faults->list ? mpl_error_list_add(faults->list) : NULL;
    if (!slot) faults->no_memory = true;
    return slot;
}

bool mpl_faults_enough(const mpl_faults *faults) {
    return faults->no_memory || (!faults->collect && faults->count > 0);
}

bool mpl_faults_close(mpl_faults *faults, const moonplan_options *options, moonplan_error *err) {
    if (faults->count == 0 && !faults->no_memory) return true;
    if (faults->collect && !faults->no_memory && faults->count > faults->most) {
        moonplan_error *rest = mpl_error_list_add(faults->list);
        if (rest)
            mpl_error_set(rest, MOONPLAN_LIMIT, MOONPLAN_NO_OFFSET, NULL,
                          faults->count - faults->most == 1
                              ? "%u more fault is not listed; the limit errors is %u"
                              : "%u more faults are not listed; the limit errors is %u",
                          faults->count - faults->most, faults->most);
        else
            faults->no_memory = true;
    }
    if (faults->no_memory) {
        moonplan_error_list_free(faults->list);
        faults->list = NULL;
        mpl_error_memory(err);
        return false;
    }
    if (err) *err = faults->collect ? *moonplan_error_list_at(faults->list, 0) : faults->first;
    if (faults->collect) *options->errors = faults->list;
    faults->list = NULL;
    return false;
}

void mpl_fault_missing(mpl_faults *faults, moonplan_code code, moonplan_value object,
                       const char *what, const char *name) {
    moonplan_error *slot = mpl_faults_add(faults);
    if (!slot) return;
    mpl_pointer pointer;
    mpl_pointer_of(&pointer, object.document, object.node);
    mpl_pointer_name(&pointer, (moonplan_text){name, strlen(name)});
    mpl_error_set(slot, code, moonplan_value_offset(object), &pointer, "%s has no %s", what, name);
}

#define SHAPE_MOST (sizeof((mpl_shape *)0)->members / sizeof *((mpl_shape *)0)->members)

static int find(const mpl_shape *shape, moonplan_text name) {
    for (size_t i = 0; i < SHAPE_MOST && shape->members[i].name; i++)
        if (mpl_text_is(name, shape->members[i].name)) return (int)i;
    return -1;
}

void mpl_shape_open(mpl_faults *faults, const mpl_shape *shape, moonplan_value object,
                    moonplan_code missing) {
    unsigned seen = 0;
    moonplan_walk walk = mpl_walk(object);
    while (mpl_walk_next(&walk)) {
        int member = find(shape, walk.name);
        if (member >= 0) seen |= 1u << member;
    }
    for (size_t i = 0; i < SHAPE_MOST && shape->members[i].name; i++)
        if (shape->members[i].required && !(seen >> i & 1))
            mpl_fault_missing(faults, missing, object, shape->what, shape->members[i].name);
}

int mpl_shape_next(mpl_faults *faults, const mpl_shape *shape, moonplan_walk *walk,
                   moonplan_code unknown) {
    while (!mpl_faults_enough(faults) && mpl_walk_next(walk)) {
        int member = find(shape, walk->name);
        if (member >= 0) return member;
        moonplan_error *slot = mpl_faults_add(faults);
        if (!slot) continue;
        char names[256] = "";
        for (size_t i = 0; i < SHAPE_MOST && shape->members[i].name; i++) {
            if (i) strcat(names, ", ");
            strcat(names, shape->members[i].name);
        }
        mpl_error_at(slot, unknown, walk->value, "%s has no member %q; there are: %s", shape->what,
                     &walk->name, names);
        slot->offset = walk->value.document->nodes[walk->value.node - 1].start;
    }
    return -1;
}
