//! PAP (RFC 1334), CHAP (RFC 1994) and MS-CHAP (RFC 2433, RFC 2759): who the client is.
//!
//! ```text
//! server                              client
//!   Challenge ────────────────────────►
//!   ◄──────────────── Response, or PAP's name and password
//!   Said::Check ─► somebody looks ─► admit
//!   Success, Failure (a second later) ─►   MS-CHAP 2: the server proves that it knows the password, too
//! ```

use super::*;
use crate::interface::ppp::mschap::{self, ANSWER};

/// Ways to prove who one is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    /// The password in the clear.
    pub(crate) pap: bool,
    /// MD5 of the password and a challenge.
    pub(crate) chap: bool,
    /// Microsoft's.
    pub(crate) mschap1: bool,
    /// Its second version, which proves who the server is, too.
    pub(crate) mschap2: bool,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Mschap2,
    Mschap1,
    Chap,
    Pap,
}

impl Way {
    /// The best first.
    pub(super) const ALL: [Way; 4] = [Way::Mschap2, Way::Mschap1, Way::Chap, Way::Pap];

    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }

    pub(super) fn option(self) -> Vec<u8> {
        let algorithm = match self {
            Way::Pap => return protocol::PAP.to_be_bytes().to_vec(),
            Way::Chap => 5,
            Way::Mschap1 => 0x80,
            Way::Mschap2 => 0x81,
        };
        [&protocol::CHAP.to_be_bytes()[..], &[algorithm]].concat()
    }

    pub(super) fn read(option: &[u8]) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.option() == option)
    }
}

impl Ways {
    pub(super) fn has(self, way: Way) -> bool {
        match way {
            Way::Pap => self.pap,
            Way::Chap => self.chap,
            Way::Mschap1 => self.mschap1,
            Way::Mschap2 => self.mschap2,
        }
    }

    /// A bit for each.
    pub(super) fn bits(self) -> u8 {
        Way::ALL.into_iter().filter(|way| self.has(*way)).map(Way::bit).sum()
    }

    pub(super) fn best(self) -> Option<Way> {
        Way::ALL.into_iter().find(|&way| self.has(way))
    }
}

/// How somebody proves who he is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    Password(Vec<u8>),
    Chap { id: u8, challenge: [u8; 16], answer: Vec<u8> },
    Mschap1 { id: u8, challenge: [u8; 8], answer: [u8; ANSWER] },
    Mschap2 { id: u8, challenge: [u8; 16], answer: [u8; ANSWER] },
}

/// What a right proof leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pass {
    /// What he is told: MS-CHAP 2's proof.
    pub(crate) message: String,
    pub(crate) keys: Option<Keys>,
}

impl Proof {
    /// Whether it is the one of who has this name and this password; and what follows from it.
    pub(crate) fn check(&self, user: &str, password: &str) -> Option<Pass> {
        match self {
            Proof::Password(said) => (said == password.as_bytes()).then(Pass::default),
            Proof::Chap { id, challenge, answer } => {
                let right = ppp::chap_md5(*id, password.as_bytes(), challenge);
                (right[..] == answer[..]).then(Pass::default)
            }
            Proof::Mschap1 { challenge, answer, .. } => {
                let hash = mschap::nt_hash(password);
                let right = mschap::response(challenge, &hash) == answer[24..48] && answer[48] == 1;
                let keys = Some(mschap::keys_v1(&hash, challenge));
                right.then_some(Pass { message: String::new(), keys })
            }
            Proof::Mschap2 { challenge, answer, .. } => {
                let hash = mschap::nt_hash(password);
                let peer = answer.first_chunk()?;
                let hashed = mschap::challenge_hash(peer, challenge, user);
                let said = &answer[24..48];
                let right = mschap::response(&hashed, &hash) == said;
                right.then(|| Pass {
                    message: mschap::server_proof(&hash, said, &hashed),
                    keys: Some(mschap::keys(&hash, said, true)),
                })
            }
        }
    }
}

impl Machine {
    /// A client says who it is, a server asks; who has nothing to say waits as long.
    pub(super) fn ask_login(&mut self, now: Moment, out: &mut Vec<Vec<u8>>) {
        let doing = self.doing();
        doing.auth.tries += 1;
        doing.auth.due = Some(now + RESTART);
        let (tries, answer) = (doing.auth.tries, doing.answer.clone());
        let is_free = doing.checking.is_none();
        match (&self.role, self.way) {
            (Role::Client(login), Some(Way::Pap)) => {
                let user = short(login.user.as_bytes());
                let password = short(login.password.as_bytes());
                let parts = [&[user.len() as u8], user, &[password.len() as u8], password];
                let data = parts.concat();
                out.push(Control { code: 1, id: tries, data: &data }.write(protocol::PAP));
            }
            (Role::Server, Some(way)) if way != Way::Pap && is_free => {
                let challenge = match way {
                    Way::Mschap1 => &self.challenge[..8],
                    _ => &self.challenge[..],
                };
                let data = [&[challenge.len() as u8], challenge, NAME.as_bytes()].concat();
                out.push(Control { code: 1, id: 1, data: &data }.write(protocol::CHAP));
            }
            (Role::Client(_), _) if !answer.is_empty() => out.push(answer),
            _ => {}
        }
    }

    pub(super) fn pap(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) -> Said {
        let is_client = matches!(self.role, Role::Client(_));
        match (control.code, is_client, self.phase) {
            _ if self.way != Some(Way::Pap) => {}
            (1, false, _) => {
                let read = ppp::value_and_name(control.data).and_then(|(user, rest)| {
                    let (password, _) = ppp::value_and_name(rest)?;
                    Some((text(user), password.to_vec()))
                });
                if let Some((user, password)) = read {
                    self.auth.id = control.id;
                    return self.check(user, Proof::Password(password));
                }
            }
            (2, true, Phase::Authenticate) => self.begin_network(now, out),
            (3, true, Phase::Authenticate) => self.close(End::Refused, out),
            _ => {}
        }
        Said::Nothing
    }

    /// Hands an attempt over, unless one is being looked at.
    fn check(&mut self, user: String, proof: Proof) -> Said {
        let id = self.auth.id;
        let doing = self.doing();
        if doing.checking.is_some() || doing.refusal.is_some() {
            return Said::Nothing;
        }
        doing.checking = Some(id);
        Said::Check { user, proof }
    }

    pub(super) fn chap(&mut self, now: Moment, control: Control, out: &mut Vec<Vec<u8>>) -> Said {
        let read = ppp::value_and_name(control.data);
        let Some(way) = self.way.filter(|&way| way != Way::Pap) else { return Said::Nothing };
        match (control.code, &self.role, read) {
            (1, Role::Client(login), Some((challenge, _))) => {
                let user = &login.user;
                let Some((answer, keys, awaited)) =
                    answer(way, (user, &login.password), control.id, challenge, &self.challenge)
                else {
                    return Said::Nothing;
                };
                let data = [&[answer.len() as u8], &answer[..], short(user.as_bytes())].concat();
                let reply = Control { code: 2, id: control.id, data: &data };
                let answer = reply.write(protocol::CHAP);
                out.push(answer.clone());
                let is_over = matches!(self.phase, Phase::Network | Phase::Open);
                let doing = self.doing();
                (doing.answer, doing.auth.due) = (answer, Some(now + RESTART));
                if !is_over {
                    (doing.pass.keys, doing.awaited) = (keys, awaited);
                }
            }
            (2, Role::Server, Some((answer, name))) if control.id == 1 => {
                self.auth.id = 1;
                let (id, challenge) = (1, self.challenge);
                let proof = match (way, answer.try_into()) {
                    (Way::Chap, _) => Proof::Chap { id, challenge, answer: answer.to_vec() },
                    (Way::Mschap1, Ok(answer)) => {
                        let challenge = std::array::from_fn(|n| challenge[n]);
                        Proof::Mschap1 { id, challenge, answer }
                    }
                    (_, Ok(answer)) => Proof::Mschap2 { id, challenge, answer },
                    (_, Err(_)) => return Said::Nothing,
                };
                return self.check(text(name), proof);
            }
            (3, Role::Client(_), _) if self.phase == Phase::Authenticate => {
                if !text(control.data).starts_with(&self.doing().awaited) {
                    // It does not know the password: it is somebody else.
                    return {
                        self.close(End::Refused, out);
                        Said::Nothing
                    };
                }
                self.begin_network(now, out);
            }
            (4, Role::Client(_), _) => self.close(End::Refused, out),
            _ => {}
        }
        Said::Nothing
    }

    /// What becomes of an attempt: what he is given, or nothing; whether he is who is logged in already.
    pub(crate) fn admit(
        &mut self,
        now: Moment,
        (admitted, is_same): (Option<Admitted>, bool),
        out: &mut Vec<Vec<u8>>,
    ) {
        self.doing().checking = None;
        let is_pap = self.way == Some(Way::Pap);
        let kind = if is_pap { protocol::PAP } else { protocol::CHAP };
        let (yes, no) = if is_pap { (2, 3) } else { (3, 4) };
        let repeated = is_same && matches!(self.phase, Phase::Network | Phase::Open);
        let granted = admitted.filter(|_| self.phase == Phase::Authenticate);
        let message = match (&granted, self.way) {
            (Some(admitted), _) => admitted.pass.message.clone(),
            _ if repeated => self.doing().pass.message.clone(),
            // RFC 2759 §6: wrong, and no second try.
            (None, Some(Way::Mschap1 | Way::Mschap2)) => {
                let hex: String = self.challenge.iter().map(|byte| format!("{byte:02X}")).collect();
                format!("E=691 R=0 C={hex} V=3 M=")
            }
            (None, _) => String::new(),
        };
        let code = if granted.is_some() || repeated { yes } else { no };
        let mut data = message.into_bytes();
        if is_pap {
            // PAP has its message behind its length (RFC 1334 §2.2.2).
            data.insert(0, data.len() as u8);
        }
        let answer = Control { code, id: self.auth.id, data: &data }.write(kind);
        match granted {
            Some(admitted) => {
                out.push(answer);
                let Admitted { local, remote, dns, wins, encryption, pass } = admitted;
                (self.local, self.remote, self.encryption) = (local, remote, encryption);
                let servers = Servers { dns, wins };
                self.servers = (servers != Servers::default()).then(|| Box::new(servers));
                self.doing().pass = pass;
                self.begin_network(now, out);
            }
            None if repeated => out.push(answer),
            // Whoever tries passwords has to wait for each.
            None => {
                let doing = self.doing();
                (doing.refusal, doing.auth.due) = (Some(answer), Some(now + SLOWED));
            }
        }
    }
}

/// A client's answer, the keys it leaves, and what the server must say then.
fn answer(
    way: Way,
    (user, password): (&str, &str),
    id: u8,
    challenge: &[u8],
    own: &[u8; 16],
) -> Option<(Vec<u8>, Option<Keys>, String)> {
    if way == Way::Chap {
        let answer = ppp::chap_md5(id, password.as_bytes(), challenge).to_vec();
        return Some((answer, None, String::new()));
    }
    let hash = mschap::nt_hash(password);
    let mut answer = [0; ANSWER];
    if way == Way::Mschap1 {
        let challenge = challenge.try_into().ok()?;
        answer[24..48].copy_from_slice(&mschap::response(&challenge, &hash));
        answer[48] = 1;
        return Some((answer.to_vec(), Some(mschap::keys_v1(&hash, &challenge)), String::new()));
    }
    let hashed = mschap::challenge_hash(own, challenge.try_into().ok()?, user);
    let said = mschap::response(&hashed, &hash);
    answer[..16].copy_from_slice(own);
    answer[24..48].copy_from_slice(&said);
    let keys = mschap::keys(&hash, &said, false);
    Some((answer.to_vec(), Some(keys), mschap::server_proof(&hash, &said, &hashed)))
}
