#!/usr/bin/env python3
"""What the reference implementation of MLRsearch does with simulated devices.

    pip install MLRsearch==1.2.1 && ./witness.py > witness.json

For each device (capacity, how much it varies from trial to trial) and pair of goals: every trial it
asks for, in order, and the bounds it ends with. `tests/mlrsearch/main.rs` has ours do the same.
"""

import json

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)


class Device(AbstractMeasurer):
    def __init__(self, capacity, noise):
        self.capacity, self.noise, self.trials = capacity, noise, []

    def measure(self, intended_duration, intended_load):
        # Luck that repeats itself in no short time, and is the same in every language.
        luck = len(self.trials) * 7919 % 1000 / 1000.0
        self.trials.append([intended_load, intended_duration])
        sent = int(intended_load * intended_duration)
        capacity = self.capacity * (1.0 - self.noise * luck)
        received = min(sent, int(capacity * intended_duration))
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=sent,
            forwarding_count=received,
        )


# loss ratio, exceed ratio, width, initial and final trial, duration sum
CSIT = [[0.0, 0.5, 0.005, 1.0, 1.0, 21.0], [0.005, 0.5, 0.005, 1.0, 1.0, 21.0]]
RFC2544 = [[0.0, 0.0, 0.005, 1.0, 60.0, 60.0]]
TST009 = [[0.0, 0.5, 0.01, 1.0, 60.0, 120.0], [0.0001, 0.0, 0.01, 1.0, 10.0, 10.0]]

runs = []
for goals in (CSIT, RFC2544, TST009):
    for capacity in (1e4, 1e6, 14880952.38, 7.7e8, 2e9):
        for noise in (0.0, 0.001, 0.02, 0.2):
            device = Device(capacity, noise)
            config = Config(
                goals=[
                    SearchGoal(
                        loss_ratio=loss,
                        exceed_ratio=exceed,
                        relative_width=width,
                        initial_trial_duration=initial,
                        final_trial_duration=final,
                        duration_sum=total,
                        fail_fast=False,
                    )
                    for loss, exceed, width, initial, final, total in goals
                ],
                min_load=9001.0,
                max_load=1e9,
                search_duration_max=1e9,
                warmup_duration=1.0,
            )
            results = MultipleLossRatioSearch(config=config).search(device)

            def number(load):
                return None if load is None else float(load)

            runs.append(
                {
                    "goals": goals,
                    "capacity": capacity,
                    "noise": noise,
                    "trials": len(device.trials),
                    "first_trials": device.trials[:12],
                    "results": [
                        [
                            number(results[goal].relevant_lower_bound),
                            number(results[goal].relevant_upper_bound),
                            number(results[goal].conditional_throughput),
                        ]
                        for goal in config.goals
                    ],
                }
            )

print("[\n" + ",\n".join(json.dumps(run) for run in runs) + "\n]")
