//! The bar: a million connections in no more than 300 bytes each, all included.

use super::*;

#[test]
fn a_million_connections() {
    const MILLION: u32 = 1_000_000;
    let mut connections = Connections::new(MILLION as usize);
    let tuple = |n: u32| udp(CLIENT + n / 1000, 1024 + (n % 1000) as u16, SERVER, 53);
    for n in 0..MILLION {
        let new = New::udp(tuple(n));
        connections.confirm(&new, Moment::ZERO).unwrap();
    }
    let refused = connections.confirm(&New::udp(tuple(MILLION)), Moment::ZERO);
    assert!(refused.is_ok(), "all are dispensable, so one gives way");
    assert_eq!(connections.counts.early_dropped, 1);
    assert_eq!(connections.len(), MILLION as usize);
    let each = connections.bytes() as f64 / f64::from(MILLION);
    assert!(each <= 300.0, "{each} bytes each");
    let found = (0..=MILLION)
        .filter(|&n| {
            let reply = tuple(n).reversed();
            connections.flows().find(reply.hash(), &reply).is_some()
        })
        .count();
    assert_eq!(found, MILLION as usize);
    let looked_at = connections.sweep(Moment::from_nanos(10_256_000_000), usize::MAX);
    assert_eq!((looked_at, connections.len()), (MILLION as usize, 0));
}
