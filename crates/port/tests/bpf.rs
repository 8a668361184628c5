//! BPF programs on real interfaces: loaded, attached, gone.

#[path = "bpf/capture.rs"]
mod capture;
#[path = "bpf/counted.rs"]
mod counted;
#[path = "bpf/generated.rs"]
mod generated;
mod veth;

use port::linux::Unavailable;
use port::linux::bpf::assembler::{Assembler, Register::*, Size};
use port::linux::bpf::{self, Map, Mode, Program, SharedArray, action, map};
use veth::{Veth, sh};

/// Returns an action, whatever the frame.
fn always(action: i32) -> Result<Program, Unavailable> {
    let mut a = Assembler::new();
    a.set(R0, action);
    a.exit();
    Program::xdp("always", &a.finish(), false)
}

#[test]
fn a_link_works_while_it_lives() {
    let Some(pair) = Veth::taking(&["ping"]) else { return };
    sh(&pair.a, "ip address add 10.0.0.1/24 dev va");
    sh(&pair.b, "ip address add 10.0.0.2/24 dev vb");
    for mode in [Mode::Native, Mode::Generic] {
        let link = pair.b.run(|| {
            let index = bpf::interface_index("vb")?;
            let link = always(action::DROP)?.attach(index, mode)?;
            let Err(again) = always(action::PASS)?.attach(index, mode) else {
                panic!("two programs on one interface")
            };
            assert!(again.to_string().contains("another XDP program is attached"), "{again}");
            Ok::<_, Unavailable>(link)
        });
        let link = link.unwrap().unwrap();
        assert!(sh(&pair.b, "ip link show vb").contains("prog/xdp"), "{mode:?}");
        sh(&pair.a, "! ping -c 1 -W 1 10.0.0.2");
        drop(link);
        let after = sh(&pair.b, "ip link show vb");
        assert!(!after.contains("xdp"), "{mode:?}: {after}");
        sh(&pair.a, "ping -c 1 -W 5 10.0.0.2");
    }
}

#[test]
fn the_redirect_program_loses_and_counts_what_no_socket_takes() {
    if Veth::new().is_none() {
        return;
    }
    let sockets = Map::sockets(4).unwrap();
    let lost = SharedArray::new("lost", 1).unwrap();
    for (frags, n) in [(false, 1), (true, 2)] {
        let program = bpf::redirect(&sockets, &lost, None, frags).unwrap();
        assert_eq!(program.run_once(&[0; 64]).unwrap(), (action::DROP as u32, vec![0; 64]));
        assert_eq!(lost.get(0), n);
    }
}

#[test]
fn maps_hold_what_was_entered() {
    if Veth::new().is_none() {
        return;
    }
    let hash = Map::new(map::Kind::Hash, "hash", 2, 8, 4).unwrap();
    assert_eq!(hash.lookup(&[1, 2]), None);
    hash.update(&[1, 2], &[7; 8]).unwrap();
    assert_eq!(hash.lookup(&[1, 2]), Some(vec![7; 8]));
    assert!(hash.delete(&[1, 2]) && !hash.delete(&[1, 2]));

    // A program and the process see the same words.
    let shared = SharedArray::new("shared", 600).unwrap();
    shared.set(513, 40);
    let mut a = Assembler::new();
    a.address(R1, shared.map(), 513 * 8);
    a.set(R2, 2);
    a.atomic_add(R1, 0, R2);
    a.load(Size::U64, R0, R1, 0);
    a.exit();
    let program = Program::xdp("add", &a.finish(), false).unwrap();
    assert_eq!(program.run_once(&[0; 64]).unwrap().0, 42);
    assert_eq!(shared.get(513), 42);
}

#[test]
fn what_the_verifier_says_is_told() {
    if Veth::new().is_none() {
        return;
    }
    let mut a = Assembler::new();
    a.load(Size::U64, R0, R1, 4000); // beyond the context
    a.exit();
    let Err(refused) = Program::xdp("beyond", &a.finish(), false) else { panic!("loaded") };
    assert!(refused.to_string().contains("invalid bpf_context access off=4000"), "{refused}");
}

/// Needs no rights: it gives them away first.
#[test]
fn without_rights_it_is_said() {
    let refused = std::thread::spawn(|| {
        #[repr(C)]
        struct Header(u32, i32);
        let (header, none) = (Header(0x2008_0522, 0), [0u32; 6]);
        // SAFETY: version 3 of the structures, 0 for the calling thread, and no capability.
        let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        [always(action::PASS).map(drop), Map::sockets(1).map(drop)].map(Result::unwrap_err)
    });
    for unavailable in refused.join().unwrap() {
        let text = unavailable.to_string();
        assert!(text.contains("run as root, or with CAP_BPF"), "{text}");
        assert!(text.contains("kernel.unprivileged_bpf_disabled is "), "{text}");
    }
}
