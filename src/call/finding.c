#include "finding.h"

#include <string.h>

static const moonplan_finding_info infos[] = {
#define ROW(symbol, name, severity, text) {name, MOONPLAN_##severity, text},
    MOONPLAN_FINDINGS(ROW)
#undef ROW
};

const moonplan_finding_info *moonplan_finding_info_at(size_t code) {
    return code < MOONPLAN_FINDING_COUNT ? &infos[code] : NULL;
}

const char *moonplan_severity_name(moonplan_severity severity) {
    switch (severity) {
    case MOONPLAN_INFO:
        return "info";
    case MOONPLAN_WARNING:
        return "warning";
    case MOONPLAN_DANGER:
        return "danger";
    default:
        return "none";
    }
}

void mpl_findings_open(mpl_findings *findings, const moonplan_options *options) {
    memset(findings, 0, sizeof *findings);
    findings->alloc = mpl_alloc_of(options);
    findings->most = options->limits.findings;
    mpl_arena_open(&findings->arena, &findings->alloc);
}

void mpl_findings_close(mpl_findings *findings) {
    mpl_arena_close(&findings->arena);
    mpl_release(&findings->alloc, findings->items, findings->capacity * sizeof *findings->items);
    mpl_release(&findings->alloc, findings->before,
                findings->before_capacity * sizeof *findings->before);
    findings->items = NULL;
    findings->before = NULL;
    findings->count = findings->capacity = findings->before_capacity = 0;
}

static bool drop(mpl_findings *findings, moonplan_severity severity, mpl_loose loose) {
    size_t *last = &findings->loose[severity][loose];
    if (*last == 0) return false;
    size_t item = *last - 1;
    *last = findings->before[item];
    findings->items[item].severity = (moonplan_severity)0;
    findings->kept[severity]--;
    return true;
}

bool mpl_findings_room(mpl_findings *findings, moonplan_finding_code code, size_t step) {
    moonplan_severity severity = infos[code].severity;
    findings->total[severity]++;
    if (findings->no_memory) return false;
    if (findings->kept[severity] < findings->most) return true;
    bool first = !findings->known[code];
    if (!first && findings->last_step[code] == step) return false;
    if (drop(findings, severity, MPL_AGAIN)) return true;
    if (first) drop(findings, severity, MPL_ELSEWHERE);
    return first;
}

static moonplan_finding *add(mpl_findings *findings, const char *at) {
    size_t at_length = strlen(at), length = strlen(findings->scratch.message);
    if (!mpl_grow(&findings->alloc, (void **)&findings->items, &findings->capacity,
                  findings->count + 1, sizeof *findings->items) ||
        !mpl_grow(&findings->alloc, (void **)&findings->before, &findings->before_capacity,
                  findings->count + 1, sizeof *findings->before)) {
        findings->no_memory = true;
        return NULL;
    }
    moonplan_finding *item = &findings->items[findings->count];
    memset(item, 0, sizeof *item);
    item->at.bytes = mpl_arena_copy(&findings->arena, at, at_length);
    item->at.length = at_length;
    item->message.bytes = mpl_arena_copy(&findings->arena, findings->scratch.message, length);
    item->message.length = length;
    if (!item->at.bytes || !item->message.bytes) {
        findings->no_memory = true;
        return NULL;
    }
    findings->count++;
    return item;
}

void mpl_findings_append(mpl_findings *findings, const char *text) {
    char *message = findings->scratch.message;
    size_t length = strlen(message), more = strlen(text);
    if (more < sizeof findings->scratch.message - length) memcpy(message + length, text, more + 1);
}

void mpl_findings_add(mpl_findings *findings, moonplan_finding_code code, size_t step,
                      moonplan_text call, const char *at) {
    moonplan_finding *item = add(findings, at);
    if (!item) return;
    item->code = code;
    item->severity = infos[code].severity;
    item->step = step;
    if (findings->known[code]) {
        bool again = findings->last_step[code] == step;
        size_t *last = &findings->loose[item->severity][again ? MPL_AGAIN : MPL_ELSEWHERE];
        findings->before[findings->count - 1] = *last;
        *last = findings->count;
    }
    findings->known[code] = true;
    findings->last_step[code] = step;
    findings->kept[item->severity]++;
    if (!call.length) return;
    item->call.bytes = mpl_arena_copy(&findings->arena, call.bytes, call.length);
    item->call.length = call.length;
    if (!item->call.bytes) findings->no_memory = true;
}

/* The gravest first, then by step; what concerns the plan as a whole behind the steps. */
static bool before(const moonplan_finding *a, const moonplan_finding *b) {
    if (a->severity != b->severity) return a->severity > b->severity;
    return a->step - 1 < b->step - 1;
}

/* Merge sort, for equals must keep their order; `spare` has room for all. */
static void sort(moonplan_finding *items, moonplan_finding *spare, size_t count) {
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            size_t middle = low + width < count ? low + width : count;
            size_t high = low + 2 * width < count ? low + 2 * width : count;
            size_t left = low, right = middle;
            for (size_t i = low; i < high; i++) {
                bool take_right =
                    left == middle || (right < high && before(&items[right], &items[left]));
                spare[i] = items[take_right ? right++ : left++];
            }
        }
        memcpy(items, spare, count * sizeof *items);
    }
}

static void close_up(mpl_findings *findings) {
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity) findings->items[count++] = findings->items[i];
    findings->count = count;
    memset(findings->loose, 0, sizeof findings->loose);
}

bool mpl_findings_finish(mpl_findings *findings) {
    close_up(findings);
    for (moonplan_severity severity = MOONPLAN_INFO; severity <= MOONPLAN_DANGER; severity++) {
        uint64_t kept = findings->kept[severity];
        if (findings->total[severity] <= kept || findings->no_memory) continue;
        uint64_t more = findings->total[severity] - kept;
        mpl_error_set(&findings->scratch, MOONPLAN_OK, MOONPLAN_NO_OFFSET, NULL,
                      "%u more finding%s of severity %s %s not listed; the limit findings is %u",
                      more, more == 1 ? "" : "s", moonplan_severity_name(severity),
                      more == 1 ? "is" : "are", findings->most);
        moonplan_finding *rest = add(findings, "");
        if (!rest) break;
        rest->code = MOONPLAN_FINDING_REVIEW_REST;
        rest->severity = severity;
    }
    if (findings->no_memory) return false;
    if (findings->count < 2) return true;
    size_t size = findings->count * sizeof *findings->items;
    moonplan_finding *spare = mpl_allocate(&findings->alloc, size);
    if (!spare) {
        findings->no_memory = true;
        return false;
    }
    sort(findings->items, spare, findings->count);
    mpl_release(&findings->alloc, spare, size);
    return true;
}

/* -- Judging by ----------------------------------------------------------------*/

static mpl_uint256 largest(unsigned bits) {
    mpl_uint256 number = mpl_uint256_power(bits);
    mpl_uint256_add(&number, mpl_uint256_negate(mpl_uint256_of(1)));
    return number;
}

bool mpl_is_unlimited(mpl_uint256 amount) {
    return mpl_uint256_order(amount, largest(128)) >= 0 ||
           mpl_uint256_order(amount, largest(112)) == 0 ||
           mpl_uint256_order(amount, largest(96)) == 0;
}

/* The last second of the year 9999. */
#define LAST_SHOWN 253402300799u
#define YEAR_2100  4102444800u
#define FAR_DAYS   90u
#define DAY        86400u

static size_t digits(char *out, uint64_t number, size_t width) {
    for (size_t i = width; i-- > 0; number /= 10) out[i] = (char)('0' + number % 10);
    return width;
}

size_t mpl_time_text(char out[MPL_TIME_TEXT], mpl_uint256 seconds) {
    static const char never[] = "never, in effect";
    uint64_t number;
    if (!mpl_uint256_small(seconds, &number) || number > LAST_SHOWN) {
        memcpy(out, never, sizeof never);
        return sizeof never - 1;
    }
    /* Counted from 1 March of the year 0 on, so that the leap day is a year's last and 400 years
     * are always 146097 days. */
    uint64_t days = number / DAY + 719468, rest = number % DAY;
    uint64_t era = days / 146097, of_era = days % 146097;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * of_year + 2) / 153, day = of_year - (153 * month + 2) / 5 + 1;
    month = month < 10 ? month + 3 : month - 9;
    year += era * 400 + (month <= 2);
    size_t at = digits(out, year, 4);
    out[at++] = '-';
    at += digits(out + at, month, 2);
    out[at++] = '-';
    at += digits(out + at, day, 2);
    out[at++] = ' ';
    at += digits(out + at, rest / 3600, 2);
    out[at++] = ':';
    at += digits(out + at, rest / 60 % 60, 2);
    out[at++] = ':';
    at += digits(out + at, rest % 60, 2);
    memcpy(out + at, " UTC", 5);
    return at + 4;
}

bool mpl_is_far(mpl_uint256 seconds, uint64_t now) {
    uint64_t number;
    if (!mpl_uint256_small(seconds, &number)) return true;
    if (now == 0) return number >= YEAR_2100;
    return number > now && number - now > FAR_DAYS * DAY;
}
