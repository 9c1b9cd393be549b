#include "server/config_file.h"

#include "base/bounded_file.h"
#include "base/yaml_document.h"

namespace weir::server {
namespace {

using base::YamlNode;

constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

class Flattener {
 public:
  explicit Flattener(const std::string& file_name) : file_name_(file_name) {}

  Status add_map(const YamlNode& map, const std::string& prefix) {
    for (std::size_t i = 0; i < map.size(); ++i) {
      const std::string name = prefix + map.key(i).text();
      if (Status status = add(map.key(i), map.value(i), name, !prefix.empty()); !status.ok()) return status;
    }
    return success();
  }
  std::vector<FileEntry> take() && { return std::move(entries_); }

 private:
  Status add(const YamlNode& key, const YamlNode& value, const std::string& name, bool nested) {
    const std::string place = place_of(key);
    switch (value.kind()) {
      case YamlNode::Kind::null:
        return success();
      case YamlNode::Kind::scalar:
        entries_.push_back({name, place_of(value), {value.text()}, false});
        return success();
      case YamlNode::Kind::map:
        if (nested) return add_texts(place, value, name);
        entries_.push_back({name, place, {}, false});  // so that an unknown section is noticed even when empty
        return add_map(value, name + ".");
      case YamlNode::Kind::sequence:
        return add_list(value, name);
    }
    return success();
  }

  // A map inside a section: its entries are texts.
  Status add_texts(const std::string& place, const YamlNode& map, const std::string& name) {
    FileEntry entry{name, place, {}, false, true};
    for (std::size_t i = 0; i < map.size(); ++i) {
      const YamlNode& value = map.value(i);
      if (!value.is_scalar()) {
        return Failure{Code::invalid_argument, place_of(map.key(i)) + ": " + name + "." + map.key(i).text() +
                                                   ": is not a text, expected one value"};
      }
      entry.entries.push_back({map.key(i).text(), place_of(value), {value.text()}});
    }
    entries_.push_back(std::move(entry));
    return success();
  }

  Status add_list(const YamlNode& list, const std::string& name) {
    FileEntry entry{name, place_of(list), {}, true};
    for (std::size_t i = 0; i < list.size(); ++i) {
      const YamlNode& item = list.item(i);
      if (!item.is_scalar()) {
        return Failure{Code::invalid_argument, place_of(item) + ": " + name + ": has an entry that is not a text"};
      }
      entry.texts.push_back(item.text());
    }
    entries_.push_back(std::move(entry));
    return success();
  }

  std::string place_of(const YamlNode& node) const {
    return file_name_ + ":" + std::to_string(node.line()) + ":" + std::to_string(node.column());
  }

  const std::string& file_name_;
  std::vector<FileEntry> entries_;
};

}  // namespace

Result<std::vector<FileEntry>> read_config_file(const std::filesystem::path& file) {
  const Result<std::string> text = base::read_bounded_file(file, kMaxConfigBytes);
  if (!text.ok()) return text.failure();
  const Result<base::YamlDocument> document = base::YamlDocument::parse(text.value(), file.string());
  if (!document.ok()) return document.failure();
  const YamlNode& root = document.value().root();
  if (root.kind() == YamlNode::Kind::null) return std::vector<FileEntry>{};
  Flattener flat(document.value().file_name());
  if (!root.is_map()) {
    return Failure{Code::invalid_argument, file.string() + ":1:1: expected settings such as 'rules: rules.yaml'"};
  }
  if (Status status = flat.add_map(root, ""); !status.ok()) return status.failure();
  return std::move(flat).take();
}

}  // namespace weir::server
