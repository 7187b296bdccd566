/* Documents: a text, and a flat index of the values in it.
 *
 * A document is its text plus an array of nodes in document order: a container's node is
 * followed by those of its content, a member's name is a string node before its value. A node is
 * 12 bytes, so that a plan's index is smaller than the plan. */
#ifndef MPL_CORE_VALUE_H
#define MPL_CORE_VALUE_H

#include <string.h>

#include "alloc.h"
#include "error.h"
#include "text.h"

/* Behind the last child of a container with more than MPL_TABLE_OVER children stands one more
 * node of type MPL_TABLE: `length` is the number of children, `extra` the container's own `extra`
 * (its distance from it), `start` the place of its table in `tables`, or MPL_NO_TABLE where the
 * children are scalars in a row and need none. An array's table holds the children's nodes; an
 * object's is an open-addressing hash of the names (0: empty), at least twice as large as the
 * object, a power of two; what an entry holds is said in value.c. */
#define MPL_TABLE      15
#define MPL_TABLE_OVER 16
#define MPL_NO_TABLE   UINT32_MAX

typedef struct mpl_node {
    uint32_t start;  /* where the value's text begins */
    uint32_t length; /* of that text; for an open container, the node that holds it */
    uint32_t type : 4;
    /* a container: the nodes below it (while open: children so far);
     * a string with escapes: where its content stands in `decoded`, in units of four bytes
     * (there a uint32_t length comes first), plus one; 0: no escapes */
    uint32_t extra : 28;
} mpl_node;

struct moonplan_document {
    mpl_alloc alloc;
    const char *text;
    size_t text_length;
    char *copy; /* the text when it is ours, else NULL */
    size_t copy_size;
    mpl_node *nodes;
    size_t node_count, node_capacity;
    char *decoded;
    size_t decoded_length, decoded_capacity;
    uint32_t *tables;
    size_t table_length, table_capacity;
    /* Drawn at random when the first object with a table is met, so that nobody can choose names
     * that collide. It decides how long a look-up takes, never what it finds. */
    uint8_t hash_key[16];
    bool keyed;
};

/* Node numbers fit `extra`, and offsets in units of four fit it too. */
#define MPL_NODES_MOST ((1u << 28) - 1)

static inline moonplan_value mpl_value(const moonplan_document *document, size_t node) {
    return (moonplan_value){document, (uint32_t)node};
}
static inline const mpl_node *mpl_node_of(moonplan_value value) {
    return &value.document->nodes[value.node];
}
static inline bool mpl_is_container(const mpl_node *node) {
    return node->type == MOONPLAN_ARRAY || node->type == MOONPLAN_OBJECT;
}
/* The node behind a value and everything below it. */
static inline size_t mpl_after(const mpl_node *nodes, size_t node) {
    return node + 1 + (mpl_is_container(&nodes[node]) ? nodes[node].extra : 0);
}

/* -- What moonplan_value_ and moonplan_walk_ functions do, for loops of ours ----------------- */

/* A string's content, for names as well as values. */
static inline moonplan_text mpl_content(const moonplan_document *document, size_t index) {
    const mpl_node *node = &document->nodes[index];
    if (node->extra == 0)
        return (moonplan_text){document->text + node->start + 1, node->length - 2};
    const char *place = document->decoded + (size_t)(node->extra - 1) * 4;
    uint32_t length;
    memcpy(&length, place, sizeof length);
    return (moonplan_text){place + sizeof length, length};
}
/* A value that a host has set to zero is none as well. */
static inline bool mpl_is_none(moonplan_value value) {
    return value.node == UINT32_MAX || !value.document;
}
static inline moonplan_type mpl_type(moonplan_value value) {
    return mpl_is_none(value) ? MOONPLAN_NONE : (moonplan_type)mpl_node_of(value)->type;
}
static inline moonplan_text mpl_string(moonplan_value value) {
    if (mpl_type(value) != MOONPLAN_STRING) return (moonplan_text){NULL, 0};
    return mpl_content(value.document, value.node);
}
/* The table's node of a closed container, or NULL for a small one. A small container may end with
 * the table of a large one inside it: whose it is shows in its extra. */
static inline const mpl_node *mpl_table_of(const moonplan_document *document, size_t node) {
    const mpl_node *container = &document->nodes[node];
    if (container->extra <= MPL_TABLE_OVER) return NULL;
    const mpl_node *last = container + container->extra;
    return last->type == MPL_TABLE && last->extra == container->extra ? last : NULL;
}
static inline moonplan_walk mpl_walk(moonplan_value container) {
    moonplan_walk walk = {{NULL, 0}, {container.document, UINT32_MAX}, 0, 0, false};
    if (mpl_is_none(container)) return walk;
    const mpl_node *node = mpl_node_of(container);
    if (!mpl_is_container(node)) return walk;
    walk.next = container.node + 1;
    walk.end = walk.next + node->extra;
    if (mpl_table_of(container.document, container.node)) walk.end--;
    walk.named = node->type == MOONPLAN_OBJECT;
    return walk;
}
static inline bool mpl_walk_next(moonplan_walk *walk) {
    const moonplan_document *document = walk->value.document;
    if (walk->next >= walk->end) {
        walk->value.node = UINT32_MAX;
        walk->name = (moonplan_text){NULL, 0};
        return false;
    }
    if (walk->named) walk->name = mpl_content(document, walk->next++);
    walk->value.node = walk->next;
    walk->next = (uint32_t)mpl_after(document->nodes, walk->next);
    return true;
}

/* The element of an array whose index is written so; MOONPLAN_NONE if there is none, and where the
 * text is no index, which has neither sign nor leading zeros. */
moonplan_value mpl_element_at(moonplan_value array, moonplan_text index);

/* moonplan_value_member for a name that is written out: small objects are looked through in place.
 */
static inline moonplan_value mpl_member(moonplan_value object, const char *literal) {
    if (mpl_type(object) == MOONPLAN_OBJECT && mpl_table_of(object.document, object.node))
        return moonplan_value_member(object, literal, strlen(literal));
    moonplan_walk walk = mpl_walk(object);
    while (walk.named && mpl_walk_next(&walk))
        if (mpl_text_is(walk.name, literal)) return walk.value;
    return (moonplan_value){object.document, UINT32_MAX};
}

/* Room for so many more nodes; false when memory is short. */
bool mpl_node_room(moonplan_document *document, size_t more);
/* Append a node; NULL when memory is short. */
static inline mpl_node *mpl_node_add(moonplan_document *document, moonplan_type type, size_t start,
                                     size_t length) {
    if (document->node_count == document->node_capacity && !mpl_node_room(document, 1)) return NULL;
    mpl_node *node = &document->nodes[document->node_count++];
    *node = (mpl_node){(uint32_t)start, (uint32_t)length, (unsigned)type & 15u, 0};
    return node;
}

/* No node. */
#define MPL_NO_CHILD SIZE_MAX

/* Open a container as the last node; `outer` is the open one that holds it, or MPL_NO_CHILD.
 * Whoever adds a child counts it in the open container's `extra`. */
static inline bool mpl_container_open(moonplan_document *document, moonplan_type type, size_t start,
                                      size_t outer) {
    /* The outermost container holds itself. */
    size_t holder = outer == MPL_NO_CHILD ? document->node_count : outer;
    return mpl_node_add(document, type, start, holder) != NULL;
}
/* The container that holds an open one, or MPL_NO_CHILD. */
static inline size_t mpl_container_outer(const moonplan_document *document, size_t node) {
    size_t outer = document->nodes[node].length;
    return outer == node ? MPL_NO_CHILD : outer;
}
/* Finish the container at `node`, whose content is complete and whose text ends before `end`: its
 * extra, and its table when it is large. Two members of one name: false, with the second name's
 * node in *duplicate. Memory: false with *duplicate 0. */
bool mpl_container_close(moonplan_document *document, size_t node, size_t end, size_t *duplicate);
/* The same for one that is not large, and whose members are known to have names of their own. */
static inline void mpl_container_close_small(moonplan_document *document, size_t node, size_t end) {
    mpl_node *container = &document->nodes[node];
    container->length = (uint32_t)(end - container->start);
    container->extra = (uint32_t)(document->node_count - node - 1) & MPL_NODES_MOST;
}

/* The pointer to a value of a finished document, walked down from the root. */
void mpl_pointer_of(mpl_pointer *pointer, const moonplan_document *document, size_t node);
/* The pointer to an open container of a document in the making, or, unless `child` is
 * MPL_NO_CHILD, to the child of it whose node is (or will be) `child`. */
void mpl_pointer_open(mpl_pointer *pointer, const moonplan_document *document, size_t open,
                      size_t child);

/* A document without text or nodes that uses this allocator; NULL when memory is short. */
moonplan_document *mpl_document_new(const mpl_alloc *alloc);
/* Make it one again. It keeps its room. */
void mpl_document_clear(moonplan_document *document);
/* Room for the content of the last node, a string with escapes; NULL when memory is short. */
char *mpl_decoded_add(moonplan_document *document, size_t length);
/* Give back what the document does not use, once it is complete. */
void mpl_document_trim(moonplan_document *document);

/* An error at a value. */
#define mpl_error_at(err, code, value, ...)                                                        \
    do {                                                                                           \
        mpl_pointer pointer_;                                                                      \
        mpl_pointer_of(&pointer_, (value).document, (value).node);                                 \
        mpl_error_set(err, code, moonplan_value_offset(value), &pointer_, __VA_ARGS__);            \
    } while (0)

/* "an array", "a string": for error texts. */
const char *mpl_type_text(moonplan_type type);

#endif
