// CapacitySearch: the highest load that a yes-or-no probe still allows.
#include "analysis/capacity_search.h"

#include <algorithm>
#include <cmath>

namespace dualpath {
namespace {

constexpr int most_doublings = 20;

class Search {
public:
    Search(const SearchSettings& settings, const std::function<bool(double)>& meets)
        : settings_{settings}, meets_{meets} {}

    SearchResult run() {
        if (settings_.from) probe(*settings_.from);
        if (settings_.to && (!settings_.from || found_.met)) probe(*settings_.to);
        bracket();
        while (found_.met && found_.missed && !close()) {
            probe(rounded((*found_.met + *found_.missed) / 2));
        }
        return found_;
    }

private:
    bool whole() const { return settings_.loads == SearchSettings::Loads::whole; }
    double rounded(double load) const { return whole() ? std::floor(load) : load; }

    void probe(double load) {
        if (meets_(load))
            found_.met = load;
        else
            found_.missed = load;
    }

    void bracket() {
        if (!found_.met && !found_.missed) probe(settings_.start);
        for (int i = 0; i < most_doublings; ++i) {
            if (found_.met && found_.missed) return;
            if (found_.met && settings_.to) return;
            if (found_.missed && (settings_.from || (whole() && *found_.missed <= 1))) return;
            probe(found_.met ? *found_.met * 2 : rounded(*found_.missed / 2));
        }
    }

    bool close() const {
        const double gap = *found_.missed - *found_.met;
        return gap <= settings_.tolerance * *found_.met || (whole() && gap <= 1);
    }

    SearchSettings settings_;
    const std::function<bool(double)>& meets_;
    SearchResult found_;
};

}  // namespace

SearchResult search_capacity(const SearchSettings& settings,
                             const std::function<bool(double)>& meets) {
    return Search{settings, meets}.run();
}

}  // namespace dualpath
