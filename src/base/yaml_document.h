// YamlDocument: YAML text as a small tree in which every node knows its line and column.
//
// Made for files that people write and that strangers may damage: depth, number of nodes (aliases counted as often as
// they are used) and read-ahead are bounded, so no text costs more than a moment. Duplicate keys, keys that are not
// texts, several documents, tags, NUL and invalid UTF-8 are refused. An alias shares the node of its anchor, and the
// key << without quotes merges other maps into a map.
//
// Immutable after parse(): any number of threads may read one. Nodes belong to their document. Failures carry
// Code::invalid_argument and "file:line:column: what is wrong"; lines and columns count from 1, columns in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::base {

inline constexpr std::size_t kMaxYamlBytes = std::size_t{16} << 20;
inline constexpr std::uint32_t kMaxYamlDepth = 32;
inline constexpr std::size_t kMaxYamlNodes = 2'000'000;
// The parser holds a flow collection that could turn out to be a key in memory as a whole.
inline constexpr std::size_t kMaxYamlReadAhead = std::size_t{1} << 20;

class YamlNode {
 public:
  enum class Kind : std::uint8_t { null, scalar, sequence, map };

  Kind kind() const { return kind_; }
  bool is_map() const { return kind_ == Kind::map; }
  bool is_sequence() const { return kind_ == Kind::sequence; }
  bool is_scalar() const { return kind_ == Kind::scalar; }
  int line() const { return line_; }
  int column() const { return column_; }

  // A scalar as written, without quotes.
  const std::string& text() const { return text_; }

  // How many items a sequence, or entries a map, has.
  std::size_t size() const { return is_map() ? children_.size() / 2 : children_.size(); }
  // Precondition: is_sequence() and i < size().
  const YamlNode& item(std::size_t i) const { return *children_[i]; }
  // Precondition: is_map() and i < size().
  const YamlNode& key(std::size_t i) const { return *children_[2 * i]; }
  const YamlNode& value(std::size_t i) const { return *children_[2 * i + 1]; }

  // The value under `name`, or null. Linear: for maps with a few known fields.
  const YamlNode* find(std::string_view name) const;

 private:
  friend class YamlTreeBuilder;

  Kind kind_ = Kind::null;
  bool quoted_ = false;  // a scalar in quotes: never the key that merges maps
  std::uint32_t height_ = 1;
  int line_ = 1;
  int column_ = 1;
  std::size_t weight_ = 1;  // nodes in this subtree, aliases expanded
  std::string text_;
  std::vector<const YamlNode*> children_;  // of a map: key, value, key, value, …
};

class YamlDocument {
 public:
  static Result<YamlDocument> parse(std::string_view text, std::string file_name);
  YamlDocument(YamlDocument&&) noexcept;
  YamlDocument& operator=(YamlDocument&&) noexcept;
  ~YamlDocument();

  // A null node when the text is empty.
  const YamlNode& root() const { return *root_; }
  const std::string& file_name() const { return file_name_; }

 private:
  struct Nodes;
  YamlDocument();

  std::string file_name_;
  std::unique_ptr<Nodes> nodes_;
  const YamlNode* root_ = nullptr;
};

}  // namespace weir::base
