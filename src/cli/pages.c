/* Every thread reads pages and judges those that it has read, one reading at a time; the caller's
 * hands out besides, in order. What a thread has read is in its own processor's cache, which is
 * worth more than reading beside judging: two processors may be far apart.
 *
 * Memory, however long the file is: (2 * jobs + 1) * max(MPL_PAGE, limit + 1) bytes for the lines,
 * with one job twice that maximum; 2 * jobs * sizeof(page), half a megabyte each, for what is said
 * of them; and jobs times the four plans that moonplan_digest_many holds. */
#include "pages.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../core/text.h"

/* So much of a line is always moved to where the rest of it will be read. */
#define REST ((size_t)65536)

/* Lines of a page that are judged at once. Only blank and faulty lines are so short that a page
 * has more. */
#define LINES_MOST 4096

#define ANSWER ((size_t)67)

typedef struct line {
    size_t length; /* with the LF */
    enum { BLANK, PLAN, OTHER } kind;
} line;

typedef struct page {
    struct page *spare; /* the next that nobody needs */
    size_t reader;      /* the thread that had it last */
    char *bytes;        /* whole lines */
    size_t room, start, end;
    size_t judged; /* up to where */
    bool ready;    /* it has been, by its reader */
    size_t count, next;
    line lines[LINES_MOST];
    size_t answered;
    char answers[LINES_MOST * ANSWER];
    /* Of those lines that may be plans. */
    moonplan_text texts[LINES_MOST];
    uint8_t digests[LINES_MOST][32];
    bool valid[LINES_MOST];
} page;

struct mpl_pages {
    moonplan_options options;
    mpl_input *in; /* of the thread that is reading */
    page **ring;   /* pages have numbers, in the order of the file */
    size_t size;
    pthread_mutex_t lock;         /* of page.ready and all that follows */
    pthread_cond_t place, change; /* for the others; for the caller's thread */
    size_t oldest, filled;        /* the first page that is not done; the next to be read */
    page *spare;
    bool reading; /* somebody is */
    bool kept;    /* that is the caller's thread, which does it without us */
    bool stuck;   /* it led to nothing: it takes a page that is done, or a look at the reason */
    /* The caller's thread waits for input, or for the bell: the oldest page is ready. */
    bool asleep;
    bool ended;
    int bell; /* an eventfd; rings at the end as well */
    size_t idle, reader_count, thread_count, threads_most;
    pthread_t *threads;
};

/* -- Judging ------------------------------------------------------------------------------- */

static bool is_blank(moonplan_text text) {
    for (size_t i = 0; i < text.length; i++)
        if (text.bytes[i] != ' ' && text.bytes[i] != '\t' && text.bytes[i] != '\r') return false;
    return true;
}

static void judge(const mpl_pages *pages, page *p) {
    const char *at = p->bytes + p->judged, *end = p->bytes + p->end;
    size_t plans = 0;
    p->count = p->next = p->answered = 0;
    while (at < end && p->count < LINES_MOST) {
        const char *lf = memchr(at, '\n', (size_t)(end - at));
        moonplan_text text = {at, (size_t)(lf - at)};
        line *l = &p->lines[p->count++];
        l->length = text.length + 1;
        /* A line that is too long may be refused before its end is known: whatever is in it. */
        l->kind = text.length > pages->in->limit ? OTHER : is_blank(text) ? BLANK : PLAN;
        if (l->kind == PLAN) p->texts[plans++] = text;
        at = lf + 1;
    }
    p->judged = (size_t)(at - p->bytes);
    moonplan_digest_many(p->digests, p->valid, p->texts, plans, &pages->options);
    char *answer = p->answers;
    for (size_t n = 0, plan = 0; n < p->count; n++) {
        if (p->lines[n].kind != PLAN) continue;
        if (p->valid[plan]) {
            answer[0] = '0';
            answer[1] = 'x';
            mpl_hex_encode(answer + 2, p->digests[plan], 32);
            answer[ANSWER - 1] = '\n';
            answer += ANSWER;
        } else {
            p->lines[n].kind = OTHER;
        }
        plan++;
    }
}

/* -- Reading ------------------------------------------------------------------------------- */

static void free_page(page *p) {
    free(p->bytes);
    free(p);
}

/* A page that this thread had before, any other, or a new one; NULL when memory is short. */
static page *take_blank(mpl_pages *pages, size_t reader) {
    pthread_mutex_lock(&pages->lock);
    page **at = &pages->spare;
    while (*at && (*at)->reader != reader) at = &(*at)->spare;
    if (!*at) at = &pages->spare;
    page *p = *at;
    if (p) *at = p->spare;
    pthread_mutex_unlock(&pages->lock);
    if (!p) {
        p = malloc(sizeof *p);
        if (!p) return NULL;
        p->bytes = NULL;
        p->room = 0;
    }
    p->reader = reader;
    return p;
}

/* The page's bytes for those of the input, of which what stands from there on is kept. */
static bool exchange(page *p, mpl_input *in, size_t from, size_t room) {
    size_t left = in->end - from;
    if (room <= left) room = left + 1;
    if (!p->bytes || p->room < room) {
        free(p->bytes);
        p->bytes = malloc(room);
        p->room = p->bytes ? room : 0;
        if (!p->bytes) return false;
    }
    char *bytes = p->bytes;
    room = p->room;
    if (left > 0) memcpy(bytes, in->bytes + from, left);
    p->bytes = in->bytes;
    p->room = in->room;
    in->bytes = bytes;
    in->room = room;
    in->whole = in->whole > from ? in->whole - from : 0;
    in->start = 0;
    in->end = left;
    return true;
}

/* Whether more bytes would make a larger page, or one at all. */
static bool wants_more(const mpl_input *in) {
    size_t have = in->end - in->start;
    return !in->ended && (in->whole > in->start ? have < MPL_PAGE : have <= in->limit);
}

/* Read a page of as many whole lines as can be had without waiting, or, with patience, wait until
 * there is one; NULL where there is none, or the bell has rung. */
static page *read_page(mpl_pages *pages, size_t reader, bool patient) {
    mpl_input *in = pages->in;
    page *p = take_blank(pages, reader);
    if (!p) return NULL;
    if (in->end - in->start <= REST || in->room < p->room)
        (void)exchange(p, in, in->start, MPL_PAGE);
    while (wants_more(in)) {
        struct pollfd on[] = {{.fd = in->file, .events = POLLIN},
                              {.fd = pages->bell, .events = POLLIN}};
        int error, come = poll(on, 2, patient && in->whole <= in->start ? -1 : 0);
        if (come < 0 && errno == EINTR) continue;
        if (come <= 0 || on[1].revents || !mpl_input_more(in, &error)) break;
    }
    size_t start = in->start, end = in->whole;
    if (end > start && exchange(p, in, end, REST)) {
        p->start = p->judged = start;
        p->end = end;
        p->count = p->next = 0;
        p->ready = false;
        return p;
    }
    pthread_mutex_lock(&pages->lock);
    p->spare = pages->spare;
    pages->spare = p;
    pthread_mutex_unlock(&pages->lock);
    return NULL;
}

/* -- Threads: with the lock ---------------------------------------------------------------- */

static bool can_read(const mpl_pages *pages) {
    const mpl_input *in = pages->in;
    return !pages->reading && !pages->stuck && pages->filled - pages->oldest < pages->size &&
           !in->skipping && (in->whole > in->start || wants_more(in));
}

static void *labour(void *data);

/* Somebody else can read now. A thread that cannot be had is done without. */
static void call_the_next(mpl_pages *pages) {
    pthread_cond_signal(&pages->change);
    if (pages->idle > 0) {
        pthread_cond_signal(&pages->place);
    } else if (pages->thread_count < pages->threads_most && can_read(pages)) {
        if (pthread_create(&pages->threads[pages->thread_count], NULL, labour, pages) == 0)
            pages->thread_count++;
        else
            pages->threads_most = pages->thread_count;
    }
}

/* What was read, or not. */
static void finish(mpl_pages *pages, page *p) {
    pages->reading = false;
    pages->stuck = !p;
    if (p) {
        pages->ring[pages->filled++ % pages->size] = p;
        call_the_next(pages);
        pthread_mutex_unlock(&pages->lock);
        judge(pages, p);
        pthread_mutex_lock(&pages->lock);
        p->ready = true;
    }
    if (pages->asleep && pages->ring[pages->oldest % pages->size] == p) {
        pages->asleep = false;
        (void)eventfd_write(pages->bell, 1);
    }
    pthread_cond_signal(&pages->change);
}

static void *labour(void *data) {
    mpl_pages *pages = data;
    pthread_mutex_lock(&pages->lock);
    size_t me = ++pages->reader_count;
    while (!pages->ended) {
        if (can_read(pages)) {
            pages->reading = true;
            pthread_mutex_unlock(&pages->lock);
            page *p = read_page(pages, me, true);
            pthread_mutex_lock(&pages->lock);
            finish(pages, p);
        } else {
            pages->idle++;
            pthread_cond_wait(&pages->place, &pages->lock);
            pages->idle--;
        }
    }
    pthread_mutex_unlock(&pages->lock);
    return NULL;
}

/* The same for the caller's thread, which waits for input only as long as there is nothing to be
 * handed out, and then with nothing left unsaid: whoever feeds us may be waiting for the answer to
 * what we have been fed. */
static void read_or_wait(mpl_pages *pages, const page *oldest) {
    pages->reading = true;
    pthread_mutex_unlock(&pages->lock);
    page *p = read_page(pages, 0, false);
    if (!p && !oldest) mpl_flush_or_end(pages->in->console);
    pthread_mutex_lock(&pages->lock);
    if (!p && !(oldest && oldest->ready)) {
        pages->asleep = oldest != NULL;
        pthread_mutex_unlock(&pages->lock);
        p = read_page(pages, 0, true);
        pthread_mutex_lock(&pages->lock);
        pages->asleep = false;
        eventfd_t rings;
        if (pages->bell >= 0) (void)eventfd_read(pages->bell, &rings);
    }
    finish(pages, p);
}

/* -- Handing out --------------------------------------------------------------------------- */

/* The oldest page, with a line that is next; NULL where no whole line can be had. */
static page *front(mpl_input *in) {
    mpl_pages *pages = in->pages;
    page *oldest;
    bool said = false;
    pthread_mutex_lock(&pages->lock);
    if (pages->kept) pages->kept = pages->reading = false;
    for (;;) {
        oldest = pages->oldest < pages->filled ? pages->ring[pages->oldest % pages->size] : NULL;
        if (oldest && oldest->ready) {
            if (oldest->next < oldest->count) break;
            if (oldest->judged < oldest->end) {
                pthread_mutex_unlock(&pages->lock);
                judge(pages, oldest);
                pthread_mutex_lock(&pages->lock);
                continue;
            }
            oldest->spare = pages->spare;
            pages->spare = oldest;
            pages->oldest++;
            pages->stuck = false;
            call_the_next(pages);
        } else if (can_read(pages)) {
            read_or_wait(pages, oldest);
        } else if (!oldest && !pages->reading) {
            pages->kept = pages->reading = true;
            pages->stuck = false;
            break;
        } else if (!oldest && !said) {
            pthread_mutex_unlock(&pages->lock);
            mpl_flush_or_end(in->console);
            pthread_mutex_lock(&pages->lock);
            said = true;
        } else {
            pthread_cond_wait(&pages->change, &pages->lock);
        }
    }
    pthread_mutex_unlock(&pages->lock);
    return oldest;
}

bool mpl_pages_run(mpl_input *in, mpl_run *run) {
    page *p = front(in);
    if (!p) return false;
    *run = (mpl_run){.digests = p->answers + p->answered};
    for (; p->next < p->count && p->lines[p->next].kind != OTHER; p->next++) {
        p->start += p->lines[p->next].length;
        if (p->lines[p->next].kind == PLAN) run->length += ANSWER;
        run->lines++;
    }
    p->answered += run->length;
    return true;
}

bool mpl_pages_line(mpl_input *in, moonplan_text *text) {
    page *p = front(in);
    if (!p) return false;
    const line *l = &p->lines[p->next++];
    *text = (moonplan_text){p->bytes + p->start, l->length - 1};
    p->start += l->length;
    if (l->kind == PLAN) p->answered += ANSWER;
    return true;
}

/* -- Beginning and end --------------------------------------------------------------------- */

mpl_pages *mpl_pages_new(mpl_input *in, const moonplan_options *options) {
    mpl_pages *pages = calloc(1, sizeof *pages);
    if (!pages) return NULL;
    pages->in = in;
    pages->options = *options;
    pages->options.jobs = 1;
    pages->options.implements = NULL;
    pages->options.implements_count = 0;
    pages->options.errors = NULL;
    pages->size = 1;
    pages->bell = options->jobs > 1 ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (pages->bell >= 0) {
        pages->threads_most = options->jobs - 1;
        pages->threads = calloc(pages->threads_most, sizeof *pages->threads);
        pages->size = (size_t)2 * options->jobs;
    }
    pages->ring = calloc(pages->size, sizeof(page *));
    if (!pages->ring || (pages->threads_most > 0 && !pages->threads)) {
        if (pages->bell >= 0) close(pages->bell);
        free(pages->threads);
        free(pages->ring);
        free(pages);
        return NULL;
    }
    pthread_mutex_init(&pages->lock, NULL);
    pthread_cond_init(&pages->place, NULL);
    pthread_cond_init(&pages->change, NULL);
    return pages;
}

void mpl_pages_free(mpl_pages *pages) {
    if (!pages) return;
    pthread_mutex_lock(&pages->lock);
    pages->ended = true;
    pthread_cond_broadcast(&pages->place);
    if (pages->bell >= 0) (void)eventfd_write(pages->bell, 1);
    pthread_mutex_unlock(&pages->lock);
    for (size_t i = 0; i < pages->thread_count; i++) pthread_join(pages->threads[i], NULL);
    pthread_cond_destroy(&pages->change);
    pthread_cond_destroy(&pages->place);
    pthread_mutex_destroy(&pages->lock);
    if (pages->bell >= 0) close(pages->bell);
    for (; pages->oldest < pages->filled; pages->oldest++)
        free_page(pages->ring[pages->oldest % pages->size]);
    while (pages->spare) {
        page *p = pages->spare;
        pages->spare = p->spare;
        free_page(p);
    }
    free(pages->ring);
    free(pages->threads);
    free(pages);
}
