//! Limit on the number of slabs. A program of its own: while this runs, nobody else can have one.

use port::{Slab, slab::SlabError};

#[test]
fn the_257th_slab_is_refused_until_one_goes() {
    let mut slabs: Vec<_> = (0..255).map(|_| Slab::new(1).unwrap()).collect();
    let error = Slab::new(1).err().expect("no number is left");
    assert_eq!(error, SlabError::TooManySlabs);
    assert_eq!(error.to_string(), "255 frame slabs live already; drop one first");
    slabs.swap_remove(100);
    let again = Slab::new(1).unwrap();
    // A frame that outlives its slab keeps the number from being used again.
    let frame = again.pool().alloc(60).unwrap();
    drop(again);
    assert_eq!(Slab::new(1).err(), Some(SlabError::TooManySlabs));
    assert_eq!(frame.len(), 60);
}
