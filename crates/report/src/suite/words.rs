//! Procedures in a sentence, for who does not know their RFCs by heart.

use measure::suite_result::{Cell, Figure, SuiteResults};

/// In a sentence or two.
pub(crate) fn meaning(procedure: &str, results: &SuiteResults) -> &'static str {
    match procedure {
        "throughput" => {
            "The highest rate at which every frame that is sent comes back, or all but what the criterion \
             allows. In brackets stand the criterion, how long a trial takes, and how much may be lost."
        }
        "latency" => {
            "How long frames are in the device at its throughput, by the definition above. The named \
             figure is that of tagged frames, as the RFC wants it (TL: their median, WCL: their 99.9th \
             percentile), of several directions the worst one's; beside it stands what every single frame \
             took, whichever way it went."
        }
        "delay-variation" => {
            "How much latency varies at the throughput. PDV: the 99.9th percentile less the least. IPDV: \
             how much longer (or, below zero, shorter) a frame took than the one before it. Of several \
             directions each is that of the worst."
        }
        "frame-loss" => "What share of the frames is lost at which load.",
        "back-to-back" => {
            "How many frames in one burst at the wire's rate come through whole, and for how long the \
             device's buffer must therefore last; corrected by what it forwards meanwhile."
        }
        "recovery" => {
            "How long frames are still lost after an overload (110 % of the throughput) has dropped to half \
             of itself."
        }
        "reset" => "How long nothing is forwarded when the device starts anew under load.",
        "forwarding" if results.fully_meshed => {
            "Fully meshed (RFC 2889 §5.1): every port sends to every other at once, a frame to the next port, \
             one to the port behind that, and so on, all at the same load. MOL: the highest load that this \
             tester offers from each port. FRMOL: what is forwarded then. MFR: the most that is forwarded \
             at any load tried, the throughput among them."
        }
        "forwarding" if results.destinations.is_some() => {
            "Partially meshed (RFC 2889 §5.2, §5.4): the ports that send do so at once, at the same load, each \
             to the others that it is said to by turns. MOL: the highest load that this tester offers from \
             each port. FRMOL: what is forwarded then, of all of them. MFR: the most that is forwarded at \
             any load tried, the throughput among them."
        }
        "forwarding" => {
            "Non-meshed: ports 1 and 2 send to each other at once (with one-way traffic port 1 to 2), further \
             ports only listen; the full mesh of RFC 2889 §5.1 is another distribution. MOL: the highest \
             load that this tester offers. FRMOL: what is forwarded then. MFR: the most that is forwarded \
             at any load tried, the throughput among them."
        }
        "congestion" => {
            "Two ports send to a third, more than it can carry, and one of them to a free port as well. \
             Frames to the free port should come through."
        }
        "address-caching" => {
            "How many addresses the bridge remembers at a time: a frame to one that it does not know comes \
             out of every port."
        }
        "address-learning" => {
            "How quickly new addresses may come, so that the bridge learns them all."
        }
        "broadcast" => {
            "The highest rate of broadcasts from one port of which every one comes out of all others."
        }
        "establishment" => {
            "How many new connections a second the device takes up, so that afterwards each of them carries \
             frames both ways."
        }
        "tear-down" => "How many connections a second the device forgets when it is told to.",
        "capacity" => "How many connections the device keeps at the same time.",
        "tcp-connections" => {
            "How many TCP connections a second are opened, used and closed through the device without one \
             that fails, and without a segment that is lost."
        }
        "tcp-transactions" => {
            "How many requests a second are answered whole through the device, on connections that stay."
        }
        "tcp-concurrent" => {
            "How many TCP connections are open through the device at a time, none of them lost."
        }
        "tcp-path" => {
            "What the path carries at best, which the transfers below are compared with: its MTU, its round \
             trip when it is empty, its narrowest place."
        }
        "tcp-throughput" => {
            "What TCP makes of the path, by window. Transfer time ratio: the time that the transfer took by \
             the time that it takes at best; 1 is the best. BDP: the bandwidth-delay product, as many bytes as the \
             path holds."
        }
        "streams" => {
            "Streams of the plan, all at once: what was sent of each, and what came where it was to come."
        }
        _ => "",
    }
}

/// The head of its column where all results stand together; none of what has no single figure.
pub(crate) fn short(procedure: &str) -> Option<&'static str> {
    Some(match procedure {
        "throughput" => "Throughput, each port",
        "latency" => "Latency",
        "delay-variation" => "Delay variation (PDV)",
        "frame-loss" => "Loss at the wire's rate",
        "back-to-back" => "Burst without loss",
        "recovery" => "Recovery",
        "reset" => "Reset",
        "forwarding" => "Forwarded at most",
        "congestion" => "Loss to the free port",
        "address-caching" => "Addresses kept",
        "address-learning" => "Addresses learned",
        "broadcast" => "Broadcasts",
        "establishment" => "Connections established",
        "tear-down" => "Torn down",
        "capacity" => "Connections kept",
        "tcp-connections" => "TCP connections",
        "tcp-transactions" => "TCP transactions",
        "tcp-concurrent" => "TCP connections at a time",
        _ => return None,
    })
}

/// The figure that stands for a cell.
pub(crate) fn first(cell: &Cell) -> Option<&Figure> {
    // The first of these is the load.
    let start = match cell.procedure.as_str() {
        "latency" | "delay-variation" => 1,
        "forwarding" => 2,
        _ => 0,
    };
    cell.figures.get(start).filter(|figure| figure.value.is_some())
}

/// Which of its trials is drawn over time.
pub(crate) fn trial(procedure: &str) -> &'static str {
    match procedure {
        "throughput" => "the trial that confirmed the throughput",
        "recovery" => "overload, and half of it",
        "reset" => "a reset under load",
        "streams" => "all streams",
        "tcp-connections" | "tcp-transactions" | "tcp-concurrent" | "tcp-throughput" => {
            "the last trial"
        }
        _ => "the last repetition",
    }
}
