// How long each function is, by counting braces: enough for code that clang-format has laid out.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/source.h"

namespace dualpath::tidy {

struct Function {
    std::string name;
    std::size_t line;    ///< of the first word of its head
    std::size_t length;  ///< lines, head and closing brace included
};

/// Walks one file's code; what stands before a `{` (its head) tells what the braces hold.
class FunctionFinder {
public:
    explicit FunctionFinder(const Source& source) {
        bool continued = false;  // a preprocessor line goes on after a backslash
        for (line_ = 1; line_ <= source.code.size(); ++line_) {
            const std::string& code = source.code[line_ - 1];
            const bool directive = continued || trimmed(code).starts_with('#');
            continued = directive && code.ends_with('\\');
            if (directive) continue;
            for (const char c : code) step(c);
            step('\n');
        }
        settle(';');
    }

    std::vector<Function> found;

private:
    void step(char c) {
        if (depth_ > 0) {  // inside a function, an enum or an initializer
            if (c == '{') ++depth_;
            if (c == '}' && --depth_ == 0) closed_ = line_;
            return;
        }
        if (closed_ > 0) {
            if (c == ' ' || c == '\n') return;
            settle(c);
        }
        if (c == '{')
            open();
        else if (c == ';' || c == '}' || (c == ':' && is_access(trimmed(head_))))
            head_.clear();
        else if (head_.empty() && (c == ' ' || c == '\n'))
            return;
        else {
            if (head_.empty()) begun_ = line_;
            head_ += c;
        }
    }

    void open() {
        if (holds_declarations())
            head_.clear();
        else
            depth_ = 1;
    }

    /// Braces have closed and `next` follows: were they a function's body?
    void settle(char next) {
        if (closed_ == 0) return;
        const std::string head = trimmed(head_);
        const auto count = [&](char c) { return std::count(head.begin(), head.end(), c); };
        const bool goes_on = next == ',' || next == '{' || count('(') != count(')');
        if (goes_on)
            head_ += "{}";  // an initializer: of a member, or inside an argument list
        else {
            const bool assigned =
                head.empty() || std::string_view{"=,"}.find(head.back()) != std::string_view::npos;
            const bool value = assigned || (next == ';' && head.back() != ')');
            if (count('(') > 0 && !value) found.push_back({name(), begun_, closed_ - begun_ + 1});
            head_.clear();
        }
        closed_ = 0;
    }

    static bool is_access(const std::string& word) {
        return word == "public" || word == "protected" || word == "private";
    }

    /// namespace, class, struct and union hold declarations; so does a bare extern "C".
    bool holds_declarations() const {
        const std::string head = trimmed(without_template_parameters(head_));
        if (head == "extern") return true;
        for (const char* word : {"namespace", "class", "struct", "union"}) {
            const std::size_t at = find_word(head, word);
            if (at != head.npos && find_word(head, "enum") == head.npos && at < head.find('('))
                return true;
        }
        return false;
    }

    static std::string without_template_parameters(const std::string& head) {
        const std::size_t at = find_word(head, "template");
        if (at == head.npos) return head;
        std::size_t end = head.find('<', at);
        for (int open = 0; end < head.size(); ++end) {
            if (head[end] == '<') ++open;
            if (head[end] == '>' && --open == 0) break;
        }
        if (end >= head.size()) return head;
        return head.substr(0, at) + without_template_parameters(head.substr(end + 1));
    }

    /// `Network::settle`, and for a test all of `TEST(Suite, Name)`.
    std::string name() const {
        const std::string head = trimmed(without_template_parameters(head_));
        const std::size_t sign = find_word(head, "operator");
        const bool call = sign != head.npos && head.compare(sign, 10, "operator()") == 0;
        const std::size_t open = head.find('(', call ? sign + 10 : 0);
        std::size_t start = std::min(open, sign);
        while (start > 0 && (is_word(head[start - 1]) || head[start - 1] == ':')) --start;
        const std::string word = head.substr(start, open - start);
        const bool macro = sign == head.npos && std::none_of(word.begin(), word.end(), [](char c) {
                               return std::islower(static_cast<unsigned char>(c)) != 0;
                           });
        return macro ? head.substr(start, head.find(')') - start + 1) : word;
    }

    std::string head_;        ///< since the last ; or brace between declarations
    std::size_t begun_ = 0;   ///< the line of its first character
    std::size_t line_ = 0;    ///< where we are
    std::size_t depth_ = 0;   ///< of braces that hold no declarations
    std::size_t closed_ = 0;  ///< the line where those braces closed; 0 once settled
};

inline std::vector<Function> functions_of(const Source& source) {
    return FunctionFinder{source}.found;
}

/// Functions longer than 60 lines that are known, `file name` -> lines. May shrink, never grow.
using Known = std::map<std::string, std::size_t>;

inline Findings functions_too_long(const std::vector<Source>& sources, Known known,
                                   std::size_t limit = 60) {
    Findings findings;
    for (const Source& source : sources)
        for (const Function& function : functions_of(source)) {
            const auto it = known.find(source.path + " " + function.name);
            const std::size_t allowed = it == known.end() ? limit : it->second;
            const std::string lines = function.name + " has " + std::to_string(function.length) +
                                      " lines, " + std::to_string(allowed) + " are allowed: ";
            if (function.length > allowed)
                findings.push_back(
                    {source.path, function.line, lines + "split it by what it does"});
            else if (it != known.end() && function.length < allowed && function.length > limit)
                findings.push_back({source.path, function.line, lines + "lower it in the list"});
            if (it != known.end() && function.length > limit) known.erase(it);
        }
    for (const auto& [name, lines] : known)
        findings.push_back({name, lines, "is no longer too long: take it off the list"});
    return findings;
}

}  // namespace dualpath::tidy
