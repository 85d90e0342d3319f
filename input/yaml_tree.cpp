// A YAML document as an immutable tree: parsing by yaml-cpp, merging, replacing, emitting.
#include "input/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace dualpath {

namespace {

constexpr int deepest = 64;            // levels of nesting; an alias of its own parent has no end
constexpr std::size_t most = 200'000;  // values; a few aliases can name billions

std::string joined(const std::string& path, std::string_view part) {
    return path.empty() ? std::string{part} : fmt::format("{}.{}", path, part);
}

/// Turns yaml-cpp's nodes into ours.
class Converter {
public:
    explicit Converter(const YamlOrigin& origin) : origin_{origin} {}

    YamlNodePtr convert(const YAML::Node& from, const Place& place, int depth) {
        if (depth > deepest || ++count_ > most) {
            throw InputError{place, "is nested too deeply or repeated too often by aliases"};
        }
        auto node = std::make_shared<YamlNode>();
        node->place = place;
        if (from.IsScalar()) {
            node->kind = YamlNode::Kind::scalar;
            node->scalar = from.Scalar();
            node->quoted = from.Tag() == "!";
        } else if (from.IsSequence()) {
            node->kind = YamlNode::Kind::list;
            convert_list(from, depth, *node);
        } else if (from.IsMap()) {
            node->kind = YamlNode::Kind::map;
            convert_map(from, depth, *node);
        }
        return node;
    }

    Place place(const YAML::Node& node, const std::string& field) const {
        const int line = node.Mark().is_null() ? 0 : node.Mark().line + 1;
        return {origin_.file, origin_.has_lines ? line : 0, field};
    }

private:
    void convert_list(const YAML::Node& from, int depth, YamlNode& node) {
        for (const YAML::Node& item : from) {
            const std::string field = joined(node.place.field, std::to_string(node.entries.size()));
            const Place at = place(item, field);
            node.entries.push_back({{}, at, convert(item, at, depth + 1)});
        }
    }

    void convert_map(const YAML::Node& from, int depth, YamlNode& node) {
        for (const auto& pair : from) {
            const YAML::Node& key = pair.first;
            const YAML::Node& value = pair.second;
            if (!key.IsScalar()) {
                throw InputError{place(key, node.place.field), "a key must be a word"};
            }
            const Place at = place(key, joined(node.place.field, key.Scalar()));
            if (const YamlNode::Entry* first = node.find(key.Scalar())) {
                throw InputError{at, fmt::format("the key '{}' stands twice", key.Scalar()),
                                 fmt::format("the first is in line {}", first->place.line)};
            }
            const Place value_at = value.IsScalar() ? place(value, at.field) : at;
            node.entries.push_back({key.Scalar(), at, convert(value, value_at, depth + 1)});
        }
    }

    const YamlOrigin& origin_;
    std::size_t count_ = 0;
};

void emit(YAML::Emitter& out, const YamlNode& node) {
    switch (node.kind) {
        case YamlNode::Kind::null:
            out << YAML::Null;
            break;
        case YamlNode::Kind::scalar:
            if (node.quoted) out << YAML::DoubleQuoted;
            out << node.scalar;
            break;
        case YamlNode::Kind::list:
            out << YAML::BeginSeq;
            for (const auto& entry : node.entries) emit(out, *entry.value);
            out << YAML::EndSeq;
            break;
        case YamlNode::Kind::map:
            out << YAML::BeginMap;
            for (const auto& entry : node.entries) {
                out << YAML::Key << entry.key << YAML::Value;
                emit(out, *entry.value);
            }
            out << YAML::EndMap;
            break;
    }
}

/// The list item that `part` names, or nothing.
std::size_t item_index(std::string_view part, std::size_t size) {
    std::size_t index = size;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    return error == std::errc{} && end == part.data() + part.size() ? std::min(index, size) : size;
}

}  // namespace

const YamlNode::Entry* YamlNode::find(std::string_view key) const {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& entry) { return entry.key == key; });
    return found == entries.end() ? nullptr : &*found;
}

std::string_view kind_name(YamlNode::Kind kind) {
    switch (kind) {
        case YamlNode::Kind::null:
            return "empty";
        case YamlNode::Kind::scalar:
            return "a single value";
        case YamlNode::Kind::list:
            return "a list";
        case YamlNode::Kind::map:
            return "a map";
    }
    return "?";
}

YamlNodePtr parse_yaml(const std::string& text, const YamlOrigin& origin) {
    try {
        const std::vector<YAML::Node> documents = YAML::LoadAll(text);
        if (documents.size() > 1) {
            throw InputError{{origin.file, 0, origin.field}, "holds more than one YAML document"};
        }
        const YAML::Node top = documents.empty() ? YAML::Node{} : documents.front();
        Converter converter{origin};
        return converter.convert(top, converter.place(top, origin.field), 0);
    } catch (const YAML::Exception& error) {
        const int line = origin.has_lines && !error.mark.is_null() ? error.mark.line + 1 : 0;
        throw InputError{{origin.file, line, origin.field},
                         fmt::format("is not valid YAML: {}", error.msg)};
    }
}

YamlNodePtr merge_yaml(const YamlNodePtr& upper, const YamlNodePtr& lower) {
    if (upper->kind != YamlNode::Kind::map || lower->kind != YamlNode::Kind::map) return upper;
    auto merged = std::make_shared<YamlNode>(*lower);
    merged->place = upper->place;
    for (const YamlNode::Entry& entry : upper->entries) {
        const auto below = std::find_if(merged->entries.begin(), merged->entries.end(),
                                        [&](const auto& other) { return other.key == entry.key; });
        if (below == merged->entries.end()) {
            merged->entries.push_back(entry);
        } else {
            *below = {entry.key, entry.place, merge_yaml(entry.value, below->value)};
        }
    }
    return merged;
}

YamlNodePtr replace_yaml(const YamlNodePtr& root, std::string_view path, const YamlNodePtr& value) {
    const std::size_t dot = path.find('.');
    const std::string part{path.substr(0, dot)};
    const Place place{"--set", 0, joined(root ? root->place.field : "", part)};
    if (part.empty()) throw InputError{place, "the path has an empty part"};

    auto changed = root ? std::make_shared<YamlNode>(*root) : std::make_shared<YamlNode>();
    if (changed->kind == YamlNode::Kind::null) changed->kind = YamlNode::Kind::map;
    auto& entries = changed->entries;
    auto entry = entries.end();
    if (changed->kind == YamlNode::Kind::list) {
        const std::size_t index = item_index(part, entries.size());
        if (index == entries.size()) {
            throw InputError{place, fmt::format("'{}' is no item of this list", part),
                             fmt::format("it has {}, counted from 0", entries.size())};
        }
        entry = entries.begin() + static_cast<std::ptrdiff_t>(index);
    } else if (changed->kind == YamlNode::Kind::map) {
        entry = std::find_if(entries.begin(), entries.end(),
                             [&](const auto& other) { return other.key == part; });
        if (entry == entries.end()) {
            auto empty = std::make_shared<YamlNode>();
            empty->place = place;
            entry = entries.insert(entries.end(), {part, place, empty});
        }
    } else {
        throw InputError{place,
                         fmt::format("'{}' is a single value and has no parts", root->place.field)};
    }
    entry->value = dot == std::string_view::npos
                       ? value
                       : replace_yaml(entry->value, path.substr(dot + 1), value);
    entry->place = place;
    return changed;
}

std::string emit_yaml(const YamlNode& root) {
    YAML::Emitter out;
    emit(out, root);
    return std::string{out.c_str()} + "\n";
}

}  // namespace dualpath
