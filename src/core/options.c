#include <string.h>

#include "error.h"
#include "text.h"

static const moonplan_limit_info limits[] = {
#define MOONPLAN_LIMIT_ROW(name, initial, floor, ceiling, text)                                    \
    {#name, initial, floor, ceiling, text},
    MOONPLAN_LIMITS(MOONPLAN_LIMIT_ROW)
#undef MOONPLAN_LIMIT_ROW
};

static void refuse_limit(const moonplan_limit_info *limit, uint64_t value, moonplan_error *err) {
    mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL,
                  "the limit %s can be set from %u to %u, not to %u", limit->name, limit->floor,
                  limit->ceiling, value);
}

const char *moonplan_version(void) {
    return MOONPLAN_VERSION;
}

const moonplan_limit_info *moonplan_limit_at(size_t n) {
    return n < sizeof limits / sizeof *limits ? &limits[n] : NULL;
}

void moonplan_options_init(moonplan_options *options) {
    memset(options, 0, sizeof *options);
#define MOONPLAN_LIMIT_INITIAL(name, initial, floor, ceiling, text) options->limits.name = initial;
    MOONPLAN_LIMITS(MOONPLAN_LIMIT_INITIAL)
#undef MOONPLAN_LIMIT_INITIAL
    options->enforce_capabilities = true;
    options->transports = MOONPLAN_TRANSPORT_DATA;
    options->jobs = 1;
}

moonplan_options mpl_options_of(const moonplan_options *options) {
    if (options) return *options;
    moonplan_options defaults;
    moonplan_options_init(&defaults);
    return defaults;
}

bool mpl_options_sound(const moonplan_options *options, moonplan_error *err) {
    /* Nearly always they are: no look at the table then. */
    bool sound = true;
#define MOONPLAN_LIMIT_SOUND(name, initial, floor, ceiling, text)                                  \
    sound &= options->limits.name - (floor) <= (uint64_t)(ceiling) - (floor);
    MOONPLAN_LIMITS(MOONPLAN_LIMIT_SOUND)
#undef MOONPLAN_LIMIT_SOUND
    if (sound) return true;
    const uint64_t values[] = {
#define MOONPLAN_LIMIT_VALUE(name, initial, floor, ceiling, text) options->limits.name,
        MOONPLAN_LIMITS(MOONPLAN_LIMIT_VALUE)
#undef MOONPLAN_LIMIT_VALUE
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (values[i] >= limits[i].floor && values[i] <= limits[i].ceiling) continue;
        refuse_limit(&limits[i], values[i], err);
        return false;
    }
    return true;
}

bool moonplan_options_limit(moonplan_options *options, const char *name, uint64_t value,
                            moonplan_error *err) {
    moonplan_text given = {name, strlen(name)};
    uint64_t *fields[] = {
#define MOONPLAN_LIMIT_PLACE(limit, initial, floor, ceiling, text) &options->limits.limit,
        MOONPLAN_LIMITS(MOONPLAN_LIMIT_PLACE)
#undef MOONPLAN_LIMIT_PLACE
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(name, limits[i].name) != 0) continue;
        if (value < limits[i].floor || value > limits[i].ceiling) {
            refuse_limit(&limits[i], value, err);
            return false;
        }
        *fields[i] = value;
        return true;
    }
    mpl_error_set(err, MOONPLAN_OPTION, MOONPLAN_NO_OFFSET, NULL, "there is no limit %q", &given);
    return false;
}
