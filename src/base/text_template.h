// Texts with placeholders, such as "Try again in {wait}.": a name in braces. Two braces are one brace of the text.
// Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weir::base {

// What is wrong with the text, as a phrase behind a field name; none: it is valid, with placeholders among `names`.
std::optional<std::string> template_fault(std::string_view text, std::span<const std::string_view> names);

// Precondition: the text is valid.
bool has_placeholder(std::string_view text, std::string_view name);

// Appends the text with the placeholders replaced. Precondition: the text is valid, and `values` has all of its names.
using TemplateValue = std::pair<std::string_view, std::string_view>;
void append_filled(std::string& out, std::string_view text, std::span<const TemplateValue> values);

}  // namespace weir::base
