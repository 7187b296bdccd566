/* Collecting faults: as many as the limit `errors` allows, the first one also for *err. */
#ifndef MPL_CORE_FAULTS_H
#define MPL_CORE_FAULTS_H

#include "value.h"

typedef struct mpl_faults {
    mpl_alloc alloc;
    moonplan_error_list *list;
    moonplan_error first;
    uint64_t count, most;
    bool collect, no_memory;
} mpl_faults;

void mpl_faults_open(mpl_faults *faults, const moonplan_options *options);
/* The same for faults that are only counted. */
static inline void mpl_faults_open_count(mpl_faults *faults) {
    faults->list = NULL;
    faults->count = faults->most = 0;
    faults->collect = true;
    faults->no_memory = false;
}
/* Where to write the next fault, or NULL when it is only counted. Faults come in document order. */
moonplan_error *mpl_faults_add(mpl_faults *faults);
/* True once looking for more is of no use. */
bool mpl_faults_enough(const mpl_faults *faults);
/* True if there was none; else the faults go where the options say, the first into *err. */
bool mpl_faults_close(mpl_faults *faults, const moonplan_options *options, moonplan_error *err);

/* A fault at a value. */
#define MPL_FAULT(faults, code, value, ...)                                                        \
    do {                                                                                           \
        moonplan_error *slot_ = mpl_faults_add(faults);                                            \
        if (slot_) mpl_error_at(slot_, code, value, __VA_ARGS__);                                  \
    } while (0)

/* A fault at a member's name: `value` is the member's. */
#define MPL_FAULT_NAME(faults, code, value, ...)                                                   \
    do {                                                                                           \
        moonplan_error *slot_ = mpl_faults_add(faults);                                            \
        if (slot_) {                                                                               \
            mpl_error_at(slot_, code, value, __VA_ARGS__);                                         \
            slot_->offset = (value).document->nodes[(value).node - 1].start;                       \
        }                                                                                          \
    } while (0)

/* A member that an object does not have: the place is where the object begins. */
void mpl_fault_missing(mpl_faults *faults, moonplan_code code, moonplan_value object,
                       const char *what, const char *name);

/* A kind of object: its name in error texts, and its members. */
typedef struct mpl_shape {
    const char *what;
    struct {
        const char *name;
        bool required;
    } members[8];
} mpl_shape;

/* Report what is missing in an object, then hand out its members in document order: the index of
 * the next one in the shape, -1 at the end. Members that the shape does not have are reported. */
void mpl_shape_open(mpl_faults *faults, const mpl_shape *shape, moonplan_value object,
                    moonplan_code missing);
int mpl_shape_next(mpl_faults *faults, const mpl_shape *shape, moonplan_walk *walk,
                   moonplan_code unknown);

#endif
