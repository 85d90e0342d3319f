// Buffered lines over zlib, which passes plain files through.
#include "traces/text_lines.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dualpath {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t") == std::string_view::npos;
}

}  // namespace

void TextLines::Close::operator()(gzFile_s* file) const noexcept { gzclose_r(file); }

TextLines::TextLines(const std::filesystem::path& path)
    : path_{path.string()}, file_{gzopen(path.c_str(), "rb")} {
    if (!file_) {
        throw InputError{Place{path_, 0, {}},
                         std::string{"the file cannot be opened: "} + std::strerror(errno)};
    }
}

std::optional<std::string> TextLines::next() {
    std::string line;
    while (read_line(line)) {
        ++line_;
        if (line_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
        if (line.ends_with('\r')) line.pop_back();
        if (!is_blank(line)) return line;
    }
    return std::nullopt;
}

/// False at the end of the file, when nothing was read.
bool TextLines::read_line(std::string& line) {
    line.clear();
    while (used_ < filled_ || fill()) {
        const char* const begin = buffer_.data() + used_;
        const char* const end = buffer_.data() + filled_;
        const char* const newline = std::find(begin, end, '\n');
        line.append(begin, newline);
        used_ += static_cast<std::size_t>(newline - begin);
        if (newline != end) {
            ++used_;
            return true;
        }
    }
    return !line.empty();
}

/// Reads the next piece; false at the end of the file.
bool TextLines::fill() {
    const int count = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int status = Z_OK;
    const char* const what = gzerror(file_.get(), &status);
    if (status == Z_BUF_ERROR) {
        throw InputError{Place{path_, line_, {}}, "the gzip data is cut off after this line"};
    }
    if (status == Z_ERRNO) {
        throw InputError{Place{path_, line_, {}},
                         std::string{"the file cannot be read: "} + std::strerror(errno)};
    }
    if (status != Z_OK) {
        throw InputError{Place{path_, line_, {}}, std::string{"the gzip data is damaged: "} + what};
    }
    used_ = 0;
    filled_ = static_cast<std::size_t>(std::max(count, 0));
    return filled_ > 0;
}

}  // namespace dualpath
