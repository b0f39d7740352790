/* SPDX-License-Identifier: MIT */
/* top_screen: draws top on a terminal, in place, and reads keys.
 *
 * The terminal is put back however this ends: by a key, by the end of the program, by a
 * signal (they come through a descriptor, so the way out is always the same), and by a
 * fault of our own (the handler below).  Only SIGKILL leaves it as it is. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cut_file.h"
#include "cli/live/verb_top.h"
#include "cli/say.h"

#ifdef HAVE_NCURSES
#include <curses.h>

enum {
    KEY_ESCAPE = 27,
    LEAST_RATE = 1,
    MOST_RATE = 100000,
    REFRESH_MS = 50, /* the end of the program is seen within this */
};

struct screen {
    struct sd_top *top;
    bool has_help, is_typing, must_quit, is_dirty;
    size_t first; /* row at the top: scrolled down by this many */
    uint64_t due_ns;
    char message[96];
};

/* --- Faults */

static const int faults[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
enum { N_FAULTS = sizeof faults / sizeof faults[0] };

/* The terminal as it was; a handler can know it in no other way. */
static struct termios given;

static void on_fault(int number, siginfo_t *info, void *context)
{
    static const char back[] = "\033[?1049l\033[?25h\033[0m\r\n";
    ssize_t done;

    (void)context;
    if (number == SIGBUS && sd_cut_file_mend(info))
        return;
    done = write(STDOUT_FILENO, back, sizeof back - 1);
    (void)done;
    tcsetattr(STDIN_FILENO, TCSANOW, &given);
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_faults(bool is_on)
{
    const struct sigaction on = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    const struct sigaction off = { .sa_handler = SIG_DFL };

    for (size_t i = 0; i < N_FAULTS; i++)
        sigaction(faults[i], is_on ? &on : &off, NULL);
    if (!is_on)
        sd_cut_file_watch();
}

/* --- Drawing */

static void put_at(int y, struct sd_buf *line, attr_t how)
{
    move(y, 0);
    clrtoeol();
    attrset((int)how);
    if (!line->bad && line->n)
        addnstr((const char *)line->p, (int)line->n);
    attrset(A_NORMAL);
    sd_buf_clear(line);
}

/* The heading in reverse, over the whole width, with the sort column underlined. */
static void put_heading(struct screen *s, int y, struct sd_buf *line)
{
    int from, n;

    sd_top_column(&s->top->view, &from, &n);
    sd_top_put_heading(line, &s->top->view, (size_t)COLS);
    while (line->n < (size_t)COLS)
        sd_buf_u8(line, ' ');
    put_at(y, line, A_REVERSE);
    if (from + n < COLS)
        mvchgat(y, from, n, A_REVERSE | A_UNDERLINE | A_BOLD, 0, NULL);
}

static const char *const help[] = {
    "q  Control-C   quit",
    "s              sort by the next column",
    "1 2 3 4        sort by %Own, %Total, OwnTime, TotalTime",
    "p              pause, and go on",
    "r              begin again from zero",
    "/              search: show rows that contain a text; Enter keeps, Escape clears",
    "t              threads, and functions again",
    "l              by line, and by function again",
    "+  -           more and fewer samples a second",
    "Up Down PgUp PgDn Home    scroll",
    "?              this help; any key leaves it",
};

static void draw_help(void)
{
    for (int i = 0; i < LINES; i++) {
        struct sd_buf line = { 0 };
        size_t n = sizeof help / sizeof help[0];

        if (i == 0)
            sd_buf_text(&line, "Keys");
        else if (i >= 2 && (size_t)i - 2 < n)
            sd_buf_text(&line, help[i - 2]);
        if (line.n > (size_t)COLS)
            line.n = (size_t)COLS;
        put_at(i, &line, i == 0 ? A_BOLD : A_NORMAL);
        sd_buf_release(&line);
    }
}

static void draw_foot(struct screen *s, int y, struct sd_buf *line)
{
    const struct sd_top *t = s->top;

    if (s->is_typing)
        sd_buf_printf(line, "/%s", t->view.filter);
    else if (*s->message)
        sd_buf_text(line, s->message);
    else if (t->shown.has_ended && (!t->shown.is_file || t->child))
        sd_buf_text(line, "the program has ended; q quits");
    else
        sd_buf_text(line, "q quit  s sort  t threads  / search  p pause  ? help");
    line->n = sd_text_fit((const char *)line->p, line->n, (size_t)COLS);
    put_at(y, line, A_DIM);
}

static void draw_table(struct screen *s)
{
    struct sd_top *t = s->top;
    struct sd_buf line = { 0 };
    int y, first = SD_TOP_HEAD + 2;

    for (y = 0; y < SD_TOP_HEAD && y < LINES; y++) {
        sd_top_put_head(&line, &t->shown, &t->view, y, (size_t)COLS);
        put_at(y, &line, y == 0 ? A_BOLD : A_NORMAL);
    }
    put_at(y++, &line, A_NORMAL);
    if (y < LINES)
        put_heading(s, y, &line);
    if (s->first >= t->shown.n_order)
        s->first = t->shown.n_order ? t->shown.n_order - 1 : 0;
    for (y = first; y < LINES - 1; y++) {
        size_t i = s->first + (size_t)(y - first);

        if (i < t->shown.n_order)
            sd_top_put_row(&line, &t->shown, &t->view, i, (size_t)COLS);
        put_at(y, &line, A_NORMAL);
    }
    if (LINES > first)
        draw_foot(s, LINES - 1, &line);
    sd_buf_release(&line);
}

static void draw(struct screen *s)
{
    if (s->has_help)
        draw_help();
    else
        draw_table(s);
    /* Whole rows, not the differences between two screens: who records a terminal, or
     * has it read aloud, gets names together with their figures. */
    redrawwin(stdscr);
    refresh();
    s->is_dirty = false;
}

/* --- Keys */

static void change_rate(struct screen *s, bool is_up)
{
    struct sd_rounds *r = s->top->rounds;
    uint64_t rate;

    if (!r)
        return;
    rate = 1000000000u / r->period_ns;
    rate = is_up ? rate * 2 : rate / 2;
    if (rate < LEAST_RATE)
        rate = LEAST_RATE;
    if (rate > MOST_RATE)
        rate = MOST_RATE;
    sd_rounds_set_period(r, 1000000000u / rate);
    s->top->shown.rate = rate;
}

static void toggle_pause(struct screen *s)
{
    if (!s->top->rounds)
        return;
    s->top->shown.is_paused = !s->top->shown.is_paused;
    sd_rounds_set_paused(s->top->rounds, s->top->shown.is_paused);
}

static void reset(struct screen *s)
{
    if (s->top->rounds && !s->top->shown.has_ended) {
        sd_rounds_reset(s->top->rounds);
        s->due_ns = 0;
    }
}

static void scroll_by(struct screen *s, long n)
{
    long at = (long)s->first + n;

    s->first = at < 0 ? 0 : (size_t)at;
}

/* While a text to search for is typed. */
static void type(struct screen *s, int key)
{
    char *filter = s->top->view.filter;
    size_t n = strlen(filter);

    if (key == KEY_ESCAPE)
        *filter = 0;
    if (key == KEY_ESCAPE || key == '\n' || key == '\r' || key == KEY_ENTER) {
        s->is_typing = false;
    } else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
        while (n > 0 && (filter[n - 1] & 0xc0) == 0x80)
            n--; /* a whole character */
        filter[n > 0 ? n - 1 : 0] = 0;
    } else if (key >= ' ' && key <= 0xff && n + 1 < SD_TOP_FILTER) {
        filter[n] = (char)key; /* bytes of UTF-8 come one by one */
        filter[n + 1] = 0;
    }
    s->first = 0;
}

static void press_view(struct screen *s, int key)
{
    struct sd_top_view *v = &s->top->view;

    switch (key) {
    case 's':
        v->sort = (enum sd_top_sort)((v->sort + 1) % SD_TOP_SORTS);
        break;
    case '1':
    case '2':
    case '3':
    case '4':
        v->sort = (enum sd_top_sort)(key - '1');
        break;
    case 't':
        v->has_threads = !v->has_threads;
        break;
    case 'l':
    case 'L':
        v->is_by_line = !v->is_by_line;
        break;
    case KEY_DOWN:
        scroll_by(s, 1);
        return;
    case KEY_UP:
        scroll_by(s, -1);
        return;
    case KEY_NPAGE:
        scroll_by(s, LINES - SD_TOP_HEAD - 3);
        return;
    case KEY_PPAGE:
        scroll_by(s, -(LINES - SD_TOP_HEAD - 3));
        return;
    default:
        break;
    }
    s->first = 0;
}

static void press(struct screen *s, int key)
{
    s->is_dirty = true;
    s->message[0] = 0;
    if (s->has_help && key != 'q') {
        s->has_help = false;
        return;
    }
    if (s->is_typing) {
        type(s, key);
        return;
    }
    switch (key) {
    case 'q':
    case 'Q':
        s->must_quit = true;
        break;
    case '?':
    case 'h':
        s->has_help = true;
        break;
    case '/':
        s->is_typing = true;
        s->top->view.filter[0] = 0;
        break;
    case 'p':
        toggle_pause(s);
        break;
    case 'r':
    case 'R':
        reset(s);
        break;
    case '+':
    case '=':
        change_rate(s, true);
        break;
    case '-':
        change_rate(s, false);
        break;
    default:
        press_view(s, key);
    }
}

/* --- Signals */

static void resize(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
    clear();
}

/* Control-Z: the shell gets its terminal back until we are continued. */
static void stop(void)
{
    def_prog_mode();
    endwin();
    kill(getpid(), SIGSTOP);
    reset_prog_mode();
    resize();
}

static void on_signal(struct screen *s)
{
    struct signalfd_siginfo info;

    if (read(s->top->signals, &info, sizeof info) != sizeof info)
        return;
    s->is_dirty = true;
    if (info.ssi_signo == SIGWINCH)
        resize();
    else if (info.ssi_signo == SIGTSTP)
        stop();
    else if (info.ssi_signo == SIGCHLD)
        sd_top_child_reap(s->top->child);
    else
        s->top->ended_by = (int)info.ssi_signo;
}

/* --- The loop */

static void look_again(struct screen *s, uint64_t now)
{
    struct sd_top *t = s->top;

    if (t->shown.has_ended && s->due_ns)
        return; /* the last picture stays */
    s->due_ns = now + t->delay_ns;
    if (sd_top_take(t) < 0)
        snprintf(s->message, sizeof s->message, "%s", sd_fail_text());
    s->is_dirty = true;
}

static bool has_ended(struct sd_top *t)
{
    bool is_so;

    if (!t->rounds || t->shown.has_ended)
        return false;
    pthread_mutex_lock(&t->rounds->lock);
    is_so = t->rounds->has_ended;
    pthread_mutex_unlock(&t->rounds->lock);
    return is_so;
}

static void loop(struct screen *s)
{
    struct sd_top *t = s->top;

    while (!s->must_quit && !t->ended_by) {
        struct pollfd p[2] = { { STDIN_FILENO, POLLIN, 0 }, { t->signals, POLLIN, 0 } };
        uint64_t now = sd_clock_ns();
        int key;

        if (t->until_ns && now >= t->until_ns)
            break;
        if (now >= s->due_ns || has_ended(t))
            look_again(s, now);
        if (s->is_dirty && sd_top_arrange(&t->shown, &t->view) == 0)
            draw(s);
        if (poll(p, 2, REFRESH_MS) <= 0)
            continue;
        if (p[1].revents)
            on_signal(s);
        if (p[0].revents & (POLLHUP | POLLERR))
            s->must_quit = true; /* the terminal is gone */
        while ((key = getch()) != ERR)
            press(s, key);
    }
}

int sd_top_screen(struct sd_top *t)
{
    struct screen s = { .top = t };
    SCREEN *terminal;
    int rc = sd_top_take(t); /* what fails at once is said without a screen */

    if (rc < 0)
        return rc;
    tcgetattr(STDIN_FILENO, &given);
    set_escdelay(25);
    terminal = newterm(NULL, stdout, stdin);
    if (!terminal)
        return sd_fail(SD_ELACKS,
                       "the terminal \"%s\" is not known here; set TERM to another",
                       getenv("TERM") ? getenv("TERM") : "");
    watch_faults(true);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    loop(&s);
    endwin();
    delscreen(terminal);
    tcsetattr(STDIN_FILENO, TCSANOW, &given);
    watch_faults(false);
    return 0;
}

#else

int sd_top_screen(struct sd_top *t)
{
    (void)t;
    return sd_fail(SD_ELACKS,
                   "this build cannot draw a screen: it was made without ncurses");
}
#endif
