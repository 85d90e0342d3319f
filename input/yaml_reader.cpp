// YAML read strictly: typed views of the tree, and documents laid over one another.
#include "input/yaml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "input/nearest.h"
#include "input/yaml_tree.h"

namespace dualpath {

namespace {

/// `0 or more`, `from 1 to 8`, ...: the range as part of a sentence.
template <class Number>
std::string range_text(Number min, Number max) {
    const bool low = min > std::numeric_limits<Number>::lowest();
    const bool high = max < std::numeric_limits<Number>::max() && max != INT32_MAX;
    if (low && high) return fmt::format(" from {} to {}", min, max);
    if (low) return fmt::format(", {} or more", min);
    if (high) return fmt::format(", {} or less", max);
    return {};
}

template <class Number>
bool parse_number(const std::string& text, Number& number) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && stop == end;
}

template <class Read>
auto optional(YamlMap& map, std::string_view key, Read read)
    -> std::optional<decltype(read(map.value(key)))> {
    const auto value = map.optional_value(key);
    if (!value) return std::nullopt;
    return read(*value);
}

Place part_of(const Place& place, std::string_view key) {
    return {place.file, place.line,
            place.field.empty() ? std::string{key} : fmt::format("{}.{}", place.field, key)};
}

YamlDocument load_over_base(const std::filesystem::path& file,
                            std::vector<std::filesystem::path>& chain) {
    const YamlDocument document = YamlDocument::load(file);
    YamlMap root = document.root();
    const auto base = root.optional_value("base");
    if (!base) return document;
    const std::filesystem::path below = file.parent_path() / base->text();
    if (!std::filesystem::exists(below)) {
        throw InputError{base->place(), fmt::format("no such file: {}", below.string())};
    }
    chain.push_back(std::filesystem::weakly_canonical(file));
    const auto canonical = std::filesystem::weakly_canonical(below);
    if (std::find(chain.begin(), chain.end(), canonical) != chain.end()) {
        throw InputError{base->place(), "the files name one another as their base"};
    }
    return document.without("base").over(load_over_base(below, chain));
}

}  // namespace

const Place& YamlValue::place() const { return node_->place; }
bool YamlValue::is_map() const { return node_->kind == YamlNode::Kind::map; }
bool YamlValue::is_list() const { return node_->kind == YamlNode::Kind::list; }
bool YamlValue::is_scalar() const { return node_->kind == YamlNode::Kind::scalar; }

const std::string& YamlValue::scalar(std::string_view wanted) const {
    if (node_->kind == YamlNode::Kind::null) {
        throw InputError{place(), "has no value", fmt::format("it must be {}", wanted)};
    }
    if (!is_scalar()) {
        throw InputError{place(),
                         fmt::format("must be {}, not {}", wanted, kind_name(node_->kind))};
    }
    return node_->scalar;
}

std::string YamlValue::text() const {
    const std::string& text = scalar("a text");
    if (text.empty()) throw InputError{place(), "must not be empty"};
    return text;
}

bool YamlValue::boolean() const {
    const std::string& text = scalar("true or false");
    if (text != "true" && text != "false") {
        throw InputError{place(), fmt::format("must be true or false, not '{}'", text)};
    }
    return text == "true";
}

std::int64_t YamlValue::integer(std::int64_t min, std::int64_t max) const {
    const std::string wanted = "a whole number" + range_text(min, max);
    const std::string& text = scalar(wanted);
    std::int64_t number = 0;
    if (!parse_number(text, number) || number < min || number > max) {
        throw InputError{place(), fmt::format("must be {}, not '{}'", wanted, text)};
    }
    return number;
}

int YamlValue::count(int min, int max) const { return static_cast<int>(integer(min, max)); }

double YamlValue::real(double min, double max) const {
    const std::string wanted = "a number" + range_text(min, max);
    const std::string& text = scalar(wanted);
    double number = 0;
    if (!parse_number(text, number) || !std::isfinite(number) || number < min || number > max) {
        throw InputError{place(), fmt::format("must be {}, not '{}'", wanted, text)};
    }
    return number;
}

BytesPerSecond YamlValue::rate(Zero zero) const {
    return parse_rate(scalar("a rate such as '50 GB/s'"), place(), zero);
}
Bytes YamlValue::bytes(Zero zero) const {
    return parse_bytes(scalar("a size such as '80 GB'"), place(), zero);
}
Duration YamlValue::duration(Zero zero) const {
    return parse_duration(scalar("a duration such as '300 ms'"), place(), zero);
}
Tokens YamlValue::tokens(PlainNumber plain, Zero zero) const {
    return parse_tokens(scalar("a number of tokens such as '64 tokens'"), place(), plain, zero);
}
FlopsPerSecond YamlValue::flops(Zero zero) const {
    return parse_flops(scalar("a compute rate such as '989 TFLOPS'"), place(), zero);
}

std::string YamlValue::one_of(std::span<const std::string_view> allowed) const {
    const std::string wanted = fmt::format("one of: {}", fmt::join(allowed, ", "));
    const std::string& text = scalar(wanted);
    if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
        const auto meant = nearest(text, allowed);
        throw InputError{place(),
                         fmt::format("'{}' is none of: {}", text, fmt::join(allowed, ", ")),
                         meant ? fmt::format("did you mean '{}'?", *meant) : ""};
    }
    return text;
}

YamlMap YamlValue::map() const {
    if (!is_map())
        throw InputError{place(), fmt::format("must be a map, not {}", kind_name(node_->kind))};
    return YamlMap{node_};
}

std::vector<YamlValue> YamlValue::list() const {
    if (!is_list())
        throw InputError{place(), fmt::format("must be a list, not {}", kind_name(node_->kind))};
    std::vector<YamlValue> items;
    for (const YamlNode::Entry& entry : node_->entries) items.emplace_back(entry.value);
    return items;
}

const Place& YamlMap::place() const { return node_->place; }

bool YamlMap::has(std::string_view key) { return optional_value(key).has_value(); }

std::vector<std::string> YamlMap::keys() const {
    std::vector<std::string> keys;
    for (const YamlNode::Entry& entry : node_->entries) keys.push_back(entry.key);
    return keys;
}

std::optional<YamlValue> YamlMap::optional_value(std::string_view key) {
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
    const YamlNode::Entry* entry = node_->find(key);
    if (!entry) return std::nullopt;
    return YamlValue{entry->value};
}

YamlValue YamlMap::value(std::string_view key) {
    if (auto value = optional_value(key)) return *value;
    // A missing key is often a mistyped one: name the nearest there is.
    const auto meant = nearest(key, std::span<const std::string>{keys()});
    throw InputError{part_of(place(), key), "is missing",
                     meant ? fmt::format("there is '{}'", *meant) : ""};
}

std::optional<std::string> YamlMap::optional_text(std::string_view key) {
    return optional(*this, key, [](const YamlValue& value) { return value.text(); });
}
std::optional<bool> YamlMap::optional_boolean(std::string_view key) {
    return optional(*this, key, [](const YamlValue& value) { return value.boolean(); });
}
std::optional<std::int64_t> YamlMap::optional_integer(std::string_view key, std::int64_t min,
                                                      std::int64_t max) {
    return optional(*this, key, [&](const YamlValue& value) { return value.integer(min, max); });
}
std::optional<int> YamlMap::optional_count(std::string_view key, int min, int max) {
    return optional(*this, key, [&](const YamlValue& value) { return value.count(min, max); });
}
std::optional<double> YamlMap::optional_real(std::string_view key, double min, double max) {
    return optional(*this, key, [&](const YamlValue& value) { return value.real(min, max); });
}
std::optional<BytesPerSecond> YamlMap::optional_rate(std::string_view key, Zero zero) {
    return optional(*this, key, [&](const YamlValue& value) { return value.rate(zero); });
}
std::optional<Bytes> YamlMap::optional_bytes(std::string_view key, Zero zero) {
    return optional(*this, key, [&](const YamlValue& value) { return value.bytes(zero); });
}
std::optional<Duration> YamlMap::optional_duration(std::string_view key, Zero zero) {
    return optional(*this, key, [&](const YamlValue& value) { return value.duration(zero); });
}
std::optional<Tokens> YamlMap::optional_tokens(std::string_view key, PlainNumber plain, Zero zero) {
    return optional(*this, key, [&](const YamlValue& value) { return value.tokens(plain, zero); });
}
std::optional<FlopsPerSecond> YamlMap::optional_flops(std::string_view key, Zero zero) {
    return optional(*this, key, [&](const YamlValue& value) { return value.flops(zero); });
}
std::optional<std::string> YamlMap::optional_one_of(std::string_view key,
                                                    std::span<const std::string_view> allowed) {
    return optional(*this, key, [&](const YamlValue& value) { return value.one_of(allowed); });
}
std::optional<YamlMap> YamlMap::optional_map(std::string_view key) {
    return optional(*this, key, [](const YamlValue& value) { return value.map(); });
}
std::vector<YamlValue> YamlMap::optional_list(std::string_view key) {
    const auto value = optional_value(key);
    return value ? value->list() : std::vector<YamlValue>{};
}

void YamlMap::finish() const {
    for (const YamlNode::Entry& entry : node_->entries) {
        if (std::find(asked_.begin(), asked_.end(), entry.key) != asked_.end()) continue;
        throw InputError{entry.place, unknown_word("key", entry.key, asked_),
                         fmt::format("known here: {}", fmt::join(asked_, ", "))};
    }
}

YamlDocument YamlDocument::load(const std::filesystem::path& file) {
    if (std::filesystem::is_directory(file)) {
        throw InputError{{file.string(), 0, {}}, "is a folder, not a YAML file"};
    }
    std::ifstream in{file, std::ios::binary};
    if (!in) throw InputError{{file.string(), 0, {}}, "no such file, or it cannot be read"};
    return parse(std::string{std::istreambuf_iterator<char>{in}, {}}, file.string());
}

YamlDocument YamlDocument::parse(const std::string& text, const std::string& file) {
    const YamlNodePtr node = parse_yaml(text, {.file = file, .field = {}});
    if (node->kind == YamlNode::Kind::map) return YamlDocument{node};
    if (node->kind != YamlNode::Kind::null) {
        throw InputError{node->place, fmt::format("the top level must be a map of keys, not {}",
                                                  kind_name(node->kind))};
    }
    auto empty = std::make_shared<YamlNode>();
    empty->kind = YamlNode::Kind::map;
    empty->place.file = file;
    return YamlDocument{std::move(empty)};
}

YamlDocument YamlDocument::over(const YamlDocument& under) const {
    return YamlDocument{merge_yaml(node_, under.node_)};
}

YamlDocument YamlDocument::with(std::string_view assignment) const {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        throw InputError{{"--set", 0, {}},
                         fmt::format("'{}' is no assignment", assignment),
                         "write key=value, as in node.snic='400 Gb/s'"};
    }
    const std::string path{assignment.substr(0, equals)};
    const std::string text{assignment.substr(equals + 1)};
    const YamlNodePtr value =
        parse_yaml(text, {.file = "--set", .field = path, .has_lines = false});
    return YamlDocument{replace_yaml(node_, path, value)};
}

YamlDocument YamlDocument::without(std::string_view key) const {
    auto changed = std::make_shared<YamlNode>(*node_);
    std::erase_if(changed->entries, [&](const YamlNode::Entry& entry) { return entry.key == key; });
    return YamlDocument{std::move(changed)};
}

std::string YamlDocument::text() const { return emit_yaml(*node_); }

YamlDocument load_layered(const std::filesystem::path& file,
                          const std::vector<std::string>& assignments) {
    std::vector<std::filesystem::path> chain;
    YamlDocument document = load_over_base(file, chain);
    for (const std::string& assignment : assignments) document = document.with(assignment);
    return document;
}

}  // namespace dualpath
