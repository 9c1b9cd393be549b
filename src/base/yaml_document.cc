#include "base/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <deque>
#include <istream>
#include <optional>
#include <streambuf>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"
#include "base/yaml_plain_reader.h"

namespace weir::base {

const YamlNode* YamlNode::find(std::string_view name) const {
  if (!is_map()) return nullptr;
  for (std::size_t i = 0; i < size(); ++i) {
    if (key(i).text() == name) return &value(i);
  }
  return nullptr;
}

struct YamlDocument::Nodes {
  std::deque<YamlNode> all;  // addresses are stable
};

namespace {

// Thrown by the builder through yaml-cpp, which has no other way to be stopped; caught in parse().
struct Refused {
  int line = 1;
  int column = 1;
  std::string message;
};

// yaml-cpp counts from 0. `shift` is the length of what was put before the text's first line.
Refused refused_at(const YAML::Mark& mark, int shift, std::string message) {
  const int column = mark.line == 0 ? std::max(0, mark.column - shift) : mark.column;
  return {std::max(0, mark.line) + 1, std::max(0, column) + 1, std::move(message)};
}

// Gives the parser its text in chunks, and stops when it has read far ahead of what it has reported: what it has not
// reported yet it holds in memory at many times the size.
class MeteredInput final : public std::streambuf {
 public:
  MeteredInput(std::string_view prefix, std::string_view text) : prefix_(prefix), text_(text) {}

  void note_progress() { unreported_ = 0; }
  bool overrun() const { return overrun_; }

 protected:
  int_type underflow() override {
    if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
    if (unreported_ > kMaxYamlReadAhead) {
      overrun_ = true;
      return traits_type::eof();
    }
    std::string_view& rest = prefix_.empty() ? text_ : prefix_;
    if (rest.empty()) return traits_type::eof();
    const std::size_t count = std::min<std::size_t>(rest.size(), kChunk);
    // streambuf has no read-only get area; nothing here ever writes to it.
    char* begin = const_cast<char*>(rest.data());
    setg(begin, begin, begin + count);
    rest.remove_prefix(count);
    unreported_ += count;
    return traits_type::to_int_type(*gptr());
  }

 private:
  static constexpr std::size_t kChunk = 4096;
  std::string_view prefix_;
  std::string_view text_;
  std::size_t unreported_ = 0;
  bool overrun_ = false;
};

}  // namespace

// Builds the tree from the parser's events. A node is attached to its parent when it is complete.
class YamlTreeBuilder final : public YAML::EventHandler {
 public:
  YamlTreeBuilder(std::deque<YamlNode>& nodes, MeteredInput& input, int shift)
      : nodes_(nodes), input_(input), shift_(shift) {}

  const YamlNode* root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_ != nullptr) refuse(mark, "a second document begins here, expected one");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode& node = make(mark, YamlNode::Kind::null);
    finish(node, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    if (value.find('\0') != std::string::npos) refuse(mark, "a text must not contain NUL");
    YamlNode& node = make(mark, YamlNode::Kind::scalar);
    node.text_ = value;
    node.quoted_ = tag == "!";
    finish(node, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { end(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    input_.note_progress();
    const YamlNode* target = anchor < anchors_.size() ? anchors_[anchor] : nullptr;
    if (target == nullptr) refuse(mark, "this alias is inside the node that it refers to");
    count(mark, target->weight_);
    if (open_.size() + target->height_ > kMaxYamlDepth) refuse_depth(mark);
    const Refused at = refused_at(mark, shift_, {});
    attach(*target, at.line, at.column);
  }

 private:
  struct Open {
    YamlNode* node;
    YAML::anchor_t anchor;
    std::unordered_set<std::string_view> keys;  // of a map with many; few are compared one by one
  };

  // Whether the key is new to the map that is being read; it counts as known from now on.
  static bool add_key(Open& map, std::string_view key) {
    const std::vector<const YamlNode*>& children = map.node->children_;
    if (map.keys.empty() && children.size() < 2 * kFewKeys) {
      for (std::size_t i = 0; i < children.size(); i += 2) {
        if (children[i]->text_ == key) return false;
      }
      return true;
    }
    if (map.keys.empty()) {
      for (std::size_t i = 0; i < children.size(); i += 2) map.keys.insert(children[i]->text_);
    }
    return map.keys.insert(key).second;
  }

  [[noreturn]] void refuse(const YAML::Mark& mark, std::string message) const {
    throw refused_at(mark, shift_, std::move(message));
  }
  [[noreturn]] void refuse_depth(const YAML::Mark& mark) const {
    refuse(mark, "nested too deeply, expected at most " + std::to_string(kMaxYamlDepth) + " levels");
  }

  // yaml-cpp says "?" for a plain scalar and "!" for a quoted one.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:str") return;
    refuse(mark, "tags are not supported");
  }

  void count(const YAML::Mark& mark, std::size_t nodes) {
    total_ += nodes;
    if (total_ > kMaxYamlNodes) {
      refuse(mark, "too large: more than " + std::to_string(kMaxYamlNodes) + " values, aliases counted at each use");
    }
  }

  YamlNode& make(const YAML::Mark& mark, YamlNode::Kind kind) {
    input_.note_progress();
    count(mark, 1);
    YamlNode& node = nodes_.emplace_back();
    node.kind_ = kind;
    const Refused at = refused_at(mark, shift_, {});
    node.line_ = at.line;
    node.column_ = at.column;
    return node;
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    check_tag(mark, tag);
    if (open_.size() >= kMaxYamlDepth) refuse_depth(mark);
    open_.push_back({&make(mark, kind), anchor, {}});
    open_.back().node->children_.reserve(kUsualChildren);
  }

  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.node->is_map()) merge(done);
    finish(*done.node, done.anchor);
  }

  // "<<: *other": the entries of other maps, where the map has none of its own; of several maps the first wins. Their
  // nodes were counted when the alias was met.
  static void merge(Open& into) {
    std::vector<const YamlNode*>& children = into.node->children_;
    const YamlNode* key = nullptr;
    const YamlNode* value = nullptr;
    for (std::size_t i = 0; i + 1 < children.size() && value == nullptr; i += 2) {
      if (children[i]->text_ != kMergeKey || children[i]->quoted_) continue;
      key = children[i];
      value = children[i + 1];
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i),
                     children.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    }
    if (value == nullptr) return;
    const auto take = [&](const YamlNode& from) {
      if (!from.is_map()) throw Refused{key->line_, key->column_, "<< merges a map or a list of maps into this one"};
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (!add_key(into, from.key(i).text_)) continue;
        children.push_back(&from.key(i));
        children.push_back(&from.value(i));
      }
    };
    if (!value->is_sequence()) return take(*value);
    for (const YamlNode* each : value->children_) take(*each);
  }

  void finish(YamlNode& node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      if (anchors_.size() <= anchor) anchors_.resize(anchor + 1, nullptr);
      anchors_[anchor] = &node;
    }
    attach(node, node.line_, node.column_);
  }

  // The position is where the node is used, which for an alias is not where it was made.
  void attach(const YamlNode& node, int line, int column) {
    if (open_.empty()) {
      root_ = &node;
      return;
    }
    Open& parent = open_.back();
    YamlNode& into = *parent.node;
    if (into.is_map() && into.children_.size() % 2 == 0) {
      if (!node.is_scalar()) throw Refused{line, column, "a key must be a text"};
      if (!add_key(parent, node.text_)) {
        throw Refused{line, column, "the key \"" + node.text_.substr(0, kMaxShownKey) + "\" is given twice"};
      }
    }
    into.children_.push_back(&node);
    into.weight_ += node.weight_;
    into.height_ = std::max(into.height_, node.height_ + 1);
  }

  static constexpr std::size_t kUsualChildren = 4;
  static constexpr std::size_t kFewKeys = 16;
  static constexpr std::size_t kMaxShownKey = 64;
  static constexpr std::string_view kMergeKey = "<<";

  std::deque<YamlNode>& nodes_;
  MeteredInput& input_;
  const int shift_;
  std::vector<Open> open_;
  std::vector<const YamlNode*> anchors_;  // by yaml-cpp's number; null while the node is incomplete
  std::size_t total_ = 0;
  const YamlNode* root_ = nullptr;
};

namespace {

// The place of the first byte that no text may have: NUL, or not UTF-8.
std::optional<Refused> find_bad_byte(std::string_view text) {
  const std::size_t good = valid_text_prefix(text);
  if (good == text.size()) return std::nullopt;
  const std::string_view before = text.substr(0, good);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return Refused{static_cast<int>(1 + std::count(before.begin(), before.end(), '\n')),
                 static_cast<int>(1 + good - line_start), text[good] == '\0' ? "NUL byte" : "not valid UTF-8"};
}

// The usual case, at a fraction of the cost. False: yaml-cpp has to look, also for what is wrong.
bool run_plain_reader(std::string_view text, std::deque<YamlNode>& nodes, const YamlNode*& root) {
  MeteredInput unused({}, {});
  YamlTreeBuilder builder(nodes, unused, 0);
  try {
    if (!PlainYamlReader(text, builder).read()) return false;
  } catch (const Refused&) {
    return false;
  }
  root = builder.root();
  return true;
}

std::string_view line_of(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// What is most often wrong with a file that people write: a tab in the indentation, or a line that begins in another
// column than its neighbours. yaml-cpp reports the second at the line itself or at the one after it.
Refused explained(Refused why, std::string_view text) {
  for (int line = why.line; line >= std::max(1, why.line - 1); --line) {
    const std::string_view content = line_of(text, line);
    const std::size_t tab = content.substr(0, content.find_first_not_of(" \t")).find('\t');
    if (tab != std::string_view::npos) {
      return {line, static_cast<int>(tab) + 1, "a tab in the indentation, expected spaces"};
    }
  }
  if (why.message.find("end of map not found") != std::string::npos ||
      why.message.find("end of sequence not found") != std::string::npos ||
      why.message.find("illegal map value") != std::string::npos) {
    why.message += "; check the indentation: lines of one map or list begin in the same column";
  }
  return why;
}

void run_parser(std::string_view prefix, std::string_view text, std::deque<YamlNode>& nodes, const YamlNode*& root) {
  MeteredInput input(prefix, text);
  const int shift = static_cast<int>(prefix.size());
  YamlTreeBuilder builder(nodes, input, shift);
  try {
    std::istream stream(&input);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    if (!input.overrun()) throw explained(refused_at(error.mark, shift, "not valid YAML: " + error.msg), text);
  }
  if (input.overrun()) {
    const YamlNode* last = nodes.empty() ? nullptr : &nodes.back();
    throw Refused{last ? last->line() : 1, last ? last->column() : 1,
                  "the value that follows is longer than " + std::to_string(kMaxYamlReadAhead) + " bytes"};
  }
  root = builder.root();
}

}  // namespace

YamlDocument::YamlDocument() = default;
YamlDocument::YamlDocument(YamlDocument&&) noexcept = default;
YamlDocument& YamlDocument::operator=(YamlDocument&&) noexcept = default;
YamlDocument::~YamlDocument() = default;

Result<YamlDocument> YamlDocument::parse(std::string_view text, std::string file_name) {
  const auto failure = [&file_name](const Refused& why) {
    return Failure{Code::invalid_argument,
                   file_name + ":" + std::to_string(why.line) + ":" + std::to_string(why.column) + ": " + why.message};
  };
  if (text.size() > kMaxYamlBytes) {
    return failure(
        {1, 1,
         "too large: " + std::to_string(text.size()) + " bytes, expected at most " + std::to_string(kMaxYamlBytes)});
  }
  if (const auto bad = find_bad_byte(text)) return failure(*bad);

  // A JSON file is one flow map, which yaml-cpp would read to its end before reporting anything, since it might be a
  // key. After "--- " on the same line it cannot be one. The prefix moves the first line by its length.
  static constexpr std::string_view kDocumentStart = "--- ";
  const std::string_view prefix = text.substr(0, 1) == "{" ? kDocumentStart : std::string_view();

  YamlDocument document;
  document.nodes_ = std::make_unique<Nodes>();
  if (!run_plain_reader(text, document.nodes_->all, document.root_)) {
    document.nodes_ = std::make_unique<Nodes>();
    try {
      run_parser(prefix, text, document.nodes_->all, document.root_);
    } catch (const Refused& why) {
      return failure(why);
    }
  }
  if (document.root_ == nullptr) document.root_ = &document.nodes_->all.emplace_back();
  document.file_name_ = std::move(file_name);
  return document;
}

}  // namespace weir::base
