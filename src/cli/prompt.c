/* The prompt. On a terminal, lines are edited and remembered with libedit, which is opened when
 * the first line is wanted, so that nobody else pays for loading it; where it is missing, and where
 * input is no terminal, lines are simply read. */
#include <lauxlib.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#ifdef MOONPLAN_WITH_EDITLINE
#include <dlfcn.h>
#include <editline/readline.h>
#endif

/* -- Lines ------------------------------------------------------------------------------------ */

#define HISTORY_LINES 1000

typedef struct line_source {
    char *history; /* path of the file; NULL: none */
#ifdef MOONPLAN_WITH_EDITLINE
    bool edited;
    __typeof__(&readline) readline;
    __typeof__(&add_history) add_history;
    __typeof__(&read_history) read_history;
    __typeof__(&write_history) write_history;
    __typeof__(&stifle_history) stifle_history;
    __typeof__(&rl_bind_key) bind_key;
    __typeof__(&rl_insert) insert;
#endif
} line_source;

#ifdef MOONPLAN_WITH_EDITLINE
bool mpl_prompt_can_edit(void) {
    return true;
}

/* ISO C has no cast from an object's address to a function's; POSIX says that they are alike. */
static bool find(void *library, const char *name, void *into, size_t size) {
    void *found = dlsym(library, name);
    memcpy(into, &found, size);
    return found != NULL;
}

/* MOONPLAN_HISTORY, or ~/.moonplan_history; an empty MOONPLAN_HISTORY means none. */
static char *history_path(void) {
    const char *set = getenv("MOONPLAN_HISTORY"), *home = getenv("HOME");
    if (set != NULL) return *set == '\0' ? NULL : strdup(set);
    if (home == NULL || *home == '\0') return NULL;
    static const char name[] = "/.moonplan_history";
    size_t size = strlen(home) + sizeof name;
    char *path = malloc(size);
    if (path != NULL) (void)snprintf(path, size, "%s%s", home, name);
    return path;
}

static void open_editor(line_source *source) {
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
    void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
#define FIND(field, name) find(library, name, &source->field, sizeof source->field)
    source->edited = FIND(readline, "readline") && FIND(add_history, "add_history") &&
                     FIND(read_history, "read_history") && FIND(write_history, "write_history") &&
                     FIND(stifle_history, "stifle_history") && FIND(bind_key, "rl_bind_key") &&
                     FIND(insert, "rl_insert");
#undef FIND
    if (!source->edited) return;
    setlocale(LC_CTYPE, ""); /* libedit asks the locale how wide a character is */
    source->stifle_history(HISTORY_LINES);
    /* A tab is a tab: completing file names has no use in Lua. */
    source->bind_key('\t', source->insert);
    source->history = history_path();
    struct stat about; /* what is no file may have no end */
    if (source->history != NULL && stat(source->history, &about) == 0 && S_ISREG(about.st_mode))
        source->read_history(source->history);
}

/* Remembering is a courtesy; where it fails, nothing else does. */
static void remember(line_source *source, const char *line) {
    if (!source->edited || *line == '\0') return;
    source->add_history(line);
    if (source->history == NULL) return;
    mode_t before = umask(077);
    source->write_history(source->history);
    umask(before);
}
#else
bool mpl_prompt_can_edit(void) {
    return false;
}
static void open_editor(line_source *source) {
    (void)source;
}
static void remember(line_source *source, const char *line) {
    (void)source, (void)line;
}
#endif

/* A line of its own memory without its end; NULL at the end of the input. */
static char *read_line(line_source *source, const char *prompt) {
#ifdef MOONPLAN_WITH_EDITLINE
    if (source->edited) return source->readline(prompt);
#endif
    (void)source;
    fputs(prompt, stdout);
    fflush(stdout);
    char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, stdin);
    if (length < 0) {
        free(line);
        return NULL;
    }
    if (length > 0 && line[length - 1] == '\n') line[length - 1] = '\0';
    return line;
}

/* -- Statements ------------------------------------------------------------------------------- */

/* Push a line; false at the end of the input. */
static bool push_line(lua_State *L, line_source *source, bool first) {
    const char *name = first ? "_PROMPT" : "_PROMPT2";
    if (lua_getglobal(L, name) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_pushstring(L, first ? "> " : ">> ");
    }
    char *line = read_line(source, luaL_tolstring(L, -1, NULL));
    lua_pop(L, 2);
    if (line == NULL) return false;
    remember(source, line);
    lua_pushstring(L, line);
    free(line);
    return true;
}

/* Did loading fail because the text ended too early? */
static bool is_incomplete(lua_State *L, int status) {
    static const char mark[] = "<eof>";
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    return status == LUA_ERRSYNTAX && length >= sizeof mark - 1 &&
           strcmp(text + length - (sizeof mark - 1), mark) == 0;
}

/* Turn the text on top into a function, or an error, reading on while it is not complete. An
 * expression is a statement here, and =EXPRESSION another way to write one, as in lua5.4. */
static int load_statement(lua_State *L, line_source *source) {
    static const char name[] = "=stdin";
    size_t length;
    const char *text = lua_tostring(L, -1);
    lua_pushfstring(L, "return %s", *text == '=' ? text + 1 : text);
    text = lua_tolstring(L, -1, &length);
    int status = luaL_loadbuffer(L, text, length, name);
    lua_remove(L, -2);
    while (status != LUA_OK) {
        lua_pop(L, 1);
        text = lua_tolstring(L, -1, &length);
        status = luaL_loadbuffer(L, text, length, name);
        if (!is_incomplete(L, status) || !push_line(L, source, false)) break;
        lua_remove(L, -2);
        lua_pushliteral(L, "\n");
        lua_insert(L, -2);
        lua_concat(L, 3);
        lua_pushnil(L);
    }
    lua_remove(L, -2);
    return status;
}

/* Print the values above `base`, one a line, as `moonplan.show` writes them. */
static void print_values(lua_State *L, int base) {
    int count = lua_gettop(L) - base;
    if (count == 0) return;
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_getfield(L, LUA_REGISTRYINDEX, "moonplan.show");
    lua_insert(L, base + 1);
    if (mpl_call(L, count, 1) != LUA_OK) {
        mpl_report(L);
        return;
    }
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    fwrite(text, 1, length, stdout);
    fputc('\n', stdout);
    fflush(stdout);
}

void mpl_prompt(lua_State *L) {
    line_source source = {0};
    open_editor(&source);
    mpl_chunk_run(L, mpl_chunk_find("moonplan.show"));
    lua_setfield(L, LUA_REGISTRYINDEX, "moonplan.show");
    int base = lua_gettop(L);
    while (push_line(L, &source, true)) {
        int status = load_statement(L, &source);
        if (status == LUA_OK) status = mpl_call(L, 0, LUA_MULTRET);
        if (status == LUA_OK)
            print_values(L, base);
        else
            mpl_report(L);
        lua_settop(L, base);
    }
    fputc('\n', stdout);
    fflush(stdout);
    free(source.history);
}
