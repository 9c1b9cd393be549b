// `weir top`: a server's rates, denials and subjects, live in a terminal.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/top_screen.h"
#include "cli/verbs.h"

namespace weir::cli {
namespace {

// With as many rules as a server tells of: the screen sorts and filters them.
constexpr const char* kLook = "/overview?rules=1000";

struct TopOptions {
  double every = 1;
  std::int64_t frames = 0;
  ServerOptions server;
};

volatile std::sig_atomic_t g_top_ended = 0;
void end_top(int) { g_top_ended = 1; }

// The terminal without line editing, on its other screen, until this object goes.
class RawScreen {
 public:
  explicit RawScreen(std::ostream& out) : out_(out) {
    has_input_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_input_) {
      termios raw = before_;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      raw.c_cc[VMIN] = 0;
      raw.c_cc[VTIME] = 0;
      ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    out_ << "\x1b[?1049h\x1b[?25l" << std::flush;
  }
  ~RawScreen() {
    out_ << "\x1b[?25h\x1b[?1049l" << std::flush;
    if (has_input_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawScreen(const RawScreen&) = delete;
  RawScreen& operator=(const RawScreen&) = delete;

  void show(const std::vector<std::string>& lines) {
    std::string frame = "\x1b[H";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      frame += lines[i] + "\x1b[K";
      if (i + 1 < lines.size()) frame += "\r\n";
    }
    out_ << frame << "\x1b[J" << std::flush;
  }

  // The next key within the time; 0: none.
  static char key(int wait_ms) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    char pressed = 0;
    if (::poll(&input, 1, wait_ms) <= 0 || ::read(STDIN_FILENO, &pressed, 1) != 1) return 0;
    return pressed;
  }

 private:
  std::ostream& out_;
  termios before_{};
  bool has_input_ = false;
};

winsize terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    size.ws_col = 80;
    size.ws_row = 24;
  }
  return size;
}

// False: quit.
bool press(char key, TopState& state) {
  constexpr char kEscape = 27;
  constexpr char kDelete = 127;
  if (state.typing) {
    if (key == '\n' || key == '\r') {
      state.typing = false;
    } else if (key == kEscape) {
      state.typing = false;
      state.filter.clear();
    } else if (key == kDelete || key == '\b') {
      if (!state.filter.empty()) state.filter.pop_back();
    } else if (key >= ' ' && state.filter.size() < 64) {
      state.filter += key;
    }
    return true;
  }
  switch (key) {
    case 'q':
      return false;
    case 'p':
    case ' ':
      state.paused = !state.paused;
      break;
    case 's':
      state.sort = state.sort == TopSort::denied   ? TopSort::passed
                   : state.sort == TopSort::passed ? TopSort::name
                                                   : TopSort::denied;
      break;
    case '/':
      state.typing = true;
      break;
    case kEscape:
      state.filter.clear();
      break;
    case 'h':
    case '?':
      state.help = !state.help;
      break;
    default:
      break;
  }
  return true;
}

int run_top(const TopOptions& options, const Terminal& terminal, AdminClient& client, Overview now) {
  TopState state;
  RawScreen screen(terminal.out);
  std::signal(SIGINT, end_top);
  std::signal(SIGTERM, end_top);
  using Clock = std::chrono::steady_clock;
  const auto period = std::chrono::milliseconds(static_cast<std::int64_t>(options.every * 1000));
  Clock::time_point next = Clock::now() + period;
  std::int64_t shown_frames = 0;
  while (g_top_ended == 0) {
    const winsize size = terminal_size();
    screen.show(top_screen(now, state, size.ws_col, size.ws_row, terminal));
    // A key, or a look at the terminal's size, several times a second.
    const char key = RawScreen::key(100);
    if (key != 0 && !press(key, state)) break;
    if (Clock::now() < next) continue;
    next = Clock::now() + period;
    if (++shown_frames == options.frames) break;
    if (state.paused) continue;
    const Result<AdminAnswer> answer = client.look(kLook);
    state.trouble = answer.ok() ? "" : answer.failure().message + "; trying again";
    if (answer.ok()) now = read_overview(answer.value().view());
  }
  return kExitAllowed;
}

int top(const TopOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir top", false, failure, admin_hint_for(failure));
  };
  if (::isatty(STDOUT_FILENO) == 0) {
    return fail({Code::invalid_argument, "standard output is not a terminal; use `weir status` in scripts"});
  }
  Result<ServerTarget> target = admin_target(options.server, terminal);
  if (!target.ok()) return fail(target.failure());
  AdminClient client(std::move(target).value());
  const Result<AdminAnswer> first = client.look(kLook);
  if (!first.ok()) return fail(first.failure());
  return run_top(options, terminal, client, read_overview(first.value().view()));
}

}  // namespace

void add_top(CLI::App& parent, Session& session) {
  Command verb(parent, "top", "Watch a server in the terminal: rates, denials, subjects");
  const auto options = std::make_shared<TopOptions>();
  verb.number("--every", options->every, 0.2, 3600.0, "Seconds between updates").value("SECONDS");
  verb.integer("--frames", options->frames, 0, 1'000'000'000, "Stop after this many updates; 0: never").value("COUNT");
  add_admin_options(verb, options->server);
  verb.footer(
      "Keys: q quits, p pauses, s sorts rules by denied, passed or "
      "name, / filters by a text, h shows help.\nNeeds no more "
      "than 80 columns and 24 rows.\nExit codes: 0 done, 2 bad "
      "input, 3 the server cannot be reached or "
      "refused.\n\nExamples:\n  weir top\n  weir top --admin "
      "https://weir.example:8082 --every 5");
  verb.action(session, [&session, options] { return top(*options, session.terminal); });
}

}  // namespace weir::cli
