#include "frontends/http/request_parser.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/ascii.h"

namespace weir::http {
namespace {

using CharSet = std::array<bool, 256>;

constexpr CharSet make_token_set() {
  CharSet set{};
  for (int c = '0'; c <= '9'; ++c) set[c] = true;
  for (int c = 'A'; c <= 'Z'; ++c) set[c] = set[c + 32] = true;
  for (const char c : {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'}) {
    set[static_cast<unsigned char>(c)] = true;
  }
  return set;
}

// What a Host field or an authority may consist of: no user, no path, no list.
constexpr CharSet make_host_set() {
  CharSet set = make_token_set();
  for (const char c : {'#', '^', '`', '|'}) set[static_cast<unsigned char>(c)] = false;
  for (const char c : {':', '[', ']', '(', ')', ';', '='}) set[static_cast<unsigned char>(c)] = true;
  return set;
}

constexpr CharSet kToken = make_token_set();
constexpr CharSet kHost = make_host_set();

bool all_in(const CharSet& set, std::string_view text) {
  for (const char c : text) {
    if (!set[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

bool is_token(std::string_view text) { return !text.empty() && all_in(kToken, text); }

// Field values and extensions: visible characters, space, tab and bytes above ASCII; no other control.
bool is_field_text(std::string_view text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x8080808080808080;
  std::size_t i = 0;
  // Eight at a time while nothing is below space or equal to DEL; the exact test looks again at the rest.
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    const std::uint64_t below_space = (word - kOnes * 0x20) & ~word & kHighs;
    const std::uint64_t del = word ^ (kOnes * 0x7f);
    if ((below_space | ((del - kOnes) & ~del & kHighs)) != 0) break;
  }
  for (; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t') || c == 0x7f) return false;
  }
  return true;
}

bool is_target_text(std::string_view text) {
  for (const char c : text) {
    if (c <= 0x20 || c >= 0x7f || c == '#') return false;
  }
  return true;
}

}  // namespace

const HttpField* HttpRequest::find(std::string_view name) const {
  for (const HttpField& field : fields) {
    if (base::same_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

void RequestParser::reset() {
  phase_ = Phase::request_line;
  partial_ = skipped_blank_ = absolute_target_ = has_host_ = has_length_ = chunked_ = false;
  asks_close_ = asks_keep_alive_ = expects_continue_ = false;
  scan_ = line_scan_ = head_end_ = trailers_begin_ = body_limit_ = 0;
  length_ = 0;
  field_ranges_.clear();
  if (decoded_.capacity() > limits_.body_bytes) std::string().swap(decoded_);
  decoded_.clear();
}

RequestParser::State RequestParser::fail(int status, const char* detail) {
  error_ = {status, detail};
  return State::failed;
}

// The next line without its CRLF, counted as dealt with. `bad`: no end within `limit` bytes, or an end that is not
// CRLF; error_ is set in the latter case.
RequestParser::Line RequestParser::next_line(std::string_view bytes, std::size_t limit, std::string_view& line) {
  const std::size_t from = line_scan_ > scan_ ? line_scan_ : scan_;
  const void* found = from < bytes.size() ? std::memchr(bytes.data() + from, '\n', bytes.size() - from) : nullptr;
  if (found == nullptr) {
    line_scan_ = bytes.size();
    partial_ = bytes.size() > scan_;
    error_ = {};
    // Its CR may be the last byte that is there.
    return bytes.size() - scan_ > limit + 1 ? Line::bad : Line::none;
  }
  const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
  error_ = {};
  if (end - scan_ > limit + 1) return Line::bad;
  if (end == scan_ || bytes[end - 1] != '\r') {
    error_ = {400, "a line ends in a bare LF"};
    return Line::bad;
  }
  line = bytes.substr(scan_, end - 1 - scan_);
  scan_ = line_scan_ = end + 1;
  partial_ = false;
  return Line::found;
}

RequestParser::State RequestParser::parse(std::string_view bytes) {
  while (phase_ == Phase::request_line || phase_ == Phase::fields) {
    std::string_view line;
    const bool first = phase_ == Phase::request_line;
    const std::size_t room = limits_.header_bytes > scan_ ? limits_.header_bytes - scan_ : 0;
    const std::size_t limit = first && limits_.request_line_bytes < room ? limits_.request_line_bytes : room;
    const Line outcome = next_line(bytes, limit, line);
    if (outcome == Line::none) return State::need_more;
    if (outcome == Line::bad) {
      if (*error_.detail != '\0') return State::failed;
      return first ? fail(414, "the request line is too long") : fail(431, "the header fields are too large");
    }
    if (first) {
      if (line.empty() && !skipped_blank_) {
        skipped_blank_ = true;
        continue;
      }
      if (!parse_request_line(bytes, line)) return State::failed;
      phase_ = Phase::fields;
    } else if (line.empty()) {
      if (!finish_head()) return State::failed;
      head_end_ = scan_;
      phase_ = Phase::head;
      refer_to(bytes);
      return State::head;
    } else if (!parse_field(bytes, line)) {
      return State::failed;
    }
  }
  if (phase_ == Phase::head) return enter_body(bytes);
  return phase_ == Phase::sized_body ? parse_sized_body(bytes) : parse_chunks(bytes);
}

bool RequestParser::parse_request_line(std::string_view bytes, std::string_view line) {
  const auto refuse = [this](int status, const char* detail) {
    error_ = {status, detail};
    return false;
  };
  const std::size_t method_end = line.find(' ');
  const std::size_t target_end = line.rfind(' ');
  if (method_end == std::string_view::npos || target_end == method_end) {
    return refuse(400, "the request line is not: method, target, version");
  }
  const std::string_view method = line.substr(0, method_end);
  if (method.size() > kMaxMethodBytes || !is_token(method)) return refuse(400, "the method is not a token");
  if (!parse_version(line.substr(target_end + 1))) return false;
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  if (target.empty() || !is_target_text(target)) return refuse(400, "the target has invalid characters");
  method_ = range(bytes, method);
  if (!parse_target(bytes, target)) return refuse(400, "the target is neither a path nor an http URI");
  return true;
}

bool RequestParser::parse_version(std::string_view version) {
  const bool shaped = version.size() == 8 && version.starts_with("HTTP/") && version[5] >= '0' && version[5] <= '9' &&
                      version[6] == '.' && version[7] >= '0' && version[7] <= '9';
  if (!shaped) {
    error_ = {400, "the version is not HTTP/1.1"};
    return false;
  }
  if (version[5] != '1') {
    error_ = {505, "only HTTP/1.1 and HTTP/1.0 are supported"};
    return false;
  }
  request_.minor_version = version[7] - '0';
  return true;
}

bool RequestParser::parse_target(std::string_view bytes, std::string_view target) {
  std::string_view path = target;
  if (target.front() != '/' && target != "*") {
    const std::size_t scheme_end = target.find("://");
    if (scheme_end == std::string_view::npos) return false;
    const std::string_view scheme = target.substr(0, scheme_end);
    if (!base::same_ignoring_case(scheme, "http") && !base::same_ignoring_case(scheme, "https")) return false;
    const std::size_t authority = scheme_end + 3;
    const std::size_t slash = target.find_first_of("/?", authority);
    const std::size_t authority_end = slash == std::string_view::npos ? target.size() : slash;
    if (authority == authority_end || !all_in(kHost, target.substr(authority, authority_end - authority))) return false;
    absolute_target_ = true;
    path = target.substr(authority_end);
  }
  const std::size_t question = path.find('?');
  path_ = range(bytes, path.substr(0, question));
  query_ = question == std::string_view::npos ? Range{} : range(bytes, path.substr(question + 1));
  return true;
}

bool RequestParser::parse_field(std::string_view bytes, std::string_view line) {
  const auto refuse = [this](int status, const char* detail) {
    error_ = {status, detail};
    return false;
  };
  if (line.front() == ' ' || line.front() == '\t') return refuse(400, "a header field is folded over two lines");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return refuse(400, "a header field has no colon");
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) return refuse(400, "a header field's name is not a token");
  const std::string_view value = base::trimmed(line.substr(colon + 1));
  if (!is_field_text(value)) return refuse(400, "a header field's value has a control character");
  if (phase_ == Phase::trailers) return true;
  if (field_ranges_.size() >= limits_.header_count) return refuse(431, "there are too many header fields");
  field_ranges_.push_back({range(bytes, name), range(bytes, value)});
  return note_field(name, value);
}

// The fields that decide where a message ends and what becomes of the connection.
bool RequestParser::note_field(std::string_view name, std::string_view value) {
  switch (name.size()) {
    case 4:
      if (!base::same_ignoring_case(name, "host")) break;
      if (has_host_ || !all_in(kHost, value)) {
        error_ = {400, has_host_ ? "there are two Host fields" : "the Host field is not a host"};
        return false;
      }
      has_host_ = true;
      break;
    case 6:
      if (!base::same_ignoring_case(name, "expect")) break;
      if (!base::same_ignoring_case(value, "100-continue")) {
        error_ = {417, "Expect: only 100-continue is supported"};
        return false;
      }
      expects_continue_ = true;
      break;
    case 10:
      if (base::same_ignoring_case(name, "connection")) return note_connection(value);
      break;
    case 14:
      if (base::same_ignoring_case(name, "content-length")) return note_content_length(value);
      break;
    case 17:
      if (!base::same_ignoring_case(name, "transfer-encoding")) break;
      if (chunked_ || !base::same_ignoring_case(value, "chunked")) {
        error_ = {400, "Transfer-Encoding: only chunked, once, is supported"};
        return false;
      }
      chunked_ = true;
      break;
    default:
      break;
  }
  return true;
}

bool RequestParser::note_content_length(std::string_view value) {
  constexpr std::size_t kMaxDigits = 18;
  // A second one is refused even if it is equal: another parser may have used the other one.
  bool good = !has_length_ && !value.empty() && value.size() <= kMaxDigits;
  std::uint64_t length = 0;
  for (const char c : value) {
    good = good && c >= '0' && c <= '9';
    if (!good) break;
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (!good) {
    error_ = {400, has_length_ ? "there are two Content-Length fields" : "Content-Length is not a length"};
    return false;
  }
  has_length_ = true;
  length_ = length;
  return true;
}

bool RequestParser::note_connection(std::string_view value) {
  while (!value.empty()) {
    const std::size_t comma = value.find(',');
    const std::string_view option = base::trimmed(value.substr(0, comma));
    if (base::same_ignoring_case(option, "close")) asks_close_ = true;
    if (base::same_ignoring_case(option, "keep-alive")) asks_keep_alive_ = true;
    value = comma == std::string_view::npos ? std::string_view() : value.substr(comma + 1);
  }
  return true;
}

bool RequestParser::finish_head() {
  const char* wrong = nullptr;
  if (chunked_ && has_length_) wrong = "both Content-Length and Transfer-Encoding are given";
  if (chunked_ && request_.minor_version == 0) wrong = "HTTP/1.0 has no transfer codings";
  if (!has_host_ && request_.minor_version > 0) wrong = "the Host field is missing";
  if (wrong != nullptr) {
    error_ = {400, wrong};
    return false;
  }
  if (request_.minor_version == 0) expects_continue_ = false;
  request_.keep_alive = !asks_close_ && (request_.minor_version > 0 || asks_keep_alive_);
  return true;
}

RequestParser::State RequestParser::enter_body(std::string_view bytes) {
  if (chunked_) {
    phase_ = Phase::chunk_size;
    return parse_chunks(bytes);
  }
  if (length_ > body_limit_) return fail(413, "the body is too large");
  phase_ = Phase::sized_body;
  return parse_sized_body(bytes);
}

RequestParser::State RequestParser::parse_sized_body(std::string_view bytes) {
  if (bytes.size() - head_end_ < length_) return State::need_more;
  scan_ = head_end_ + static_cast<std::size_t>(length_);
  return complete(bytes, bytes.substr(head_end_, static_cast<std::size_t>(length_)));
}

RequestParser::State RequestParser::parse_chunks(std::string_view bytes) {
  for (;;) {
    if (phase_ == Phase::chunk_data) {
      const std::size_t take = std::min<std::size_t>(bytes.size() - scan_, static_cast<std::size_t>(length_));
      decoded_.append(bytes, scan_, take);
      scan_ += take;
      length_ -= take;
      // A chunk that has not all arrived has nothing behind it.
      if (bytes.size() - scan_ < 2) {
        // The first wrong byte is refused even while the second is still on its way.
        if (scan_ < bytes.size() && bytes[scan_] != '\r') return fail(400, "a chunk does not end after its size");
        return State::need_more;
      }
      if (bytes[scan_] != '\r' || bytes[scan_ + 1] != '\n') return fail(400, "a chunk does not end after its size");
      scan_ += 2;
      phase_ = Phase::chunk_size;
    }
    if (!chunk_overhead_fits()) return fail(400, "the chunks are too small for what they carry");
    const bool trailing = phase_ == Phase::trailers;
    const std::size_t trailer_room =
        trailing ? kMaxTrailerBytes - std::min(kMaxTrailerBytes, scan_ - trailers_begin_) : 0;
    std::string_view line;
    const Line outcome = next_line(bytes, trailing ? trailer_room : kMaxChunkLine, line);
    if (outcome == Line::none) return State::need_more;
    if (outcome == Line::bad) {
      if (*error_.detail != '\0') return State::failed;
      return fail(400, trailing ? "the trailers are too large" : "a chunk's size line is too long");
    }
    if (trailing) {
      if (line.empty()) return complete(bytes, decoded_);
      if (!parse_field(bytes, line)) return State::failed;
      continue;
    }
    if (!parse_chunk_size(line)) return State::failed;
    phase_ = length_ == 0 ? Phase::trailers : Phase::chunk_data;
    trailers_begin_ = scan_;
  }
}

bool RequestParser::parse_chunk_size(std::string_view line) {
  constexpr std::size_t kMaxDigits = 15;
  std::size_t digits = 0;
  length_ = 0;
  while (digits < line.size() && digits <= kMaxDigits && base::hex_digit(line[digits]) >= 0) {
    length_ = length_ * 16 + static_cast<std::uint64_t>(base::hex_digit(line[digits]));
    ++digits;
  }
  const std::string_view rest = line.substr(digits);
  if (digits == 0 || digits > kMaxDigits || (!rest.empty() && rest.front() != ';') || !is_field_text(rest)) {
    error_ = {400, "a chunk's size is not a hexadecimal number"};
    return false;
  }
  if (length_ > body_limit_ - decoded_.size()) {
    error_ = {413, "the body is too large"};
    return false;
  }
  return true;
}

// A chunk of one byte takes six: without this bound the buffer would fill before the body's limit is seen.
bool RequestParser::chunk_overhead_fits() const { return scan_ - head_end_ - decoded_.size() <= kMaxChunkOverhead; }

RequestParser::State RequestParser::complete(std::string_view bytes, std::string_view body) {
  if (referred_ != bytes.data()) refer_to(bytes);
  request_.body = body;
  return State::complete;
}

void RequestParser::refer_to(std::string_view bytes) {
  request_.method = method_.in(bytes);
  request_.path = path_.in(bytes);
  // An absolute URI without a path means the root.
  if (request_.path.empty() && absolute_target_) request_.path = "/";
  request_.query = query_.in(bytes);
  fields_.clear();
  for (const FieldRange& field : field_ranges_) fields_.push_back({field.name.in(bytes), field.value.in(bytes)});
  request_.fields = fields_;
  request_.body = {};
  referred_ = bytes.data();
}

}  // namespace weir::http
