#include "value.h"

#include <sodium.h>
#include <string.h>

#include "text.h"

moonplan_document *mpl_document_new(const mpl_alloc *alloc) {
    mpl_alloc own = *alloc;
    own.used = own.peak = 0;
    moonplan_document *document = mpl_allocate(&own, sizeof *document);
    if (!document) return NULL;
    memset(document, 0, sizeof *document);
    document->alloc = own;
    return document;
}

void moonplan_document_free(moonplan_document *document) {
    if (!document) return;
    mpl_alloc alloc = document->alloc;
    mpl_release(&alloc, document->copy, document->copy_size);
    mpl_release(&alloc, document->nodes, document->node_capacity * sizeof *document->nodes);
    mpl_release(&alloc, document->decoded, document->decoded_capacity);
    mpl_release(&alloc, document->tables, document->table_capacity * sizeof *document->tables);
    mpl_release(&alloc, document, sizeof *document);
}

void mpl_document_clear(moonplan_document *document) {
    document->text = NULL;
    document->text_length = document->node_count = 0;
    document->decoded_length = document->table_length = 0;
}

static void trim(mpl_alloc *alloc, void **block, size_t *capacity, size_t used, size_t item) {
    if (*capacity - used <= used / 16) return;
    if (used == 0) {
        mpl_release(alloc, *block, *capacity * item);
        *block = NULL;
    } else {
        void *moved = mpl_resize(alloc, *block, *capacity * item, used * item);
        if (!moved) return; /* it stays as large as it is */
        *block = moved;
    }
    *capacity = used;
}

void mpl_document_trim(moonplan_document *document) {
    trim(&document->alloc, (void **)&document->nodes, &document->node_capacity,
         document->node_count, sizeof *document->nodes);
    trim(&document->alloc, (void **)&document->tables, &document->table_capacity,
         document->table_length, sizeof *document->tables);
    trim(&document->alloc, (void **)&document->decoded, &document->decoded_capacity,
         document->decoded_length, 1);
}

bool mpl_node_room(moonplan_document *document, size_t more) {
    size_t needed = document->node_count + more;
    return needed <= MPL_NODES_MOST &&
           mpl_grow(&document->alloc, (void **)&document->nodes, &document->node_capacity, needed,
                    sizeof *document->nodes);
}

char *mpl_decoded_add(moonplan_document *document, size_t length) {
    uint32_t stored = (uint32_t)length;
    size_t needed = (sizeof stored + length + 3) / 4 * 4;
    /* Reached only with the limits document_bytes and values near their ceilings. */
    if (document->decoded_length / 4 + 1 > MPL_NODES_MOST ||
        !mpl_grow(&document->alloc, (void **)&document->decoded, &document->decoded_capacity,
                  document->decoded_length + needed, 1))
        return NULL;
    char *place = document->decoded + document->decoded_length;
    memset(place + needed - sizeof stored, 0, sizeof stored);
    memcpy(place, &stored, sizeof stored);
    document->nodes[document->node_count - 1].extra =
        ((uint32_t)(document->decoded_length / 4) + 1) & MPL_NODES_MOST;
    document->decoded_length += needed;
    return place + sizeof stored;
}

/* -- Containers ------------------------------------------------------------*/

static uint64_t hash(const moonplan_document *document, moonplan_text name) {
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t number;
    crypto_shorthash(out, (const unsigned char *)name.bytes, name.length, document->hash_key);
    memcpy(&number, out, sizeof number);
    return number;
}

/* An object's table. An entry is how far behind the object's node the name's node stands; the bits
 * that this leaves free hold a part of the hash, by which nearly every other name is told without
 * being looked at: in a large object that would be two cache misses. */
typedef struct hash_table {
    uint32_t *slots;
    size_t mask;   /* the number of slots, less one */
    size_t object; /* its node */
    unsigned bits; /* of an entry, that are the distance; MPL_NODES_MOST leaves at least four */
} hash_table;

static hash_table hash_table_of(uint32_t *slots, size_t size, size_t object, size_t extent) {
    unsigned bits = 32 - (unsigned)__builtin_clz((unsigned)extent);
    return (hash_table){slots, size - 1, object, bits};
}

static uint32_t entry(const hash_table *table, uint64_t hashed, size_t name) {
    /* The slot comes from the lower half of the hash. */
    return (uint32_t)(hashed >> 32 << table->bits) | (uint32_t)(name - table->object);
}

/* The slot of a name: the one that holds it, or the empty one for it. */
static uint32_t *slot(const moonplan_document *document, const hash_table *table, uint64_t hashed,
                      moonplan_text name) {
    uint32_t wanted = entry(table, hashed, table->object);
    size_t at = (size_t)hashed & table->mask;
    for (;; at = (at + 1) & table->mask) {
        uint32_t *found = &table->slots[at];
        if (!*found) return found;
        uint32_t distance = *found ^ wanted;
        if (!(distance >> table->bits) &&
            mpl_text_equal(name, mpl_content(document, table->object + distance)))
            return found;
    }
}

static size_t table_size(size_t count) {
    size_t size = (size_t)2 * MPL_TABLE_OVER;
    while (size < 2 * count) size *= 2;
    return size;
}

static bool table_add(moonplan_document *document, size_t size, size_t *start) {
    if (!mpl_grow(&document->alloc, (void **)&document->tables, &document->table_capacity,
                  document->table_length + size, sizeof *document->tables))
        return false;
    *start = document->table_length;
    memset(document->tables + *start, 0, size * sizeof *document->tables);
    document->table_length += size;
    return true;
}

/* How many names are hashed before the first of them is placed, so that their slots are on the way
 * from memory together. */
#define AHEAD 32

static bool index_object(moonplan_document *document, size_t node, size_t end, size_t count,
                         size_t *duplicate) {
    if (!document->keyed) {
        if (sodium_init() < 0) return false;
        randombytes_buf(document->hash_key, sizeof document->hash_key);
        document->keyed = true;
    }
    size_t size = table_size(count), start;
    if (!table_add(document, size, &start)) return false;
    hash_table table = hash_table_of(document->tables + start, size, node, end - node);
    for (size_t name = node + 1; name < end;) {
        struct {
            size_t name;
            uint64_t hashed;
        } next[AHEAD];
        size_t known = 0;
        for (; known < AHEAD && name < end; name = mpl_after(document->nodes, name + 1)) {
            uint64_t hashed = hash(document, mpl_content(document, name));
            __builtin_prefetch(&table.slots[(size_t)hashed & table.mask], 1);
            next[known].name = name;
            next[known++].hashed = hashed;
        }
        for (size_t i = 0; i < known; i++) {
            uint32_t *place =
                slot(document, &table, next[i].hashed, mpl_content(document, next[i].name));
            if (*place) {
                *duplicate = next[i].name;
                return false;
            }
            *place = entry(&table, next[i].hashed, next[i].name);
        }
    }
    return mpl_node_add(document, MPL_TABLE, start, count) != NULL;
}

static bool index_array(moonplan_document *document, size_t node, size_t end, size_t count) {
    size_t start = MPL_NO_TABLE;
    if (end - node - 1 != count) {
        if (!table_add(document, count, &start)) return false;
        uint32_t *table = document->tables + start;
        for (size_t child = node + 1; child < end; child = mpl_after(document->nodes, child))
            *table++ = (uint32_t)child;
    }
    return mpl_node_add(document, MPL_TABLE, start, count) != NULL;
}

static bool small_object_distinct(const moonplan_document *document, size_t node, size_t end,
                                  size_t *duplicate) {
    moonplan_text names[MPL_TABLE_OVER];
    size_t count = 0;
    for (size_t name = node + 1; name < end; name = mpl_after(document->nodes, name + 1)) {
        moonplan_text text = mpl_content(document, name);
        for (size_t i = 0; i < count; i++)
            if (mpl_text_equal(names[i], text)) {
                *duplicate = name;
                return false;
            }
        names[count++] = text;
    }
    return true;
}

bool mpl_container_close(moonplan_document *document, size_t node, size_t end_of_text,
                         size_t *duplicate) {
    mpl_node *container = &document->nodes[node];
    size_t end = document->node_count, count = container->extra;
    bool object = container->type == MOONPLAN_OBJECT, fine = true;
    *duplicate = 0;
    container->length = (uint32_t)(end_of_text - container->start);
    container->extra = (uint32_t)(end - node - 1) & MPL_NODES_MOST;
    if (count > MPL_TABLE_OVER) {
        fine = object ? index_object(document, node, end, count, duplicate)
                      : index_array(document, node, end, count);
        if (fine) {
            document->nodes[node].extra++;
            document->nodes[end].extra = document->nodes[node].extra;
        }
    } else if (object && count > 1) {
        fine = small_object_distinct(document, node, end, duplicate);
    }
    return fine;
}

/* -- Pointers --------------------------------------------------------------*/

/* Add the step from a closed container to the child that is `node` or holds it; that child. */
static size_t step_down(mpl_pointer *pointer, const moonplan_document *document, size_t container,
                        size_t node) {
    bool object = document->nodes[container].type == MOONPLAN_OBJECT;
    const mpl_node *table = object ? NULL : mpl_table_of(document, container);
    size_t child = container + 1 + object, index = 0;
    if (table && table->start == MPL_NO_TABLE) {
        index = node - container - 1;
        child = node;
    } else if (table) {
        const uint32_t *children = document->tables + table->start;
        size_t high = table->length;
        while (high - index > 1) {
            size_t middle = index + (high - index) / 2;
            if (children[middle] <= node)
                index = middle;
            else
                high = middle;
        }
        child = children[index];
    } else {
        for (; mpl_after(document->nodes, child) <= node; index++)
            child = mpl_after(document->nodes, child) + object;
    }
    if (object)
        mpl_pointer_name(pointer, mpl_content(document, child - 1));
    else
        mpl_pointer_index(pointer, index);
    return child;
}

void mpl_pointer_of(mpl_pointer *pointer, const moonplan_document *document, size_t node) {
    pointer->length = 0;
    pointer->cut = false;
    for (size_t at = 0; at < node;) at = step_down(pointer, document, at, node);
}

static void pointer_child(mpl_pointer *pointer, const moonplan_document *document, size_t open,
                          size_t child) {
    const mpl_node *container = &document->nodes[open];
    if (container->type == MOONPLAN_OBJECT)
        mpl_pointer_name(pointer, mpl_content(document, child - 1));
    else
        mpl_pointer_index(pointer, container->extra ? container->extra - 1 : 0);
}

/* Deeper ends of a longer chain would be cut off the pointer anyway: a step takes two bytes. */
#define CHAIN_MOST 160

void mpl_pointer_open(mpl_pointer *pointer, const moonplan_document *document, size_t open,
                      size_t child) {
    size_t chain[CHAIN_MOST], depth = 0;
    pointer->length = 0;
    pointer->cut = false;
    if (open == MPL_NO_CHILD) return;
    for (size_t at = open; at != MPL_NO_CHILD; at = mpl_container_outer(document, at)) depth++;
    size_t skip = depth > CHAIN_MOST ? depth - CHAIN_MOST : 0;
    size_t at = open;
    for (size_t i = 0; i < skip; i++) at = mpl_container_outer(document, at);
    size_t kept = depth - skip;
    for (size_t i = kept; i > 0; i--, at = mpl_container_outer(document, at)) chain[i - 1] = at;
    for (size_t i = 0; i + 1 < kept; i++) pointer_child(pointer, document, chain[i], chain[i + 1]);
    if (!skip && child != MPL_NO_CHILD) pointer_child(pointer, document, open, child);
}

moonplan_value mpl_element_at(moonplan_value array, moonplan_text index) {
    moonplan_value none = {array.document, UINT32_MAX};
    if (!mpl_decimal(index) || index.length > 10) return none;
    uint64_t number = 0;
    for (size_t i = 0; i < index.length; i++)
        number = number * 10 + (uint64_t)(index.bytes[i] - '0');
    return number > UINT32_MAX ? none : moonplan_value_element(array, (size_t)number);
}

moonplan_value moonplan_document_at(const moonplan_document *document, const char *pointer,
                                    size_t length) {
    moonplan_value value = moonplan_document_root(document), none = {document, UINT32_MAX};
    const char *at = pointer, *end = pointer + length;
    while (at < end) {
        if (*at++ != '/') return none;
        const char *stop = at;
        while (stop < end && *stop != '/') stop++;
        moonplan_text token = {at, (size_t)(stop - at)};
        if (mpl_type(value) == MOONPLAN_ARRAY) {
            value = mpl_element_at(value, token);
        } else if (mpl_type(value) == MOONPLAN_OBJECT) {
            /* Unescaping shortens, so a member is looked for by comparing as it is walked only
             * where the token has an escape; the rest go through the table. */
            if (!memchr(token.bytes, '~', token.length)) {
                value = moonplan_value_member(value, token.bytes, token.length);
            } else {
                moonplan_walk walk = mpl_walk(value);
                value = none;
                while (value.node == UINT32_MAX && mpl_walk_next(&walk)) {
                    size_t i = 0, j = 0;
                    bool same = true;
                    while (same && i < token.length) {
                        char byte = token.bytes[i++];
                        if (byte == '~') {
                            if (i == token.length ||
                                (token.bytes[i] != '0' && token.bytes[i] != '1'))
                                return none;
                            byte = token.bytes[i++] == '0' ? '~' : '/';
                        }
                        same = j < walk.name.length && walk.name.bytes[j++] == byte;
                    }
                    if (same && j == walk.name.length) value = walk.value;
                }
            }
        } else {
            return none;
        }
        if (value.node == UINT32_MAX) return none;
        at = stop;
    }
    return value;
}

/* -- Access ----------------------------------------------------------------*/

moonplan_value moonplan_document_root(const moonplan_document *document) {
    return mpl_value(document, 0);
}

size_t moonplan_document_memory(const moonplan_document *document, size_t *peak) {
    if (peak) *peak = document->alloc.peak;
    return document->alloc.used;
}

moonplan_type moonplan_value_type(moonplan_value value) {
    return mpl_type(value);
}

moonplan_text moonplan_value_source(moonplan_value value) {
    if (mpl_is_none(value)) return (moonplan_text){NULL, 0};
    const mpl_node *node = mpl_node_of(value);
    return (moonplan_text){value.document->text + node->start, node->length};
}

size_t moonplan_value_offset(moonplan_value value) {
    return mpl_is_none(value) ? MOONPLAN_NO_OFFSET : mpl_node_of(value)->start;
}

moonplan_text moonplan_value_string(moonplan_value value) {
    return mpl_string(value);
}

bool moonplan_value_integer(moonplan_value value, int64_t *out) {
    if (mpl_type(value) != MOONPLAN_INTEGER) return false;
    moonplan_text source = moonplan_value_source(value);
    bool negative = source.bytes[0] == '-'; // NOLINT(*-core.NullDereference): it is a number
    uint64_t number = 0;
    for (size_t i = negative; i < source.length; i++)
        number = number * 10 + (uint64_t)(source.bytes[i] - '0');
    *out = negative ? -(int64_t)(number - 1) - 1 : (int64_t)number;
    return true;
}

size_t moonplan_value_count(moonplan_value value) {
    if (mpl_is_none(value) || !mpl_is_container(mpl_node_of(value))) return 0;
    const mpl_node *table = mpl_table_of(value.document, value.node);
    if (table) return table->length;
    size_t count = 0;
    moonplan_walk walk = mpl_walk(value);
    while (mpl_walk_next(&walk)) count++;
    return count;
}

moonplan_value moonplan_value_element(moonplan_value array, size_t n) {
    moonplan_value none = {array.document, UINT32_MAX};
    if (mpl_type(array) != MOONPLAN_ARRAY) return none;
    const mpl_node *table = mpl_table_of(array.document, array.node);
    if (table) {
        if (n >= table->length) return none;
        if (table->start == MPL_NO_TABLE) return mpl_value(array.document, array.node + 1 + n);
        return mpl_value(array.document, array.document->tables[table->start + n]);
    }
    moonplan_walk walk = mpl_walk(array);
    while (mpl_walk_next(&walk))
        if (n-- == 0) return walk.value;
    return none;
}

moonplan_value moonplan_value_member(moonplan_value object, const char *name, size_t length) {
    moonplan_value none = {object.document, UINT32_MAX};
    moonplan_text wanted = {name, length};
    if (mpl_type(object) != MOONPLAN_OBJECT) return none;
    const mpl_node *table = mpl_table_of(object.document, object.node);
    if (table) {
        const moonplan_document *document = object.document;
        hash_table names = hash_table_of(document->tables + table->start, table_size(table->length),
                                         object.node, table->extra);
        uint32_t found = *slot(document, &names, hash(document, wanted), wanted);
        if (!found) return none;
        return mpl_value(document, object.node + (found & ((1u << names.bits) - 1)) + 1);
    }
    moonplan_walk walk = mpl_walk(object);
    while (mpl_walk_next(&walk))
        if (mpl_text_equal(walk.name, wanted)) return walk.value;
    return none;
}

moonplan_walk moonplan_value_walk(moonplan_value container) {
    return mpl_walk(container);
}

bool moonplan_walk_next(moonplan_walk *walk) {
    return mpl_walk_next(walk);
}

const char *mpl_type_text(moonplan_type type) {
    switch (type) {
    case MOONPLAN_NULL:
        return "null";
    case MOONPLAN_FALSE:
        return "false";
    case MOONPLAN_TRUE:
        return "true";
    case MOONPLAN_INTEGER:
    case MOONPLAN_NUMBER:
        return "a number";
    case MOONPLAN_STRING:
        return "a string";
    case MOONPLAN_ARRAY:
        return "an array";
    case MOONPLAN_OBJECT:
        return "an object";
    default:
        return "nothing";
    }
}
