// From a scenario to the parts a world and a control plane are built from.
#pragma once

#include "control/control_plane.h"
#include "models/compute.h"
#include "models/topology.h"
#include "scenarios/scenario.h"

namespace dualpath {

/// The parts of one run that simulation, hardware and replay share. Throws InputError when weights
/// leave no room for KV, or the EP degree does not divide the GPUs: with the arithmetic.
struct Assembly {
    explicit Assembly(const Scenario& scenario);

    Layout layout;
    ComputeModel model;
    KvSize kv;
    Capacities capacities;
    ControlSettings control;  ///< with alpha and beta resolved
    Bytes prefill_hbm, decode_hbm;

    ControlFacts control_facts() const;
    /// Throws InputError when a prompt of `longest` tokens could never be served.
    void require_fits(Tokens longest) const;

private:
    Bytes host_buffer_;
};

/// Achievable rates of a node's parts. A storage NIC pays a cost for each Layer Block beside the
/// line time, so small blocks make it slower: 1 / (1 / line + cost / block).
Capacities achievable(const Scenario& scenario);

}  // namespace dualpath
