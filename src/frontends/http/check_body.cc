#include "frontends/http/check_body.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "base/attributes.h"
#include "base/utf8.h"
#include "frontends/http/json_fault.h"
#include "weir/allowance.h"

namespace weir::http {

namespace ondemand = simdjson::ondemand;

struct CheckBody::Json {
  ondemand::parser parser;
  std::unique_ptr<char[]> text;  // the body, with the padding that simdjson wants behind it
  std::size_t capacity = 0;
  const char* broken = nullptr;  // in `text`: the first byte of a body that is not UTF-8; mostly there is none

  simdjson::padded_string_view pad(std::string_view body) {
    const std::size_t needed = body.size() + simdjson::SIMDJSON_PADDING;
    if (capacity < needed) {
      capacity = std::max<std::size_t>(needed, 4096);
      text = std::make_unique<char[]>(capacity);
    }
    if (!body.empty()) std::memcpy(text.get(), body.data(), body.size());
    std::memset(text.get() + body.size(), ' ', simdjson::SIMDJSON_PADDING);
    broken = nullptr;
    return simdjson::padded_string_view(text.get(), body.size(), capacity);
  }

  // Every byte of `text` that is not UTF-8 becomes a question mark: the body can then be read up to the member that has
  // the first of them, and that member be named.
  simdjson::padded_string_view replace_invalid(std::size_t size) {
    for (std::size_t at = 0; at < size;) {
      const std::size_t length = base::utf8_sequence({text.get() + at, size - at});
      if (length == 0) {
        if (broken == nullptr) broken = text.get() + at;
        text[at] = '?';
      }
      at += std::max<std::size_t>(length, 1);
    }
    return simdjson::padded_string_view(text.get(), size, capacity);
  }
};

namespace {

constexpr std::size_t kShownName = 64;
constexpr std::size_t kMaxNumber = 40;
constexpr std::string_view kPriority = "priority";

Failure bad(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// A member's name in a message: a stranger's text, so never at full length.
std::string shown(std::string_view name) {
  if (name.size() <= kShownName) return std::string(name);
  std::size_t cut = kShownName;
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xc0) == 0x80) --cut;
  return std::string(name.substr(0, cut)) + "…";
}

constexpr std::string_view kNotJson = "the body is not valid JSON";

std::string json_fault(simdjson::error_code error) {
  if (error == simdjson::UTF8_ERROR) return "the body is not valid UTF-8";
  if (error == simdjson::EMPTY) return "the body is empty; expected a JSON object";
  return std::string(kNotJson) + ": " + simdjson::error_message(error);
}

constexpr std::string_view kMoreAfterObject = "the body has something after the end of its JSON object";

// Whether the object that `body` begins with is closed, and something other than white space follows it.
bool has_more_after_object(std::string_view body) {
  constexpr std::string_view kWhiteSpace = " \t\r\n";
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const char c = body[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return depth == 1 && body.find_first_not_of(kWhiteSpace, at + 1) != std::string_view::npos;
      --depth;
    }
  }
  return false;
}

// What simdjson found, with the place and what was expected there.
Status located(const Status& status, std::string_view body) {
  const std::string& message = status.failure().message;
  const bool more = message.starts_with(kMoreAfterObject);
  if (!more && !message.starts_with(kNotJson)) return status;
  const std::optional<JsonFault> fault = find_json_fault(body);
  if (!fault) return status;
  const std::string place = " at " + line_and_column(body, fault->offset);
  if (more) return bad(std::string(kMoreAfterObject) + "," + place);
  return bad(std::string(kNotJson) + place + ": expected " + fault->expected);
}

// simdjson looks at the last character first, and takes an object that does not end the body for one without an end.
std::string document_fault(simdjson::error_code error, std::string_view body) {
  const bool no_end = error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT || error == simdjson::UNCLOSED_STRING;
  if (no_end && has_more_after_object(body)) return std::string(kMoreAfterObject);
  return json_fault(error);
}

// A string without escapes, from behind its opening quote, read in place. False: it has escapes. The first pass
// over the document has already refused control characters, invalid UTF-8 and strings without an end.
bool read_plain(const char* begin, std::string_view& text) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x8080808080808080;
  const auto zeros = [](std::uint64_t word) { return (word - kOnes) & ~word; };
  const char* end = begin;
  std::uint64_t found = 0;
  // Eight at a time up to the word that has the end: the padding behind the document may be read.
  for (;; end += 8) {
    std::uint64_t word;
    std::memcpy(&word, end, 8);
    found = (zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\\'))) & kHighs;
    if (found != 0) break;
  }
  // The lowest mark is exact, and with little-endian words it is the first character.
  static_assert(std::endian::native == std::endian::little);
  end += std::countr_zero(found) / 8;
  text = {begin, static_cast<std::size_t>(end - begin)};
  return *end == '"';
}

simdjson::error_code read_name(simdjson::simdjson_result<ondemand::field>& field, std::string_view& name) {
  ondemand::raw_json_string raw;
  if (auto error = field.key().get(raw)) return error;
  if (read_plain(raw.raw(), name)) return simdjson::SUCCESS;
  return field.unescaped_key().get(name);
}

simdjson::error_code read_string(ondemand::value& value, std::string_view& text) {
  const std::string_view token = value.raw_json_token();
  if (token.empty() || token.front() != '"') return simdjson::INCORRECT_TYPE;
  if (!read_plain(token.data() + 1, text)) return value.get_string().get(text);
  return value.get_raw_json_string().error();
}

// Which members one request may have beside attributes, cost and priority.
struct Accepts {
  bool peek = false;
  bool wait_ms = false;
};

enum Member : unsigned { kAttributes = 1, kCost = 2, kPeek = 4, kPriorityMember = 8, kWaitMs = 16 };

unsigned member_of(std::string_view name, const Accepts& accepts) {
  if (name == "attributes") return kAttributes;
  if (name == "cost") return kCost;
  if (name == kPriority) return kPriorityMember;
  if (name == "peek" && accepts.peek) return kPeek;
  if (name == "wait_ms" && accepts.wait_ms) return kWaitMs;
  return 0;
}

}  // namespace

// One request's members. Appends to the body's attributes; `where` goes before every member's name in messages.
class CheckBody::Reader {
 public:
  Reader(CheckBody& body, Accepts accepts, const std::string& where)
      : body_(body), accepts_(accepts), where_(where), first_(body.attributes_.size()), broken_(body.json_->broken) {}

  Status read(ondemand::object object) {
    for (auto field : object) {
      std::string_view name;
      if (auto error = read_name(field, name)) return bad(json_fault(error));
      ondemand::value value;
      if (auto error = field.value().get(value)) return bad(json_fault(error));
      const unsigned member = member_of(name, accepts_);
      if (member == 0) return fault(shown(name), "is not known here");
      if ((seen_ & member) != 0) return fault(shown(name), "is given twice");
      seen_ |= member;
      if (Status status = read_member(member, value); !status.ok()) return status;
    }
    if ((seen_ & kAttributes) == 0) return fault("attributes", "is missing");
    return finish();
  }

 private:
  Status fault(std::string_view member, std::string_view what) const {
    return bad(where_ + std::string(member) + ": " + std::string(what));
  }

  // Whether what has been read up to `end` has bytes that are not UTF-8.
  bool broken_before(const char* end) const { return broken_ != nullptr && broken_ < end; }
  bool broken_in(ondemand::value& value) const {
    if (broken_ == nullptr) return false;
    const std::string_view token = value.raw_json_token();
    return broken_before(token.data() + token.size());
  }

  Status read_member(unsigned member, ondemand::value value) {
    switch (member) {
      case kAttributes:
        return read_attributes(value);
      case kCost: {
        const std::string_view expected = "must be a whole number from 0 to 1000000000000";
        static_assert(kMaxUnits == 1'000'000'000'000);
        return read_whole(value, kMaxUnits, "cost", expected, request_.cost.units);
      }
      case kPeek:
        if (value.get_bool().get(request_.peek)) return fault("peek", "must be true or false");
        return success();
      case kPriorityMember:
        return read_priority(value);
      default:
        static_assert(kMaxWaitMs == 30'000);
        return read_whole(value, kMaxWaitMs, "wait_ms", "must be a whole number from 0 to 30000", body_.wait_ms_);
    }
  }

  Status read_whole(ondemand::value value, std::int64_t most, std::string_view member, std::string_view expected,
                    std::int64_t& out) {
    if (value.get_int64().get(out) || out < 0 || out > most) return fault(member, expected);
    return success();
  }

  Status read_priority(ondemand::value value) {
    if (broken_in(value)) return fault(kPriority, "is not valid UTF-8");
    if (read_string(value, priority_)) return fault(kPriority, "must be a string");
    if (priority_.empty() || priority_.size() > kMaxPriority) return fault(kPriority, "must have 1 to 32 bytes");
    if (priority_.find('\0') != std::string_view::npos) return fault(kPriority, "must not contain NUL");
    return success();
  }

  Status read_attributes(ondemand::value value) {
    ondemand::object object;
    if (value.get_object().get(object)) return fault("attributes", "must be an object");
    for (auto field : object) {
      std::string_view name;
      if (auto error = read_name(field, name)) return bad(json_fault(error));
      ondemand::value held;
      if (auto error = field.value().get(held)) return bad(json_fault(error));
      if (broken_before(held.raw_json_token().data())) return attribute_fault(name, "the name is not valid UTF-8");
      if (Status status = check_name(name); !status.ok()) return status;
      ondemand::json_type type;
      if (auto error = held.type().get(type)) return bad(json_fault(error));
      Status status = type == ondemand::json_type::array ? read_values(name, held) : read_value(name, held);
      if (!status.ok()) return status;
    }
    return success();
  }

  Status check_name(std::string_view name) const {
    if (name.empty()) return fault("attributes", "a name is empty");
    const std::string_view wrong = base::attribute_name_fault(name);
    if (!wrong.empty()) return attribute_fault(name, "the name " + std::string(wrong));
    if (name.find('\0') != std::string_view::npos) return attribute_fault(name, "the name must not contain NUL");
    for (std::size_t i = first_; i < body_.attributes_.size(); ++i) {
      if (body_.attributes_[i].name == name)
        return attribute_fault(name, "is given twice; several values go in an array");
    }
    return success();
  }

  Status attribute_fault(std::string_view name, std::string_view what) const {
    return fault("attributes." + shown(name), what);
  }

  Status read_values(std::string_view name, ondemand::value held) {
    ondemand::array values;
    if (auto error = held.get_array().get(values)) return bad(json_fault(error));
    bool any = false;
    for (auto element : values) {
      ondemand::value value;
      if (auto error = element.get(value)) return bad(json_fault(error));
      if (Status status = read_value(name, value); !status.ok()) return status;
      any = true;
    }
    if (!any) return attribute_fault(name, "the array is empty");
    return success();
  }

  Status read_value(std::string_view name, ondemand::value held) {
    if (broken_in(held)) return attribute_fault(name, "the value is not valid UTF-8");
    std::string_view value;
    if (auto error = read_string(held, value)) {
      if (error == simdjson::INCORRECT_TYPE) return read_other_value(name, held);
      return attribute_fault(name, "is not a valid JSON string");
    }
    const std::string_view wrong = base::attribute_value_fault(value);
    if (!wrong.empty()) return attribute_fault(name, "the value " + std::string(wrong));
    if (value.find('\0') != std::string_view::npos) return attribute_fault(name, "the value must not contain NUL");
    return add(name, value);
  }

  // Numbers and booleans become the text that rules compare with: true, false, and numbers as they are written. JSON
  // has one way to write a whole number, except for -0.
  Status read_other_value(std::string_view name, ondemand::value held) {
    const std::string_view token = held.raw_json_token();
    const std::string_view text = token.substr(0, std::min(token.find_first_of(" \t\r\n"), token.size()));
    if (text == "true" || text == "false") {
      bool ignored = false;
      if (auto error = held.get_bool().get(ignored)) return bad(json_fault(error));
      return add(name, text);
    }
    if (text.empty() || (text.front() != '-' && (text.front() < '0' || text.front() > '9'))) {
      return attribute_fault(name, "must be a string, a number, true or false, or an array of these");
    }
    if (text.size() > kMaxNumber) return attribute_fault(name, "has a number of more than 40 characters");
    static_assert(kMaxNumber == 40);
    double number = 0;
    if (held.get_double().get(number)) return attribute_fault(name, "is not a valid JSON number");
    return add(name, text == "-0" ? std::string_view("0") : text);
  }

  Status add(std::string_view name, std::string_view value) {
    static_assert(kMaxAttributes == 64);
    if (body_.attributes_.size() - first_ >= kMaxAttributes) return fault("attributes", "has more than 64 values");
    body_.attributes_.push_back({name, value});
    return success();
  }

  // The priority becomes an attribute, so that rules can match it.
  Status finish() {
    if ((seen_ & kPriorityMember) != 0) {
      for (std::size_t i = first_; i < body_.attributes_.size(); ++i) {
        if (body_.attributes_[i].name == kPriority) return fault(kPriority, "is also among the attributes");
      }
      if (Status status = add(kPriority, priority_); !status.ok()) return status;
    }
    body_.requests_.push_back(request_);
    body_.attribute_ends_.push_back(body_.attributes_.size());
    return success();
  }

  CheckBody& body_;
  const Accepts accepts_;
  const std::string& where_;
  const std::size_t first_;  // this request's first attribute
  const char* const broken_;
  unsigned seen_ = 0;
  Request request_;
  std::string_view priority_;
};

CheckBody::CheckBody() : json_(std::make_unique<Json>()) {}
CheckBody::~CheckBody() = default;

template <typename Read>
Status CheckBody::read(std::string_view body, Read read_document) {
  Status status = read_strictly(body, read_document);
  return status.ok() ? status : located(status, body);
}

template <typename Read>
Status CheckBody::read_strictly(std::string_view body, Read read_document) {
  attributes_.clear();
  attribute_ends_.clear();
  requests_.clear();
  wait_ms_ = 0;
  ondemand::document document;
  auto fault = json_->parser.iterate(json_->pad(body)).get(document);
  if (fault == simdjson::UTF8_ERROR) fault = json_->parser.iterate(json_->replace_invalid(body.size())).get(document);
  if (fault) return bad(document_fault(fault, body));
  ondemand::object object;
  if (auto error = document.get_object().get(object)) {
    if (error == simdjson::INCORRECT_TYPE) return bad("the body must be a JSON object");
    return bad(document_fault(error, body));
  }
  if (Status status = read_document(object); !status.ok()) return status;
  if (json_->broken != nullptr) return bad(json_fault(simdjson::UTF8_ERROR));
  // The only sign of the end that this simdjson gives.
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) return bad(std::string(kMoreAfterObject));
  refer_to_attributes();
  return success();
}

Status CheckBody::read_check(std::string_view body) {
  const std::string where;
  return read(body, [&](ondemand::object object) {
    return Reader(*this, {.peek = true, .wait_ms = true}, where).read(object);
  });
}

Status CheckBody::read_refund(std::string_view body) {
  const std::string where;
  return read(body, [&](ondemand::object object) { return Reader(*this, {}, where).read(object); });
}

Status CheckBody::read_batch(std::string_view body) {
  return read(body, [&](ondemand::object object) -> Status {
    bool seen = false;
    for (auto field : object) {
      std::string_view name;
      if (auto error = read_name(field, name)) return bad(json_fault(error));
      if (name != "requests") return bad(shown(name) + ": is not known here");
      if (seen) return bad("requests: is given twice");
      seen = true;
      ondemand::array list;
      if (field.value().get_array().get(list)) return bad("requests: must be an array");
      for (auto element : list) {
        const std::string where = "requests[" + std::to_string(requests_.size()) + "].";
        if (requests_.size() == kMaxBatch) return bad("requests: has more than 1000 elements");
        static_assert(kMaxBatch == 1'000);
        ondemand::object one;
        if (auto error = element.get_object().get(one)) {
          if (error != simdjson::INCORRECT_TYPE) return bad(json_fault(error));
          return bad(where.substr(0, where.size() - 1) + ": must be an object");
        }
        if (Status status = Reader(*this, {.peek = true, .wait_ms = false}, where).read(one); !status.ok())
          return status;
      }
    }
    return seen ? success() : bad("requests: is missing");
  });
}

// Only now: the list of attributes moves while it grows.
void CheckBody::refer_to_attributes() {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    requests_[i].attributes = {attributes_.data() + begin, attribute_ends_[i] - begin};
    begin = attribute_ends_[i];
  }
}

void CheckBody::set_ingress(TimePoint time) {
  for (Request& request : requests_) request.ingress = time;
}

}  // namespace weir::http
