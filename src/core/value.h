/* Documents: a text, and a flat index of the values in it.
 *
 * A document is its text plus an array of nodes in document order: a container's node is
 * followed by those of its content, a member's name is a string node before its value. A node is
 * 12 bytes, so that a plan's index is smaller than the plan. */
#ifndef MPL_CORE_VALUE_H
#define MPL_CORE_VALUE_H

#include "alloc.h"
#include "error.h"

/* Behind the last child of a container with more than MPL_TABLE_OVER children stands one more
 * node of type MPL_TABLE: `length` is the number of children, `extra` the container's own `extra`
 * (its distance from it), `start` the place of its table in `tables`, or MPL_NO_TABLE where the
 * children are scalars in a row and need none. An array's table holds the children's nodes; an
 * object's is an open-addressing hash of the names' nodes (0: empty), at least twice as large as
 * the object, a power of two. */
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

/* Open a container as the last node; `outer` is the open one that holds it, or MPL_NO_CHILD.
 * Whoever adds a child counts it in the open container's `extra`. */
bool mpl_container_open(moonplan_document *document, moonplan_type type, size_t start,
                        size_t outer);
/* The container that holds an open one, or MPL_NO_CHILD. */
size_t mpl_container_outer(const moonplan_document *document, size_t node);
/* Finish the container at `node`, whose content is complete and whose text ends before `end`: its
 * extra, and its table when it is large. Two members of one name: false, with the second name's
 * node in *duplicate. Memory: false with *duplicate 0. */
bool mpl_container_close(moonplan_document *document, size_t node, size_t end, size_t *duplicate);

/* A string's content, for names as well as values. */
moonplan_text mpl_content(const moonplan_document *document, size_t node);

/* The pointer to a value of a finished document, walked down from the root. */
void mpl_pointer_of(mpl_pointer *pointer, const moonplan_document *document, size_t node);
/* The pointer to an open container of a document in the making, or, unless `child` is
 * MPL_NO_CHILD, to the child of it whose node is (or will be) `child`. */
#define MPL_NO_CHILD SIZE_MAX
void mpl_pointer_open(mpl_pointer *pointer, const moonplan_document *document, size_t open,
                      size_t child);

/* A document without text or nodes that uses this allocator; NULL when memory is short. */
moonplan_document *mpl_document_new(const mpl_alloc *alloc);
/* Append a node; NULL when memory is short. */
mpl_node *mpl_node_add(moonplan_document *document, moonplan_type type, size_t start,
                       size_t length);
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
