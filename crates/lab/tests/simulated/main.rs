//! Labs and suites in virtual time, and what needs no network.

mod labs;
mod live;
mod offered;
mod source_001;
mod suite;
mod suite_delays;
mod suite_meshed;
mod swarm;
mod world;
