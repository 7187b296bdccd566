/* An mpl_json_run, as text to be compiled for several processors. Whoever includes this says
 *
 *   HEAD        the function's: its name, and what this processor has
 *   KIND(name)  the name for this kind of processor of
 *     short_end(begin)                where a plain string that is not long has its closing quote,
 *                                     or NULL; AHEAD bytes are there
 *     guessed_end(node, text, begin)  the same for a name, by a guess: that it is the one at this
 *                                     node, which it would be in an array of objects that are alike
 *     guessed_long(node, begin, end)  the same for a string over 32 bytes: that it is as long as
 *                                     the one at this node, as addresses and hashes are
 *
 * Usual are plain strings, small integers, containers that are neither empty nor large nor deep,
 * far from the end of the text. What there is otherwise is left to mpl_read_value, which knows
 * everything; here all that changes is in variables of the processor's. */

HEAD {
    moonplan_document *document = r->document;
    if (!document->nodes) return ended; /* there was no room for any */
    mpl_node *const nodes = document->nodes;
    mpl_node *next = nodes + document->node_count;
    const mpl_node *const last = nodes + document->node_capacity;
    const char *at = r->at, *const end = r->end, *const text = r->text;
    size_t open = r->open;
    uint32_t count = open != MPL_NO_CHILD ? nodes[open].extra : 0;
    bool element = mpl_in_array(r);
    uint64_t values = r->values;
    /* The container that was closed last; how far before an element of an array the one stands that
     * it is like so far, or 0; how deep that array is. */
    size_t sibling = 0, stride = 0;
    uint64_t base = 0;

#define PUSH(kind, begin, size)                                                                    \
    (*next++ = (mpl_node){(uint32_t)((begin)-text), (uint32_t)(size), (unsigned)(kind)&15u, 0})

    /* Objects that are open below `base` have the names of their siblings as long as there is a
     * stride: the same ones in the same places, so that they are as distinct as those are, and need
     * not be remembered. */
#define LOSE_SIBLING                                                                               \
    do {                                                                                           \
        remember_open(r, nodes, next, open, base);                                                 \
        stride = 0;                                                                                \
    } while (0)

    if (end - at < AHEAD) return ended;
    const char *const far = end - AHEAD;
    if (ended) goto value_has_ended;

value_begins:
    if ((unsigned char)*at <= ' ') at = spaces_end(at, end);
    if (at > far || last - next < 2 || values >= r->values_most) goto stop;
    switch (*at) {
    case '"': {
        const char *stop = stride ? KIND(guessed_long)(next - stride, at, end) : NULL;
        if (!stop) stop = KIND(short_end)(at);
        if (!stop) {
            stop = r->plain(at + 1, end);
            if (stop == end || *stop != '"') goto stop;
        }
        PUSH(MOONPLAN_STRING, at, stop + 1 - at);
        at = stop + 1;
        break;
    }
    case '{': {
        const char *name = at + 1;
        if (*name <= ' ') name = spaces_end(name, end);
        if (name > far || *name != '"' || r->depth >= r->depth_most ||
            r->depth + 1 >= MPL_SEEN_DEPTH)
            goto stop;
        if (element) {
            if (stride && r->depth > base) LOSE_SIBLING;
            base = r->depth;
            bool object = sibling != 0 && nodes[sibling].type == MOONPLAN_OBJECT;
            stride = object ? (size_t)(next - nodes) - sibling : 0;
        }
        const char *stop = NULL;
        if (stride) {
            const mpl_node *other = next - stride;
            if (other->type == MOONPLAN_OBJECT && other->extra > 0)
                stop = KIND(guessed_end)(other + 1, text, name);
        }
        if (!stop) {
            if (stride) LOSE_SIBLING;
            stop = KIND(short_end)(name);
            if (!stop || stop[1] != ':') goto stop;
        }
        size_t node = (size_t)(next - nodes);
        count += element;
        if (open != MPL_NO_CHILD) nodes[open].extra = count & MPL_NODES_MOST;
        PUSH(MOONPLAN_OBJECT, at, open == MPL_NO_CHILD ? node : open);
        PUSH(MOONPLAN_STRING, name, stop + 1 - name);
        open = node;
        r->depth++;
        if (!stride) {
            mpl_forget_names(r);
            mpl_remember_name(r, name, (size_t)(stop + 1 - name));
        }
        count = 1;
        element = false;
        values++;
        at = stop + 2;
        goto value_begins;
    }
    case '[': {
        const char *first = at + 1;
        if (*first <= ' ') first = spaces_end(first, end);
        if (first > far || *first == ']' || r->depth >= r->depth_most) goto stop;
        if (stride && (next - stride)->type != MOONPLAN_ARRAY) LOSE_SIBLING;
        size_t node = (size_t)(next - nodes);
        count += element;
        if (open != MPL_NO_CHILD) nodes[open].extra = count & MPL_NODES_MOST;
        PUSH(MOONPLAN_ARRAY, at, open == MPL_NO_CHILD ? node : open);
        open = node;
        r->depth++;
        count = 0;
        element = true;
        values++;
        at = first;
        goto value_begins;
    }
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': {
        const char *stop = at + 1;
        while (stop < at + 18 && (unsigned char)(*stop - '0') < 10) stop++;
        if ((unsigned char)(*stop - '0') < 10 || *stop == '.' || *stop == 'e' || *stop == 'E')
            goto stop;
        PUSH(MOONPLAN_INTEGER, at, stop - at);
        at = stop;
        break;
    }
    case '0':
        if ((unsigned char)(at[1] - '0') < 10 || at[1] == '.' || at[1] == 'e' || at[1] == 'E')
            goto stop;
        PUSH(MOONPLAN_INTEGER, at, 1);
        at++;
        break;
    case 'n':
        if (memcmp(at, "null", 4) != 0) goto stop;
        PUSH(MOONPLAN_NULL, at, 4);
        at += 4;
        break;
    case 't':
        if (memcmp(at, "true", 4) != 0) goto stop;
        PUSH(MOONPLAN_TRUE, at, 4);
        at += 4;
        break;
    case 'f':
        if (memcmp(at, "false", 5) != 0) goto stop;
        PUSH(MOONPLAN_FALSE, at, 5);
        at += 5;
        break;
    default:
        goto stop;
    }
    values++;
    count += element;

value_has_ended:
    ended = true;
    if (open == outside || at > far) goto stop;
    if ((unsigned char)*at <= ' ') at = spaces_end(at, end);
    if (at > far) goto stop;
    if (*at == ',' && element) {
        at++;
        ended = false;
        goto value_begins;
    }
    if (*at == ',') {
        const char *name = at + 1;
        if (*name <= ' ') name = spaces_end(name, end);
        if (name > far || *name != '"' || next == last) goto stop;
        const char *stop = NULL;
        if (stride) {
            const mpl_node *other = next - stride;
            if ((size_t)(next - nodes) - open <= nodes[open - stride].extra &&
                !mpl_is_container(other - 1))
                stop = KIND(guessed_end)(other, text, name);
        }
        if (!stop) {
            if (stride) LOSE_SIBLING;
            stop = KIND(short_end)(name);
            if (!stop || stop[1] != ':') goto stop;
        }
        PUSH(MOONPLAN_STRING, name, stop + 1 - name);
        if (!stride) mpl_remember_name(r, name, (size_t)(stop + 1 - name));
        count++;
        at = stop + 2;
        ended = false;
        goto value_begins;
    }
    if (*at == (element ? ']' : '}') && count <= MPL_TABLE_OVER &&
        (element || stride || (r->depth < MPL_SEEN_DEPTH && !(r->doubt >> r->depth & 1)))) {
        mpl_node *container = &nodes[open];
        size_t outer = container->length;
        sibling = open;
        at++;
        container->length = (uint32_t)(at - text) - container->start;
        container->extra = (uint32_t)(next - container - 1) & MPL_NODES_MOST;
        r->depth--;
        if (outer == open) {
            open = MPL_NO_CHILD;
            element = false;
        } else {
            open = outer;
            count = nodes[open].extra;
            element = nodes[open].type == MOONPLAN_ARRAY;
        }
        if (r->depth < base)
            stride = 0;
        else if (stride && r->depth > base && nodes[sibling - stride].extra != container->extra)
            LOSE_SIBLING;
        goto value_has_ended;
    }

stop:
    if (stride) LOSE_SIBLING;
#undef LOSE_SIBLING
#undef PUSH
    r->at = at;
    document->node_count = (size_t)(next - nodes);
    if (open != MPL_NO_CHILD) nodes[open].extra = count & MPL_NODES_MOST;
    r->open = open;
    r->values = values;
    return ended;
}
