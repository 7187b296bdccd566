/* Lua's patterns (reference manual, section 6.4.1), matched in a bounded number of steps.
 *
 * Matching backtracks, so a short pattern can take exponential time; the steps end that. It
 * recurses as deep as Lua's own matcher does and no deeper, so that the same patterns are too
 * complex, and what is known of one attempt is gone when it ends, also by an error. */
#include <string.h>

#include "bounded.h"

#define ESCAPE        '%'
#define MOST_DEPTH    200
#define MOST_CAPTURES 32

typedef enum extent { CLOSED, OPEN, POSITION } extent;

typedef struct capture {
    const char *at;
    size_t length; /* when closed */
    extent extent;
} capture;

typedef struct matcher {
    mpl_work work;
    const char *text, *text_end;
    const char *pattern_end; /* a zero byte stands there, and at text_end */
    int depth;
    int count;
    capture captures[MOST_CAPTURES];
} matcher;

static const char *match(matcher *m, const char *text, const char *pattern);

/* -- One character ---------------------------------------------------------*/

static bool lower(unsigned char c) {
    return c >= 'a' && c <= 'z';
}
static bool upper(unsigned char c) {
    return c >= 'A' && c <= 'Z';
}
static bool digit(unsigned char c) {
    return c >= '0' && c <= '9';
}
static bool graphic(unsigned char c) {
    return c > ' ' && c < 0x7f;
}
static bool alphanumeric(unsigned char c) {
    return lower(c) || upper(c) || digit(c);
}

/* Whether c is in the class that %`name` stands for; a name that is none stands for itself. */
static bool in_named_class(unsigned char c, unsigned char name) {
    bool in;
    switch (upper(name) ? name + ('a' - 'A') : name) {
    case 'a':
        in = lower(c) || upper(c);
        break;
    case 'c':
        in = c < ' ' || c == 0x7f;
        break;
    case 'd':
        in = digit(c);
        break;
    case 'g':
        in = graphic(c);
        break;
    case 'l':
        in = lower(c);
        break;
    case 'p':
        in = graphic(c) && !alphanumeric(c);
        break;
    case 's':
        in = c == ' ' || (c >= '\t' && c <= '\r');
        break;
    case 'u':
        in = upper(c);
        break;
    case 'w':
        in = alphanumeric(c);
        break;
    case 'x':
        in = digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        break;
    case 'z': /* of Lua 5.1, which had no other way to say it */
        in = c == 0;
        break;
    default:
        return c == name;
    }
    return upper(name) ? !in : in;
}

/* The end of the single-character class that begins at `at`. */
static const char *end_of_class(matcher *m, const char *at) {
    const char *start = at;
    char first = *at++;
    if (first == ESCAPE) {
        if (at == m->pattern_end) luaL_error(m->work.L, "malformed pattern (ends with '%%')");
        return at + 1;
    }
    if (first != '[') return at;
    if (*at == '^') at++;
    bool leading = true; /* a bracket that comes first is one of the set */
    while (leading || *at != ']') {
        if (at == m->pattern_end) luaL_error(m->work.L, "malformed pattern (missing ']')");
        leading = false;
        if (*at++ == ESCAPE && at < m->pattern_end) at++;
    }
    mpl_work_do(&m->work, (uint64_t)(at - start));
    return at + 1;
}

/* Whether c is in the set from its [ to its ], where `end` points. */
static bool in_set(matcher *m, unsigned char c, const char *at, const char *end) {
    const char *start = at++;
    bool found = false, complement = *at == '^';
    if (complement) at++;
    for (; at < end && !found; at++) {
        if (*at == ESCAPE) {
            at++;
            found = in_named_class(c, (unsigned char)*at);
        } else if (at[1] == '-' && at + 2 < end) {
            found = (unsigned char)*at <= c && c <= (unsigned char)at[2];
            at += 2;
        } else {
            found = (unsigned char)*at == c;
        }
    }
    mpl_work_do(&m->work, (uint64_t)(at - start));
    return found != complement;
}

/* Whether there is a character at `text`, and it is in the class from `class` to `end`. */
static bool matches(matcher *m, const char *text, const char *class, const char *end) {
    mpl_work_do(&m->work, 1);
    if (text == m->text_end) return false;
    unsigned char c = (unsigned char)*text;
    switch (*class) {
    case '.':
        return true;
    case ESCAPE:
        return in_named_class(c, (unsigned char)class[1]);
    case '[':
        return in_set(m, c, class, end - 1);
    default:
        return (unsigned char)*class == c;
    }
}

/* -- Items -----------------------------------------------------------------*/

/* class* and class+: as many as there are, and then fewer. */
static const char *match_most(matcher *m, const char *text, const char *class, const char *end) {
    const char *at = text;
    while (matches(m, at, class, end)) at++;
    for (;; at--) {
        const char *rest = match(m, at, end + 1);
        if (rest || at == text) return rest;
    }
}

/* class-: as few as will do. */
static const char *match_least(matcher *m, const char *text, const char *class, const char *end) {
    for (;; text++) {
        const char *rest = match(m, text, end + 1);
        if (rest) return rest;
        if (!matches(m, text, class, end)) return NULL;
    }
}

/* %bxy, from the x on. */
static const char *match_balanced(matcher *m, const char *text, const char *pair) {
    if (m->pattern_end - pair < 2)
        luaL_error(m->work.L, "malformed pattern (missing arguments to '%%b')");
    if (*text != pair[0]) return NULL;
    size_t open = 1;
    for (text++; text < m->text_end; text++) {
        mpl_work_do(&m->work, 1);
        if (*text == pair[1]) {
            if (--open == 0) return text + 1;
        } else if (*text == pair[0]) {
            open++;
        }
    }
    return NULL;
}

/* %f[set], from the [ on: whether the set begins at `text`; *end is the item's. */
static bool at_frontier(matcher *m, const char *text, const char *set, const char **end) {
    if (*set != '[') luaL_error(m->work.L, "missing '[' after '%%f' in pattern");
    *end = end_of_class(m, set);
    unsigned char before = text == m->text ? 0 : (unsigned char)text[-1];
    return !in_set(m, before, set, *end - 1) && in_set(m, (unsigned char)*text, set, *end - 1);
}

/* %1 to %9 */
static const char *match_again(matcher *m, const char *text, char number) {
    int n = number - '1';
    if (n < 0 || n >= m->count || m->captures[n].extent == OPEN)
        luaL_error(m->work.L, "invalid capture index %%%d", n + 1);
    const capture *was = &m->captures[n];
    if (was->extent == POSITION || (size_t)(m->text_end - text) < was->length) return NULL;
    mpl_work_do(&m->work, was->length / 8 + 1);
    return memcmp(was->at, text, was->length) == 0 ? text + was->length : NULL;
}

static const char *open_capture(matcher *m, const char *text, const char *pattern, extent kind) {
    if (m->count == MOST_CAPTURES) luaL_error(m->work.L, "too many captures");
    m->captures[m->count++] = (capture){text, 0, kind};
    const char *rest = match(m, text, pattern);
    if (!rest) m->count--;
    return rest;
}

static const char *close_capture(matcher *m, const char *text, const char *pattern) {
    int n = m->count - 1;
    while (n >= 0 && m->captures[n].extent != OPEN) n--;
    if (n < 0) luaL_error(m->work.L, "invalid pattern capture");
    m->captures[n].extent = CLOSED;
    m->captures[n].length = (size_t)(text - m->captures[n].at);
    const char *rest = match(m, text, pattern);
    if (!rest) m->captures[n].extent = OPEN;
    return rest;
}

/* The end of what the pattern matches from `text` on, or NULL. */
static const char *match(matcher *m, const char *text, const char *pattern) {
    if (++m->depth > MOST_DEPTH) luaL_error(m->work.L, "pattern too complex");
    mpl_work_do(&m->work, 1);
    while (text && pattern != m->pattern_end) {
        const char *end;
        if (*pattern == '(') {
            bool position = pattern[1] == ')';
            text = open_capture(m, text, pattern + (position ? 2 : 1), position ? POSITION : OPEN);
            break;
        }
        if (*pattern == ')') {
            text = close_capture(m, text, pattern + 1);
            break;
        }
        if (*pattern == '$' && pattern + 1 == m->pattern_end) {
            if (text != m->text_end) text = NULL;
            break;
        }
        if (*pattern == ESCAPE && pattern[1] == 'b') {
            text = match_balanced(m, text, pattern + 2);
            pattern += 4;
            continue;
        }
        if (*pattern == ESCAPE && pattern[1] == 'f') {
            if (!at_frontier(m, text, pattern + 2, &end)) text = NULL;
            pattern = end;
            continue;
        }
        if (*pattern == ESCAPE && digit((unsigned char)pattern[1])) {
            text = match_again(m, text, pattern[1]);
            pattern += 2;
            continue;
        }
        end = end_of_class(m, pattern);
        if (!matches(m, text, pattern, end)) {
            if (*end != '*' && *end != '?' && *end != '-') text = NULL;
            pattern = end + 1; /* none of it, without going deeper */
            continue;
        }
        if (*end == '*' || *end == '+') {
            text = match_most(m, text + (*end == '+'), pattern, end);
            break;
        }
        if (*end == '-') {
            text = match_least(m, text, pattern, end);
            break;
        }
        if (*end == '?') {
            const char *rest = match(m, text + 1, end + 1);
            if (rest) {
                text = rest;
                break;
            }
            pattern = end + 1;
            continue;
        }
        text++;
        pattern = end;
    }
    m->depth--;
    return text;
}

static const char *begin_match(matcher *m, const char *text, const char *pattern) {
    m->depth = 0;
    m->count = 0;
    return match(m, text, pattern);
}

static void open_matcher(matcher *m, lua_State *L, const char *text, size_t length,
                         const char *pattern, size_t pattern_length) {
    m->work = mpl_work_begin(L);
    m->text = text;
    m->text_end = text + length;
    m->pattern_end = pattern + pattern_length;
    m->depth = m->count = 0;
}

/* -- What was captured -----------------------------------------------------*/

/* Push the n-th capture, from 0; the whole match, when there are none, is the first. */
static void push_capture(matcher *m, int n, const char *text, const char *end) {
    if (n >= m->count) {
        if (n != 0) luaL_error(m->work.L, "invalid capture index %%%d", n + 1);
        lua_pushlstring(m->work.L, text, (size_t)(end - text));
        return;
    }
    const capture *c = &m->captures[n];
    if (c->extent == OPEN) luaL_error(m->work.L, "unfinished capture");
    if (c->extent == POSITION)
        lua_pushinteger(m->work.L, c->at - m->text + 1);
    else
        lua_pushlstring(m->work.L, c->at, c->length);
    mpl_work_do(&m->work, (c->extent == CLOSED ? c->length / 16 : 0) + 1);
}

/* Push all captures, or, when there are none and `text` is not NULL, the whole match. */
static int push_captures(matcher *m, const char *text, const char *end) {
    int count = m->count == 0 && text ? 1 : m->count;
    luaL_checkstack(m->work.L, count, "too many captures");
    for (int n = 0; n < count; n++) push_capture(m, n, text, end);
    return count;
}

/* -- find, match, gmatch ---------------------------------------------------*/

static bool is_plain(const char *pattern, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (pattern[i] && strchr("^$*+?.([%-", pattern[i])) return false;
    return true;
}

static int find_or_match(lua_State *L, bool find) {
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *pattern = luaL_checklstring(L, 2, &pattern_length);
    size_t start = mpl_start_position(luaL_optinteger(L, 3, 1), length);
    if (start > length) {
        lua_pushnil(L);
        return 1;
    }
    matcher m;
    open_matcher(&m, L, text, length, pattern, pattern_length);
    if (find) mpl_work_do(&m.work, pattern_length / 8);
    if (find && (lua_toboolean(L, 4) || is_plain(pattern, pattern_length))) {
        const char *found =
            mpl_search(&m.work, text + start, length - start, pattern, pattern_length);
        if (!found) {
            lua_pushnil(L);
            return 1;
        }
        lua_pushinteger(L, found - text + 1);
        lua_pushinteger(L, found - text + (lua_Integer)pattern_length);
        return 2;
    }
    bool anchored = pattern_length > 0 && *pattern == '^';
    for (const char *at = text + start; at <= m.text_end; at++) {
        const char *end = begin_match(&m, at, pattern + anchored);
        if (end && find) {
            lua_pushinteger(L, at - text + 1);
            lua_pushinteger(L, end - text);
            return push_captures(&m, NULL, NULL) + 2;
        }
        if (end) return push_captures(&m, at, end);
        if (anchored) break;
    }
    lua_pushnil(L);
    return 1;
}

static int find(lua_State *L) {
    return find_or_match(L, true);
}
static int match_first(lua_State *L) {
    return find_or_match(L, false);
}

/* Upvalues: the text, the pattern, the offset to go on from, the end of the last match (-1: none).
 */
static int next_match(lua_State *L) {
    size_t length, pattern_length;
    const char *text = lua_tolstring(L, lua_upvalueindex(1), &length);
    const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &pattern_length);
    size_t start = (size_t)lua_tointeger(L, lua_upvalueindex(3));
    lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
    matcher m;
    open_matcher(&m, L, text, length, pattern, pattern_length);
    for (; start <= length; start++) {
        const char *end = begin_match(&m, text + start, pattern);
        if (!end || end - text == last) continue;
        lua_pushinteger(L, end - text);
        lua_copy(L, -1, lua_upvalueindex(3));
        lua_copy(L, -1, lua_upvalueindex(4));
        lua_pop(L, 1);
        return push_captures(&m, text + start, end);
    }
    return 0;
}

static int gmatch(lua_State *L) {
    size_t length;
    luaL_checklstring(L, 1, &length);
    luaL_checkstring(L, 2);
    size_t start = mpl_start_position(luaL_optinteger(L, 3, 1), length);
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer)(start > length ? length + 1 : start));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, next_match, 4);
    return 1;
}

/* -- gsub ------------------------------------------------------------------*/

/* Add the replacement text, with %0 to %9 filled in. */
static void add_text(matcher *m, luaL_Buffer *out, const char *text, const char *end) {
    size_t length;
    const char *from = lua_tolstring(m->work.L, 3, &length);
    const char *stop = from + length;
    mpl_work_do(&m->work, length / 8 + 1);
    for (;;) {
        const char *escape = memchr(from, ESCAPE, (size_t)(stop - from));
        luaL_addlstring(out, from, (size_t)((escape ? escape : stop) - from));
        if (!escape) return;
        char what = escape[1];
        if (what == ESCAPE) {
            luaL_addchar(out, ESCAPE);
        } else if (what == '0') {
            luaL_addlstring(out, text, (size_t)(end - text));
        } else if (digit((unsigned char)what)) {
            push_capture(m, what - '1', text, end);
            luaL_addvalue(out);
        } else {
            luaL_error(m->work.L, "invalid use of '%c' in replacement string", ESCAPE);
        }
        from = escape + 2;
    }
}

/* Add what takes the match's place; false when the match stays. */
static bool add_replacement(matcher *m, luaL_Buffer *out, int kind, const char *text,
                            const char *end) {
    lua_State *L = m->work.L;
    if (kind != LUA_TFUNCTION && kind != LUA_TTABLE) {
        add_text(m, out, text, end);
        return true;
    }
    if (kind == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        int arguments = push_captures(m, text, end);
        mpl_work_call(&m->work, arguments, 1);
    } else {
        mpl_work_do(&m->work, MPL_STEPS_OF_CALL);
        push_capture(m, 0, text, end);
        lua_gettable(L, 3);
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        luaL_addlstring(out, text, (size_t)(end - text));
        return false;
    }
    if (!lua_isstring(L, -1))
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    mpl_work_do(&m->work, lua_rawlen(L, -1) / 16);
    luaL_addvalue(out);
    return true;
}

static int gsub(lua_State *L) {
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *pattern = luaL_checklstring(L, 2, &pattern_length);
    int kind = lua_type(L, 3);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)length + 1), count = 0;
    luaL_argexpected(L,
                     kind == LUA_TNUMBER || kind == LUA_TSTRING || kind == LUA_TFUNCTION ||
                         kind == LUA_TTABLE,
                     3, "string/function/table");
    mpl_sandbox_check_depth(L);
    matcher m;
    open_matcher(&m, L, text, length, pattern, pattern_length);
    bool anchored = pattern_length > 0 && *pattern == '^', changed = false;
    const char *at = text, *last = NULL;
    luaL_Buffer out;
    luaL_buffinit(L, &out);
    while (count < most) {
        const char *end = begin_match(&m, at, pattern + anchored);
        if (end && end != last) {
            count++;
            if (add_replacement(&m, &out, kind, at, end)) changed = true;
            at = last = end;
        } else if (at < m.text_end) {
            luaL_addchar(&out, *at++);
        } else {
            break;
        }
        if (anchored) break;
    }
    if (changed) {
        luaL_addlstring(&out, at, (size_t)(m.text_end - at));
        luaL_pushresult(&out);
    } else {
        lua_pushvalue(L, 1);
    }
    lua_pushinteger(L, count);
    return 2;
}

const luaL_Reg mpl_pattern_functions[] = {
    {"find", find}, {"gmatch", gmatch}, {"gsub", gsub}, {"match", match_first}, {NULL, NULL}};
