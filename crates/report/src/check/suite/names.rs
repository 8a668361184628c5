//! Names that something of ours writes: what is said by others is not looked at.
//!
//! ```text
//!  procedure ─► forms of its figures' names ─► the unit of each
//!               # is a number, * anything
//! ```

use super::super::Kind;
use measure::suite_result::{Cell, MBPS_L2, MBPS_TCP};

/// A procedure, and what its figures are called and counted in.
type Names = (&'static str, &'static [(&'static str, &'static str)]);

/// What procedures there are. (Beside these are the throughputs of goals: `measure` knows their names.)
const NAMES: [Names; 21] = [
    (
        "throughput",
        &[
            ("throughput[rfc2544 #s 0 loss]", "fps"),
            ("throughput[tst009 #s 0 loss verified #x]", "fps"),
            ("throughput[* #s/#s #% exceed #%]", "fps"),
            ("upper bound throughput[* #s/#s #% exceed #%]", "fps"),
            ("conditional throughput[* #s/#s #% exceed #%]", "fps"),
        ],
    ),
    (
        "latency",
        &[
            ("load", "fps"),
            ("latency[rfc2544 #s #x]", "ns"),
            ("latency[rfc2544 #s #x worst direction]", "ns"),
            ("TL[rfc8219 # tagged #s #x]", "ns"),
            ("TL[rfc8219 # tagged #s #x worst direction]", "ns"),
            ("WCL[rfc8219 # tagged #s #x]", "ns"),
            ("WCL[rfc8219 # tagged #s #x worst direction]", "ns"),
            ("all frames p50", "ns"),
            ("all frames p99", "ns"),
            ("all frames p99.9", "ns"),
            ("all frames max", "ns"),
        ],
    ),
    (
        "delay-variation",
        &[
            ("load", "fps"),
            ("PDV[rfc8219 #s #x]", "ns"),
            ("PDV[rfc8219 #s #x worst direction]", "ns"),
            ("IPDV min[rfc8219 #s #x]", "ns"),
            ("IPDV min[rfc8219 #s #x worst direction]", "ns"),
            ("IPDV median[rfc8219 #s #x]", "ns"),
            ("IPDV median[rfc8219 #s #x worst direction]", "ns"),
            ("IPDV max[rfc8219 #s #x]", "ns"),
            ("IPDV max[rfc8219 #s #x worst direction]", "ns"),
        ],
    ),
    ("frame-loss", &[("loss at 100% of the wire", "%"), ("highest load without loss", "%")]),
    (
        "back-to-back",
        &[
            ("back-to-back[rfc9004 #x, step #, verified #x]", "frames"),
            ("implied buffer time", "ns"),
            ("corrected buffer time", "ns"),
        ],
    ),
    ("recovery", &[("recovery[rfc2544 #s overload #x]", "ns"), ("overload", "fps")]),
    ("reset", &[("reset[rfc6201 software #x]", "ns")]),
    (
        "forwarding",
        &[
            ("MOL (this tester's, from each port)", "fps"),
            ("FRMOL[rfc2889 #s, *]", "fps in all"),
            ("MFR[rfc2889 #s, *]", "fps in all"),
            ("load at MFR", "fps"),
        ],
    ),
    ("congestion", &[("loss to the free port", "%"), ("loss to the congested port", "%")]),
    ("address-caching", &[("address caching capacity[rfc2889 learned at #/s]", "addresses")]),
    ("address-learning", &[("address learning rate[rfc2889 # addresses]", "/s")]),
    ("broadcast", &[("broadcast throughput[rfc2889 #s 0 loss]", "fps")]),
    ("establishment", &[("maximum connection establishment rate[rfc9693 # connections]", "/s")]),
    ("tear-down", &[("connection tear-down rate[rfc9693 # connections #x]", "/s")]),
    (
        "capacity",
        &[
            ("connection table capacity[rfc9693 within #]", "connections"),
            ("establishment rate at it", "/s"),
        ],
    ),
    (
        "tcp-connections",
        &[
            ("TCP connections per second[rfc9411 §7.2 #s 0 loss]", "/s"),
            ("*, as many as may be", "/s"),
            ("handshake *", "ns"),
            ("transaction *", "ns"),
        ],
    ),
    (
        "tcp-concurrent",
        &[(
            "concurrent TCP connections[rfc9411 §7.5 opened at #/s, held #s, 0 loss]",
            "connections",
        )],
    ),
    (
        "tcp-transactions",
        &[
            ("TCP transactions per second[rfc9411 §7.3 # connections #x 0 failed]", "/s"),
            ("goodput, both ways", MBPS_TCP),
            ("segments sent again", "segments"),
            ("handshake *", "ns"),
            ("transaction *", "ns"),
        ],
    ),
    (
        "tcp-path",
        &[
            ("path MTU[rfc4821]", "byte"),
            ("baseline RTT[rfc6349]", "ns"),
            ("bottleneck bandwidth (L2)", MBPS_L2),
            ("ideal TCP throughput", MBPS_TCP),
            ("bandwidth-delay product", "byte"),
        ],
    ),
    (
        "tcp-throughput",
        &[
            ("connections", "TCP"),
            ("windows, of the BDP", "%"),
            ("window of each", "byte"),
            ("TCP throughput[rfc6349 #s]", MBPS_TCP),
            ("ideal", MBPS_TCP),
            ("TCP transfer time ratio", "ratio"),
            ("TCP efficiency", "%"),
            ("buffer delay", "%"),
        ],
    ),
    (
        "streams",
        &[
            ("streams", "streams"),
            ("sent", "frames"),
            ("received", "frames"),
            ("lost", "frames"),
            ("elsewhere", "frames"),
            ("damaged", "frames"),
            ("foreign", "frames"),
        ],
    ),
];

/// Checks a cell.
pub(super) fn check(cell: &Cell, note: &mut impl FnMut(Kind, String)) {
    let mut say = |what: &str, name: &str| {
        note(Kind::Doubtful, format!("the {what} `{name}` is unknown: it is not looked at"));
    };
    let of = NAMES.iter().find(|(procedure, _)| *procedure == cell.procedure);
    if of.is_none() {
        say("procedure", &cell.procedure);
    }
    for (figure, forms) in cell.figures.iter().filter_map(|figure| Some((figure, of?.1))) {
        let mut forms = forms.iter().filter(|(form, _)| is_of_form(&figure.name, form)).peekable();
        if forms.peek().is_none() {
            say("figure", &figure.name);
        } else if forms.all(|(_, unit)| *unit != figure.unit()) {
            say(&format!("unit of {},", figure.name), &figure.unit);
        }
    }
    let outcomes = cell.trials.iter().map(|trial| trial.outcome.as_str());
    let is_known = |outcome: &&str| {
        ["pass", "fail", "invalid"].contains(outcome) || outcome.starts_with("invalid: ")
    };
    outcomes.filter(|outcome| !is_known(outcome)).for_each(|outcome| say("outcome", outcome));
}

/// Whether a name is of a form.
fn is_of_form(name: &str, form: &str) -> bool {
    let at = form.find(['#', '*']).unwrap_or(form.len());
    let Some(rest) = name.strip_prefix(&form[..at]) else { return false };
    let Some(then) = form.get(at + 1..) else { return rest.is_empty() };
    let is_number = |text: &str| text.parse::<f64>().is_ok_and(f64::is_finite);
    let mut ends = rest.char_indices().map(|(i, c)| i + c.len_utf8());
    ends.any(|end| {
        let (taken, left) = rest.split_at(end);
        (form[at..].starts_with('*') || is_number(taken)) && is_of_form(left, then)
    })
}
