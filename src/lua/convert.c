#include "convert.h"

#include <lauxlib.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../core/sort.h"
#include "../core/text.h"

_Static_assert(sizeof(lua_Integer) == sizeof(int64_t) && sizeof(lua_Number) == sizeof(double),
               "integers of JSON documents need a Lua with 64-bit numbers");

/* The ceiling of the limit `depth`; what is kept for every open table lives on the C stack. */
#define DEPTH_MOST 1024

static const char mark_name[] = "moonplan.array";

mpl_lua_budget mpl_lua_budget_of(const moonplan_limits *limits) {
    return (mpl_lua_budget){
        .depth = limits->depth, .values = limits->values, .bytes = limits->document_bytes};
}

void mpl_lua_push_mark(lua_State *L) {
    if (luaL_getmetatable(L, mark_name) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    /* Scripts that share a lua_State must not reach each other through the one table that all
     * arrays share. */
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, mark_name);
}

bool mpl_lua_marked(lua_State *L, int index, int mark) {
    if (!lua_getmetatable(L, index)) return false;
    bool marked = lua_rawequal(L, -1, mark);
    lua_pop(L, 1);
    return marked;
}

static uint64_t depth_of(const mpl_lua_budget *budget) {
    return budget->depth < DEPTH_MOST ? budget->depth : DEPTH_MOST;
}

/* -- Numbers ---------------------------------------------------------------*/

/* A double is told from its neighbours by at most 767 significant digits; one more digit stands
 * for all that follow. */
#define DIGITS_MOST 768

/* The double nearest to a literal that is no MOONPLAN_INTEGER; infinite when it is out of range.
 * The literal is rewritten as digits and an exponent, because strtod would look for the locale's
 * decimal point. */
static double read_double(moonplan_text literal) {
    char out[DIGITS_MOST + 32];
    size_t length = 0, first;
    const char *at = literal.bytes, *end = literal.bytes + literal.length;
    if (at < end && *at == '-') out[length++] = *at++;
    first = length;
    int64_t scale = 0, exponent = 0;
    bool fraction = false, rest = false;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        if (fraction) scale--;
        if (*at == '0' && length == first) continue;
        if (length - first < DIGITS_MOST) {
            out[length++] = *at;
        } else {
            scale++;
            rest = rest || *at != '0';
        }
    }
    if (at < end) {
        bool negative = *++at == '-';
        if (*at == '-' || *at == '+') at++;
        for (; at < end; at++)
            if (exponent < 1000000000000) exponent = exponent * 10 + (*at - '0');
        if (negative) exponent = -exponent;
    }
    if (length == first) out[length++] = '0';
    if (rest) {
        out[length++] = '1';
        scale--;
    }
    exponent += scale;
    /* Beyond these the digits, at most 769, have no say. */
    if (exponent > 9999) exponent = 9999;
    if (exponent < -9999) exponent = -9999;
    snprintf(out + length, sizeof out - length, "e%d", (int)exponent);
    return strtod(out, NULL);
}

static bool is_integer_literal(moonplan_text literal) {
    for (size_t i = 0; i < literal.length; i++)
        if (literal.bytes[i] == '.' || literal.bytes[i] == 'e' || literal.bytes[i] == 'E')
            return false;
    return !mpl_text_is(literal, "-0");
}

static bool push_number(lua_State *L, moonplan_value value, moonplan_error *err) {
    moonplan_text literal = moonplan_value_source(value);
    if (is_integer_literal(literal)) {
        mpl_error_at(err, MOONPLAN_JSON_NUMBER, value,
                     "%q is outside Lua's integers, and a float would round it", &literal);
        return false;
    }
    double number = read_double(literal);
    if (isinf(number)) {
        mpl_error_at(err, MOONPLAN_JSON_NUMBER, value,
                     "%q is beyond the largest float; Lua has no number for it", &literal);
        return false;
    }
    lua_pushnumber(L, number);
    return true;
}

/* -- To Lua ----------------------------------------------------------------*/

struct opened {
    uint32_t next, end; /* nodes yet to come */
    lua_Integer index;  /* of the next element; 0 in an object */
};

struct pushing {
    lua_State *L;
    int mark;
    size_t depth;
    mpl_lua_budget *budget;
    moonplan_error *err;
    moonplan_value last; /* looked at */
    struct opened open[DEPTH_MOST];
};

static bool push_string(struct pushing *p, moonplan_value value, moonplan_text content) {
    if (p->budget->text_most && content.length > p->budget->text_most) {
        mpl_error_at(p->err, MOONPLAN_LIMIT, value,
                     "a text of %u bytes, more than the limit string_mib allows: %u",
                     (uint64_t)content.length, p->budget->text_most >> 20);
        return false;
    }
    if (content.length > p->budget->bytes) {
        mpl_error_at(p->err, MOONPLAN_LIMIT, value, "more text than may be copied");
        return false;
    }
    p->budget->bytes -= content.length;
    lua_pushlstring(p->L, content.bytes, content.length);
    return true;
}

static bool push_container(struct pushing *p, moonplan_value value, bool array) {
    if (p->depth >= depth_of(p->budget)) {
        mpl_error_at(p->err, MOONPLAN_JSON_DEPTH, value,
                     "arrays and objects are nested deeper than may be copied: %u",
                     depth_of(p->budget));
        return false;
    }
    luaL_checkstack(p->L, 4, "too many nested values");
    size_t count = moonplan_value_count(value);
    int size = count > INT_MAX ? INT_MAX : (int)count;
    lua_createtable(p->L, array ? size : 0, array ? 0 : size);
    if (array) {
        lua_pushvalue(p->L, p->mark);
        lua_setmetatable(p->L, -2);
    }
    moonplan_walk walk = moonplan_value_walk(value);
    p->open[p->depth++] = (struct opened){walk.next, walk.end, array};
    return true;
}

/* Push a scalar, or a container that is yet empty. */
static bool push_one(struct pushing *p, moonplan_value value) {
    p->last = value;
    if (p->budget->values == 0) {
        if (p->budget->values_name)
            mpl_error_at(p->err, MOONPLAN_LIMIT, value, "more values than the limit %s allows: %u",
                         p->budget->values_name, p->budget->values_limit);
        else
            mpl_error_at(p->err, MOONPLAN_LIMIT, value, "more values than may be copied");
        return false;
    }
    p->budget->values--;
    int64_t integer;
    moonplan_type type = moonplan_value_type(value);
    switch (type) {
    case MOONPLAN_FALSE:
    case MOONPLAN_TRUE:
        lua_pushboolean(p->L, type == MOONPLAN_TRUE);
        return true;
    case MOONPLAN_INTEGER:
        moonplan_value_integer(value, &integer);
        lua_pushinteger(p->L, integer);
        return true;
    case MOONPLAN_NUMBER:
        return push_number(p->L, value, p->err);
    case MOONPLAN_STRING:
        return push_string(p, value, moonplan_value_string(value));
    case MOONPLAN_ARRAY:
    case MOONPLAN_OBJECT:
        return push_container(p, value, type == MOONPLAN_ARRAY);
    default:
        lua_pushlightuserdata(p->L, NULL);
        return true;
    }
}

/* Push the next part of the innermost open container, its name first. */
static bool push_part(struct pushing *p, const moonplan_document *document) {
    struct opened *top = &p->open[p->depth - 1];
    uint32_t node = top->next + (top->index == 0);
    moonplan_value value = mpl_value(document, node);
    p->last = value;
    if (top->index == 0 && !push_string(p, value, mpl_content(document, top->next))) return false;
    top->next = (uint32_t)mpl_after(document->nodes, node);
    return push_one(p, value);
}

/* Where a value stands, seen from one that it is a part of. */
static void tell_place(moonplan_error *err, moonplan_value from, moonplan_value to) {
    mpl_pointer pointer = {.length = 0};
    while (from.node < to.node) {
        moonplan_walk walk = moonplan_value_walk(from);
        moonplan_value found = to;
        moonplan_text name = {NULL, 0};
        size_t count = 0;
        for (; moonplan_walk_next(&walk) && walk.value.node <= to.node; count++) {
            found = walk.value;
            name = walk.name;
        }
        if (moonplan_value_type(from) == MOONPLAN_OBJECT)
            mpl_pointer_name(&pointer, name);
        else
            mpl_pointer_index(&pointer, count - 1);
        from = found;
    }
    memcpy(err->at, pointer.bytes, pointer.length);
    err->at[pointer.length] = 0;
    err->at_length = pointer.length;
}

bool mpl_lua_push(lua_State *L, moonplan_value value, mpl_lua_budget *budget, moonplan_error *err) {
    struct pushing p; /* its `open` is filled as far as `depth` says */
    luaL_checkstack(L, 6, "too many nested values");
    p.L = L;
    p.mark = lua_gettop(L) + 1;
    p.depth = 0;
    p.budget = budget;
    p.err = err;
    mpl_lua_push_mark(L);
    size_t outside = 0; /* open containers when the value on top was begun */
    bool fine = push_one(&p, value);
    while (fine && p.depth > 0) {
        if (p.depth == outside) {
            struct opened *top = &p.open[p.depth - 1];
            if (top->index)
                lua_rawseti(L, -2, top->index++);
            else
                lua_rawset(L, -3);
        }
        struct opened *top = &p.open[p.depth - 1];
        if (top->next < top->end) {
            outside = p.depth;
            fine = push_part(&p, value.document);
        } else {
            outside = --p.depth;
        }
    }
    if (!fine && budget->from_value) tell_place(err, value, p.last);
    if (fine)
        lua_replace(L, p.mark);
    else
        lua_settop(L, p.mark - 1);
    return fine;
}

/* -- From Lua --------------------------------------------------------------*/

#define NO_ARRAY (-1)

/* Members are handed over in the order of their names, because the order of lua_next depends on a
 * seed that every state draws for itself, and equal tables are to give equal documents. Up to so
 * many names are sorted on Lua's own stack. */
#define NAMES_ON_STACK 32

/* The names of a large table: places in a list of them, sorted. */
struct name {
    moonplan_text text;
    lua_Integer place;
};

struct walked {
    lua_Integer next, length; /* elements handed over, elements; of an object NO_ARRAY */
    int table;                /* where it stands on the stack */
    /* Of an object. The names stand above it on the stack, the next one on top; or, with `sorted`,
     * the list of them, `sorted` itself, and the current name. */
    int key;  /* where the current name stands; 0: there is none yet */
    int left; /* names to come */
    struct name *sorted;
};

struct building {
    lua_State *L;
    mpl_builder *builder;
    mpl_lua_budget *budget;
    const mpl_pointer *place;
    moonplan_error *err;
    int mark;
    size_t depth, text_most;
    struct walked open[DEPTH_MOST];
};

static moonplan_text text_at(lua_State *L, int index) {
    moonplan_text text;
    text.bytes = lua_tolstring(L, index, &text.length);
    return text;
}

/* The place of what the open tables down to `depth` are at. */
static mpl_pointer pointer_to(const struct building *b, size_t depth) {
    mpl_pointer pointer = {0, false, ""};
    if (b->place) pointer = *b->place;
    for (size_t i = 0; i < depth; i++) {
        const struct walked *at = &b->open[i];
        if (at->length == NO_ARRAY)
            mpl_pointer_name(&pointer, text_at(b->L, at->key));
        else
            mpl_pointer_index(&pointer, (size_t)at->next - 1);
    }
    return pointer;
}

#define REFUSE_AT(b, depth_, code, ...)                                                            \
    do {                                                                                           \
        mpl_pointer pointer_ = pointer_to(b, depth_);                                              \
        mpl_error_set((b)->err, code, MOONPLAN_NO_OFFSET, &pointer_, __VA_ARGS__);                 \
    } while (0)
#define REFUSE(b, code, ...) REFUSE_AT(b, (b)->depth, code, __VA_ARGS__)

/* A table that holds itself runs into one of the limits, whichever comes first, so that only then
 * anybody has to look for it. `candidate` is the table that was about to be opened, or 0. */
static bool refuse_cycle(struct building *b, int candidate) {
    for (size_t i = 1; i < b->depth + (candidate != 0); i++) {
        int table = i < b->depth ? b->open[i].table : candidate;
        for (size_t j = 0; j < i; j++) {
            if (!lua_rawequal(b->L, table, b->open[j].table)) continue;
            mpl_pointer first = pointer_to(b, j);
            moonplan_text name = {first.bytes, first.length};
            REFUSE_AT(b, i, MOONPLAN_JSON_VALUE, "the table at %q again, inside itself", &name);
            return true;
        }
    }
    return false;
}

static bool refuse_values(struct building *b, int candidate) {
    const mpl_lua_budget *budget = b->budget;
    if (refuse_cycle(b, candidate)) return false;
    if (budget->values_name)
        REFUSE(b, MOONPLAN_LIMIT, "more values than the limit %s allows: %u", budget->values_name,
               budget->values_limit);
    else
        REFUSE(b, MOONPLAN_LIMIT, "more values than the limit values allows");
    return false;
}

/* Position of the first byte that is not UTF-8, from 1; 0: there is none. */
static size_t not_utf8(moonplan_text text) {
    const char *at = text.bytes, *end = at + text.length;
    while (at < end) {
        size_t step = (unsigned char)*at < 0x80 ? 1 : mpl_utf8(at, end, NULL);
        if (step == 0) return (size_t)(at - text.bytes) + 1;
        at += step;
    }
    return 0;
}

/* Asked before a text is copied, which may be as long as memory allows. */
static bool fits(const struct building *b, moonplan_text text) {
    size_t written = b->builder->text.length;
    return written <= b->text_most && text.length <= b->text_most - written;
}

static void refuse_bytes(struct building *b, size_t depth) {
    b->budget->bytes_spent = true;
    REFUSE_AT(b, depth, MOONPLAN_LIMIT, "more text than the limit %s allows",
              b->budget->bytes_name ? b->budget->bytes_name : "document_bytes");
}

static bool build_string(struct building *b, moonplan_text text) {
    if (!fits(b, text)) {
        refuse_bytes(b, b->depth);
        return false;
    }
    size_t bad = not_utf8(text);
    if (bad) {
        REFUSE(b, MOONPLAN_JSON_UTF8, "byte %u of the string, %x, is not UTF-8", (uint64_t)bad,
               (unsigned)(unsigned char)text.bytes[bad - 1]);
        return false;
    }
    mpl_build_string(b->builder, text);
    return true;
}

static bool build_number(struct building *b) {
    if (lua_isinteger(b->L, -1)) {
        mpl_build_integer(b->builder, lua_tointeger(b->L, -1));
        return true;
    }
    double number = lua_tonumber(b->L, -1);
    if (!isfinite(number)) {
        REFUSE(b, MOONPLAN_JSON_VALUE, "%s; JSON's numbers are finite",
               isnan(number) ? "not a number (NaN)" : "an infinite number");
        return false;
    }
    mpl_build_double(b->builder, number);
    return true;
}

static bool refuse_key(struct building *b, const char *what) {
    REFUSE(b, MOONPLAN_JSON_VALUE, "%s as a key; objects have names, and arrays positions from 1",
           what);
    return false;
}

/* One key of a table, which is on top of the stack. */
static bool look_at_key(struct building *b, lua_Integer *largest, bool *named) {
    lua_State *L = b->L;
    if (lua_type(L, -1) == LUA_TSTRING) {
        *named = true;
    } else if (lua_isinteger(L, -1)) {
        lua_Integer key = lua_tointeger(L, -1);
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)key);
        if (key < 1) return refuse_key(b, text);
        if (key > *largest) *largest = key;
    } else {
        return refuse_key(b, lua_type(L, -1) == LUA_TNUMBER    ? "a fraction"
                             : lua_type(L, -1) == LUA_TBOOLEAN ? "a boolean"
                             : lua_type(L, -1) == LUA_TTABLE   ? "a table"
                                                               : "a Lua object");
    }
    if (*named && *largest) {
        REFUSE(b, MOONPLAN_JSON_VALUE,
               "names and positions in one table; JSON has objects and arrays");
        return false;
    }
    return true;
}

/* Whether the table on top of the stack is an array, and its length, else NO_ARRAY; and how many
 * members it has. False when it is neither an array nor an object. */
static bool look_at_table(struct building *b, lua_Integer *length, lua_Integer *members) {
    lua_State *L = b->L;
    int table = lua_gettop(L);
    bool marked = mpl_lua_marked(L, table, b->mark), named = false;
    lua_Integer count = 0, largest = 0;
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pop(L, 1);
        /* Every part costs a value, so there is no need to look at more of them than that. */
        if ((uint64_t)count == b->budget->values) {
            lua_settop(L, table);
            return refuse_values(b, table);
        }
        count++;
        if (!look_at_key(b, &largest, &named)) return false;
        if (named && marked) {
            moonplan_text name = text_at(L, -1);
            REFUSE(b, MOONPLAN_JSON_VALUE, "an array with the name %q; JSON's have positions only",
                   &name);
            return false;
        }
    }
    if (largest != count && !named) {
        lua_Integer hole = 1;
        while (lua_rawgeti(L, table, hole) != LUA_TNIL) {
            lua_pop(L, 1);
            hole++;
        }
        REFUSE(b, MOONPLAN_JSON_VALUE, "an array with a hole: position %u of %u is nil",
               (uint64_t)hole, (uint64_t)largest);
        return false;
    }
    *length = marked || largest > 0 ? largest : NO_ARRAY;
    *members = count;
    return true;
}

/* -- Names in order --------------------------------------------------------*/

/* The names of the table, which is on top of the stack, go above it, the largest first. */
static int sort_on_stack(lua_State *L, int table, lua_Integer count) {
    int made = 0;
    luaL_checkstack(L, (int)count + 4, "too many nested tables");
    lua_pushnil(L);
    /* A finalizer that runs meanwhile might add to the table; no more than was counted is taken. */
    while (made < count && lua_next(L, table)) {
        lua_pop(L, 1);
        int at = table + made + 1;
        while (at > table + 1 && mpl_text_order(text_at(L, at - 1), text_at(L, -1)) < 0) at--;
        lua_pushvalue(L, -1);
        lua_insert(L, at);
        made++;
    }
    lua_settop(L, table + made);
    return made;
}

static bool name_before(const void *a, const void *b, const void *context) {
    (void)context;
    return mpl_text_order(((const struct name *)a)->text, ((const struct name *)b)->text) < 0;
}

/* A list of the names, and their order in a userdata. */
static struct name *sort_beside(lua_State *L, int table, lua_Integer count, int *made) {
    lua_Integer n = 0;
    lua_createtable(L, count > INT_MAX ? INT_MAX : (int)count, 0);
    struct name *names = lua_newuserdatauv(L, (size_t)count * sizeof *names, 0);
    lua_pushnil(L);
    while (n < count && lua_next(L, table)) {
        lua_pop(L, 1);
        names[n].text = text_at(L, -1);
        names[n].place = n + 1;
        lua_pushvalue(L, -1);
        lua_rawseti(L, table + 1, ++n);
    }
    lua_settop(L, table + 2);
    mpl_sort(names, (size_t)n, sizeof *names, name_before, NULL);
    *made = n > INT_MAX ? INT_MAX : (int)n;
    return names;
}

static struct walked open_object(lua_State *L, int table, lua_Integer count) {
    struct walked object = {.length = NO_ARRAY, .table = table};
    if (count <= NAMES_ON_STACK)
        object.left = sort_on_stack(L, table, count);
    else
        object.sorted = sort_beside(L, table, count, &object.left);
    return object;
}

/* Push the next name of the innermost table, or leave it on top, and say where it is; false behind
 * the last. */
static bool next_name(lua_State *L, struct walked *object) {
    if (object->key) lua_settop(L, object->key - 1);
    object->key = 0;
    if (object->left == 0) return false;
    object->left--;
    if (object->sorted) lua_rawgeti(L, object->table + 1, object->sorted[object->next++].place);
    object->key = lua_gettop(L);
    return true;
}

/* Open the table on top of the stack. */
static bool build_table(struct building *b) {
    int table = lua_gettop(b->L);
    if (b->depth >= depth_of(b->budget)) {
        if (!refuse_cycle(b, table))
            REFUSE(b, MOONPLAN_JSON_DEPTH,
                   "tables are nested deeper than the limit depth allows: %u",
                   b->budget->depth_limit ? b->budget->depth_limit : depth_of(b->budget));
        return false;
    }
    luaL_checkstack(b->L, 4, "too many nested tables");
    lua_Integer length = NO_ARRAY, members = 0;
    if (!look_at_table(b, &length, &members)) return false;
    struct walked *opened = &b->open[b->depth];
    if (length == NO_ARRAY) {
        mpl_build_object(b->builder);
        *opened = open_object(b->L, table, members);
    } else {
        mpl_build_array(b->builder);
        *opened = (struct walked){.length = length, .table = table};
    }
    b->depth++;
    return true;
}

/* Append the value on top of the stack, and take it off unless it is a table. */
static bool build_one(struct building *b) {
    lua_State *L = b->L;
    int type = lua_type(L, -1);
    if (b->budget->values == 0) return refuse_values(b, type == LUA_TTABLE ? lua_gettop(L) : 0);
    b->budget->values--;
    bool fine = true;
    switch (type) {
    case LUA_TTABLE:
        return build_table(b);
    case LUA_TNIL:
        mpl_build_null(b->builder);
        break;
    case LUA_TBOOLEAN:
        mpl_build_boolean(b->builder, lua_toboolean(L, -1));
        break;
    case LUA_TNUMBER:
        fine = build_number(b);
        break;
    case LUA_TSTRING:
        fine = build_string(b, text_at(L, -1));
        break;
    default:
        if (type == LUA_TLIGHTUSERDATA && !lua_touserdata(L, -1)) {
            mpl_build_null(b->builder);
            break;
        }
        REFUSE(b, MOONPLAN_JSON_VALUE, "a %s; JSON has no such value", lua_typename(L, type));
        return false;
    }
    if (fine) lua_pop(L, 1);
    return fine;
}

/* Push the next value of the innermost open table, its name written first; false when there is
 * none, or with *fine false. */
static bool next_part(struct building *b, bool *fine) {
    struct walked *top = &b->open[b->depth - 1];
    if (top->length != NO_ARRAY) {
        if (top->next == top->length) return false;
        lua_rawgeti(b->L, top->table, ++top->next);
        return true;
    }
    if (!next_name(b->L, top)) return false;
    moonplan_text name = text_at(b->L, -1);
    if (!fits(b, name)) {
        refuse_bytes(b, b->depth - 1);
        *fine = false;
        return false;
    }
    size_t bad = not_utf8(name);
    if (bad) {
        REFUSE_AT(b, b->depth - 1, MOONPLAN_JSON_UTF8, "byte %u of the name %q is not UTF-8",
                  (uint64_t)bad, &name);
        *fine = false;
        return false;
    }
    mpl_build_name(b->builder, name);
    lua_pushvalue(b->L, -1);
    lua_rawget(b->L, top->table);
    return true;
}

bool mpl_lua_build(lua_State *L, int index, mpl_builder *builder, mpl_lua_budget *budget,
                   const mpl_pointer *place, moonplan_error *err) {
    struct building b; /* its `open` is filled as far as `depth` says */
    int top = lua_gettop(L);
    size_t begin = builder->text.length;
    luaL_checkstack(L, 6, "too many nested tables");
    index = lua_absindex(L, index);
    mpl_lua_push_mark(L);
    b.L = L;
    b.builder = builder;
    b.budget = budget;
    b.place = place;
    b.err = err;
    b.mark = lua_gettop(L);
    b.depth = 0;
    b.text_most = budget->bytes < SIZE_MAX - begin ? begin + (size_t)budget->bytes : SIZE_MAX;
    lua_pushvalue(L, index);
    bool fine = build_one(&b);
    while (fine && b.depth > 0 && builder->error.code == MOONPLAN_OK) {
        if (builder->text.length > b.text_most) {
            if (!refuse_cycle(&b, 0)) refuse_bytes(&b, b.depth - 1);
            fine = false;
        } else if (next_part(&b, &fine)) {
            fine = build_one(&b);
        } else if (fine) {
            mpl_build_end(builder);
            lua_settop(L, b.open[--b.depth].table - 1);
        }
    }
    if (fine && builder->text.length > b.text_most) {
        refuse_bytes(&b, 0);
        fine = false;
    }
    if (fine) budget->bytes -= builder->text.length - begin;
    lua_settop(L, top);
    return fine;
}
