// Buffered lines over zlib, which passes plain files through.
#include "traces/text_lines.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace dualpath {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t") == std::string_view::npos;
}

std::string errno_text() { return std::generic_category().message(errno); }

}  // namespace

void TextLines::Close::operator()(gzFile_s* file) const noexcept { gzclose_r(file); }

TextLines::TextLines(const std::filesystem::path& path)
    : path_{path.string()}, file_{gzopen(path.c_str(), "rb")} {
    if (!file_) {
        throw InputError{Place{path_, 0, {}}, "the file cannot be opened: " + errno_text()};
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

/// Reads the next piece; false at the end of the file. What could be read before an error is handed
/// out first, so that the error stands where the lines end.
bool TextLines::fill() {
    const int count = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    if (count <= 0) refuse_if_broken();
    used_ = 0;
    filled_ = static_cast<std::size_t>(std::max(count, 0));
    return filled_ > 0;
}

void TextLines::refuse_if_broken() const {
    int status = Z_OK;
    const std::string what = gzerror(file_.get(), &status);
    const Place here{path_, line_ + 1, {}};
    if (status == Z_OK) return;
    if (status == Z_BUF_ERROR) throw InputError{here, "the gzip data is cut off here"};
    if (status == Z_ERRNO) throw InputError{here, "the file cannot be read: " + errno_text()};
    throw InputError{here, "the gzip data is damaged: " + what};
}

}  // namespace dualpath
