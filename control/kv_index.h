// KvIndex: which leading tokens of a prompt storage already holds, in Full Blocks.
#pragma once

#include <algorithm>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "control/messages.h"

namespace dualpath {

/// A trie of Full Blocks whose only branches are those that trajectories have: one path per
/// session, and one per prefix that sessions share. A path is known by its visible length. A block
/// is visible once its write is complete; a partial block is not stored and is computed again.
class KvIndex {
public:
    explicit KvIndex(Tokens block) : block_{block} {}

    /// Tokens of this prompt to read instead of compute: whole blocks of its context or shared
    /// prefix. At least one token is left to compute. Also notes where the session's path now
    /// branches: what an earlier turn held beyond `context` is another branch from here on.
    Tokens look_up(const Request& request) {
        Session& session = session_of(request.session);
        if (request.context < session.prompt) {
            session.shrunk_to = session.shrunk_turn > 0
                                    ? std::min(session.shrunk_to, request.context)
                                    : request.context;
            session.shrunk_turn = request.turn;
        }
        session.turn = request.turn;
        session.prompt = request.prompt;
        session.branch = request.context;
        session.visible = std::min(session.visible, floor_to(request.context, block_));
        Tokens hit = session.visible;
        if (request.prefix) {
            hit = std::max(
                hit, std::min(prefix_of(*request.prefix), floor_to(request.prefix_tokens, block_)));
        }
        return std::min(hit, floor_to(request.prompt - Tokens{1}, block_));
    }

    /// The turn's KV is in storage up to `tokens` (whole blocks). A write that ends after later
    /// turns were looked up counts only below their branches.
    void written(const Request& request, Tokens tokens) {
        Session& session = session_of(request.session);
        const Tokens through = floor_to(tokens, block_);
        Tokens valid = through;
        if (session.turn != request.turn) valid = std::min(valid, floor_to(session.branch, block_));
        if (session.shrunk_turn > request.turn) {
            valid = std::min(valid, floor_to(session.shrunk_to, block_));
        }
        session.visible = std::max(session.visible, valid);
        if (request.prefix) {
            Tokens& shared = prefix_of(*request.prefix);
            shared = std::max(shared, std::min(through, floor_to(request.prefix_tokens, block_)));
        }
    }

    /// New weights: nothing stored so far is a hit any more.
    void clear() {
        sessions_.clear();
        prefixes_.clear();
    }

private:
    struct Session {
        std::uint32_t turn = 0;  ///< looked up last
        Tokens visible;
        Tokens branch;                  ///< context of that turn
        Tokens prompt;                  ///< of that turn
        std::uint32_t shrunk_turn = 0;  ///< the last that kept less than the prompt before it
        Tokens shrunk_to;               ///< the least that such a turn has kept
    };
    Session& session_of(SessionId id) {
        if (sessions_.size() <= id.index()) sessions_.resize(id.index() + 1);
        return sessions_[id.index()];
    }
    Tokens& prefix_of(PrefixId id) {
        if (prefixes_.size() <= id.index()) prefixes_.resize(id.index() + 1);
        return prefixes_[id.index()];
    }

    Tokens block_;
    std::vector<Session> sessions_;
    std::vector<Tokens> prefixes_;  ///< visible length
};

}  // namespace dualpath
