/* The rooms of the program: the verbs, the interpreter, the prompt. */
#ifndef MPL_CLI_CLI_H
#define MPL_CLI_CLI_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit codes of the command. */
enum {
    MPL_EXIT_FINE = 0,
    MPL_EXIT_FAILED = 1,       /* wrong usage, input or output, internal */
    MPL_EXIT_READER_LEFT = 141 /* nobody reads what we print: 128 + SIGPIPE, as shells put it */
};

/* -- Lua sources inside the program, as bytecode (written by embed.c) ---------------------- */

typedef struct mpl_chunk {
    const char *name; /* as in require */
    const unsigned char *bytes;
    size_t length;
} mpl_chunk;
extern const mpl_chunk mpl_chunks[];
extern const size_t mpl_chunk_count;

const mpl_chunk *mpl_chunk_find(const char *name);
/* Run a chunk that is there and leave its one result on the stack. */
void mpl_chunk_run(lua_State *L, const mpl_chunk *chunk);

/* Standard error and nothing else: "moonplan: TEXT". */
void mpl_complain(const char *text);

/* Message handler for lua_pcall: makes a text of the error and adds a traceback. */
int mpl_traceback(lua_State *L);

/* -- Verbs ---------------------------------------------------------------------------------- */

bool mpl_is_verb(const char *word);
/* Run the verb argv[0] with what follows it. */
int mpl_verb(int argc, char **argv);
/* Say that this word is neither a verb nor a file. */
int mpl_unknown_word(char *word);

/* -- Interpreter ---------------------------------------------------------------------------- */

/* Behave like lua5.4 on argv[first] and what follows. Everything from argv[0] to the script
 * counts down to negative indices of `arg`. */
int mpl_interpreter(int argc, char **argv, int first);

/* The prompt: read, evaluate, print, until the end of the input. */
void mpl_prompt(lua_State *L);
/* Is there a line editor in this build? */
bool mpl_prompt_can_edit(void);

/* lua_pcall with a traceback, which an interrupt signal ends with an error. */
int mpl_call(lua_State *L, int arguments, int results);
/* Complain about the error on top of the stack, and pop it. */
void mpl_report(lua_State *L);

/* -- Console: files and streams for the verbs ------------------------------------------------- */

typedef struct mpl_console {
    char buffer[65536];
    size_t filled; /* bytes of standard output not yet written */
} mpl_console;

/* The library `moonplan.console`, with the console as its one upvalue. */
int mpl_console_open(lua_State *L);
/* Write out what is left; false and errno when that fails. */
bool mpl_console_flush(mpl_console *console);
/* The same, and the end where it fails: there is no use in going on when results cannot be
 * written. */
void mpl_flush_or_end(mpl_console *console);
/* What to do about a failed write to standard output: complains, gives the exit code. The error is
 * 0 where it is not known any more. */
int mpl_output_failed(int error);

#endif
