//! The slab against a model, and the ways to misuse it.

use super::*;
use proptest::prelude::*;

#[test]
fn a_fresh_frame_has_full_headroom_and_the_whole_slot_behind() {
    let slab = Slab::new(4).unwrap();
    let mut pool = slab.pool();
    let mut frame = pool.alloc(60).unwrap();
    assert_eq!((frame.len(), slab.bytes(&frame).len()), (60, 60));
    assert!(!slab.push(&mut frame, usize::from(HEADROOM) + 1), "beyond the headroom");
    assert!(slab.push(&mut frame, usize::from(HEADROOM)));
    assert!(!slab.push(&mut frame, 1) && !slab.push(&mut frame, usize::MAX));
    assert_eq!(frame.len(), 188);
    frame.pull(128);
    // The slot is 2048 bytes behind the headroom; lengths that would wrap are refused too.
    let most = STRIDE - usize::from(HEADROOM);
    for (len, fits) in [(0, true), (most, true), (most + 1, false), (65_536, false)] {
        assert_eq!(slab.set_len(&mut frame, len), fits, "{len}");
    }
    for wraps in [usize::MAX, usize::MAX - 127, usize::MAX - 60] {
        assert!(!slab.set_len(&mut frame, wraps), "{wraps}");
    }
    assert_eq!(frame.len(), most);
    slab.bytes_mut(&mut frame).fill(0xee);
    frame.pull(most);
    assert_eq!(slab.bytes(&frame), []);
    pool.free(frame);
    assert_eq!(pool.alloc(MAX_FRAME + 1), None);
    let longest = pool.alloc(MAX_FRAME).unwrap();
    pool.free(longest);
}

#[test]
fn an_exhausted_slab_says_so_and_recovers() {
    let slab = Slab::new(100).unwrap();
    let mut pool = slab.pool();
    let mut frames: Vec<_> = std::iter::from_fn(|| pool.alloc(60)).collect();
    assert_eq!((frames.len(), slab.frames_out(), slab.capacity()), (100, 100, 100));
    let slots: std::collections::BTreeSet<_> = frames.iter().map(Frame::slot).collect();
    assert_eq!(slots.len(), 100, "each slot once");
    assert!(slots.iter().all(|&slot| slot < 100));

    let mut other = slab.pool();
    assert_eq!(other.alloc(60), None);
    pool.free(frames.pop().unwrap());
    assert_eq!(other.alloc(60), None, "the free slot is in the first pool's cache");
    drop(pool);
    frames.push(other.alloc(60).unwrap());
    for frame in frames {
        other.free(frame);
    }
    drop(other);
    assert_eq!(slab.frames_out(), 0);
}

#[test]
fn a_slab_is_short_while_a_quarter_is_left() {
    for (capacity, short_from) in [(4096, Some(3072)), (1023, None)] {
        let slab = Slab::new(capacity).unwrap();
        let mut pool = slab.pool();
        let mut frames: Vec<Frame> = Vec::new();
        assert!(!slab.is_short());
        while let Some(frame) = pool.alloc(60) {
            frames.push(frame);
            let out = slab.frames_out();
            assert_eq!(slab.is_short(), short_from.is_some_and(|from| out > from), "{out}");
        }
        frames.into_iter().for_each(|frame| pool.free(frame));
        assert!(!slab.is_short());
    }
}

#[test]
fn a_pool_keeps_no_more_than_two_refills() {
    let slab = Slab::new(1000).unwrap();
    let (mut one, mut two) = (slab.pool(), slab.pool());
    let frames: Vec<_> = std::iter::from_fn(|| one.alloc(60)).collect();
    for frame in frames {
        two.free(frame);
        assert!(two.cache.len() <= 2 * REFILL);
    }
    assert!(slab.frames_out() <= 2 * REFILL, "{} kept", slab.frames_out());
}

#[test]
fn impossible_slabs_are_refused() {
    for frames in [0, 1 << 24, usize::MAX] {
        assert_eq!(Slab::new(frames).err(), Some(SlabError::BadCount(frames)));
    }
}

#[test]
fn slots_are_as_long_as_their_frames_need() {
    assert_eq!(Slots::STANDARD.max_frame(), MAX_FRAME);
    for (max_frame, stride) in [(0, 2176), (1920, 2176), (1921, 2432), (9856, 10_112)] {
        assert_eq!(Slots::holding(max_frame).map(Slots::stride), Some(stride), "{max_frame}");
    }
    assert_eq!(Slots::holding(9856), Some(Slots::JUMBO));
    assert_eq!(Slots::holding(65_152).map(Slots::max_frame), Some(65_152));
    assert!(Slots::holding(65_153).is_none() && Slots::holding(usize::MAX).is_none());
    let chunks = [Slots::STANDARD, Slots::JUMBO, Slots::ALIGNED].map(Slots::chunk);
    assert_eq!(chunks, [(2176, false), (4096, false), (2048, true)]);

    let slab = Slab::with(3, Slots::JUMBO).unwrap();
    let mut pool = slab.pool();
    assert_eq!(pool.alloc(9857), None);
    let mut frames: Vec<_> = (1..=3).map(|i| (pool.alloc(9856).unwrap(), i)).collect();
    for (frame, i) in &mut frames {
        slab.bytes_mut(frame).fill(*i);
    }
    for (frame, i) in frames {
        assert!(slab.bytes(&frame).iter().all(|&byte| byte == i));
        pool.free(frame);
    }
}

/// Hands a frame of one slab to another.
fn stray(use_it: fn(&Slab, Frame)) {
    let (ours, theirs) = (Slab::new(4).unwrap(), Slab::new(4).unwrap());
    use_it(&ours, theirs.pool().alloc(60).unwrap());
}

#[test]
#[should_panic(expected = "a frame of another slab")]
fn a_strays_bytes_cannot_be_read() {
    stray(|slab, frame| drop(slab.bytes(&frame).to_vec()));
}

#[test]
#[should_panic(expected = "a frame of another slab")]
fn a_strays_bytes_cannot_be_written() {
    stray(|slab, mut frame| slab.bytes_mut(&mut frame)[0] = 1);
}

#[test]
#[should_panic(expected = "a frame of another slab")]
fn a_stray_cannot_be_lengthened() {
    stray(|slab, mut frame| assert!(slab.set_len(&mut frame, 61)));
}

#[test]
#[should_panic(expected = "a frame of another slab")]
fn a_stray_cannot_be_freed() {
    stray(|slab, frame| slab.pool().free(frame));
}

#[test]
#[should_panic(expected = "truncate to 61 of 60")]
fn truncating_does_not_lengthen() {
    stray(|_, mut frame| frame.truncate(61));
}

#[test]
#[should_panic(expected = "pull 61 of 60")]
fn pulling_stops_at_the_end() {
    stray(|_, mut frame| frame.pull(61));
}

#[test]
fn a_frame_that_outlives_its_slab_fits_no_later_one() {
    let old = Slab::new(4).unwrap().pool().alloc(60).unwrap();
    for _ in 0..300 {
        let new = Slab::new(4).unwrap();
        assert_ne!(new.memory.tag, old.handle() & !SLOT_MASK);
    }
}

#[test]
fn a_large_slab_is_zero_and_writable_to_its_last_byte() {
    let n = 2 * HUGE / STRIDE;
    let slab = Slab::new(n).unwrap();
    let mut pool = slab.pool();
    let mut frames: Vec<_> = std::iter::from_fn(|| pool.alloc(0)).collect();
    assert_eq!(frames.len(), n);
    for frame in &mut frames {
        assert!(slab.push(frame, 128) && slab.set_len(frame, STRIDE));
        assert!(slab.bytes(frame).iter().all(|&byte| byte == 0));
        let slot = frame.slot();
        slab.bytes_mut(frame).fill(slot as u8);
    }
    for frame in frames {
        assert!(slab.bytes(&frame).iter().all(|&byte| byte == frame.slot() as u8));
        pool.free(frame);
    }
}

/// What can be done to the frames in hand; indices wrap around them.
#[derive(Clone, Debug)]
enum Op {
    Alloc { pool: usize, len: usize },
    Free { pool: usize, frame: usize },
    Push { frame: usize, n: usize },
    Pull { frame: usize, n: usize },
    Truncate { frame: usize, n: usize },
    SetLen { frame: usize, len: usize },
    NewPool { pool: usize },
}

fn op() -> impl Strategy<Value = Op> {
    let (pool, frame) = (0usize..2, 0usize..1000);
    prop_oneof![
        6 => (pool.clone(), 0..=MAX_FRAME).prop_map(|(pool, len)| Op::Alloc { pool, len }),
        4 => (pool.clone(), frame.clone()).prop_map(|(pool, frame)| Op::Free { pool, frame }),
        2 => (frame.clone(), 0usize..200).prop_map(|(frame, n)| Op::Push { frame, n }),
        2 => (frame.clone(), 0usize..200).prop_map(|(frame, n)| Op::Pull { frame, n }),
        2 => (frame.clone(), 0usize..200).prop_map(|(frame, n)| Op::Truncate { frame, n }),
        2 => (frame, 0usize..2300).prop_map(|(frame, len)| Op::SetLen { frame, len }),
        1 => pool.prop_map(|pool| Op::NewPool { pool }),
    ]
}

proptest! {
    /// Two pools and any sequence of operations: every frame in hand keeps its bytes whatever is
    /// done to the others, lengths and headroom are the model's, and no slot is lost or had twice.
    #[test]
    fn behaves_as_separate_buffers(ops in prop::collection::vec(op(), 0..120)) {
        const SLOTS: usize = 160;
        let slab = Slab::new(SLOTS).unwrap();
        let mut pools = [slab.pool(), slab.pool()];
        // Each frame in hand, with its headroom and the bytes it should have.
        let mut frames: Vec<(Frame, usize, Vec<u8>)> = vec![];
        for (i, op) in ops.into_iter().enumerate() {
            // What is new in a frame is this step's number, so that no two steps look alike.
            let new = i as u8;
            let n_frames = frames.len().max(1);
            match op {
                Op::Alloc { pool, len } => {
                    let Some(mut frame) = pools[pool].alloc(len) else {
                        let cached = pools[1 - pool].cache.len();
                        prop_assert!(frames.len() + cached == SLOTS, "{} in hand", frames.len());
                        continue;
                    };
                    slab.bytes_mut(&mut frame).fill(new);
                    frames.push((frame, usize::from(HEADROOM), vec![new; len]));
                }
                Op::Free { pool, frame } if !frames.is_empty() => {
                    pools[pool].free(frames.swap_remove(frame % n_frames).0);
                }
                Op::NewPool { pool } => pools[pool] = slab.pool(),
                Op::Push { frame, n } => {
                    let Some((frame, room, bytes)) = frames.get_mut(frame % n_frames) else { continue };
                    prop_assert_eq!(slab.push(frame, n), n <= *room);
                    if n <= *room {
                        *room -= n;
                        bytes.splice(..0, vec![new; n]);
                        slab.bytes_mut(frame)[..n].fill(new);
                    }
                }
                Op::Pull { frame, n } => {
                    let Some((frame, room, bytes)) = frames.get_mut(frame % n_frames) else { continue };
                    let n = n.min(bytes.len());
                    frame.pull(n);
                    *room += n;
                    bytes.drain(..n);
                }
                Op::Truncate { frame, n } => {
                    let Some((frame, _, bytes)) = frames.get_mut(frame % n_frames) else { continue };
                    let len = bytes.len().saturating_sub(n);
                    frame.truncate(len);
                    bytes.truncate(len);
                }
                Op::SetLen { frame, len } => {
                    let Some((frame, room, bytes)) = frames.get_mut(frame % n_frames) else { continue };
                    let fits = *room + len <= STRIDE;
                    prop_assert_eq!(slab.set_len(frame, len), fits);
                    if fits {
                        let old = bytes.len();
                        bytes.resize(len, new);
                        if len > old {
                            slab.bytes_mut(frame)[old..].fill(new);
                        }
                    }
                }
                Op::Free { .. } => {}
            }
            for (frame, _, bytes) in &frames {
                prop_assert_eq!(slab.bytes(frame), &bytes[..], "slot {} after step {}", frame.slot(), i);
            }
            let cached = pools[0].cache.len() + pools[1].cache.len();
            prop_assert_eq!(slab.frames_out(), frames.len() + cached);
        }
        drop(pools);
        prop_assert_eq!(slab.frames_out(), frames.len());
        let mut pool = slab.pool();
        frames.into_iter().for_each(|(frame, ..)| pool.free(frame));
        drop(pool);
        prop_assert_eq!(slab.frames_out(), 0);
    }
}

/// Frames wander between cores, each with its own pool: what one wrote the next reads.
#[test]
fn frames_go_from_thread_to_thread() {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 500 };
    let slab = Slab::new(600).unwrap();
    let (to_two, from_one) = std::sync::mpsc::sync_channel::<Frame>(64);
    let writer = std::thread::spawn({
        let mut pool = slab.pool();
        move || {
            for i in 0..ROUNDS * 64 {
                let mut frame = loop {
                    match pool.alloc(64 + i % 100) {
                        Some(frame) => break frame,
                        None => std::thread::yield_now(),
                    }
                };
                pool.slab().bytes_mut(&mut frame).fill(i as u8);
                to_two.send(frame).unwrap();
            }
        }
    });
    let mut pool = slab.pool();
    for (i, frame) in from_one.iter().enumerate() {
        assert_eq!(slab.bytes(&frame), vec![i as u8; 64 + i % 100]);
        pool.free(frame);
    }
    writer.join().unwrap();
    drop(pool);
    assert_eq!(slab.frames_out(), 0);
}
