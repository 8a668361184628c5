//! Maps: memory that a program in the kernel and this process both see.
//!
//! ```text
//!  Map          keys to values by system call: AF_XDP sockets, devices, tables
//!  SharedArray  u64 words mapped into this process: read and written while the program runs
//! ```
//!
//! Never grows; never outlives its last descriptor.

use super::syscall::{self, unavailable};
use crate::linux::Unavailable;
use crate::mapping::Mapping;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a map holds (`enum bpf_map_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any keys.
    Hash = 1,
    /// Keys from 0 up; all are there from the beginning, zero.
    Array = 2,
    /// Network devices, by index in the namespace of the thread that enters them.
    Devices = 14,
    /// AF_XDP sockets, by descriptor.
    Sockets = 17,
}

/// Keys and values, both of fixed size.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    key_bytes: usize,
    value_bytes: usize,
}

/// For [`Map::with_flags`]: the process may map its memory (`BPF_F_MMAPABLE`; arrays only).
const MMAPABLE: u32 = 1 << 10;

#[repr(C)]
#[derive(Default)]
struct Create {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    inner_map: u32,
    numa_node: u32,
    name: [u8; 16],
}

#[repr(C)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Map {
    /// A new, empty map.
    ///
    /// # Errors
    /// [`Unavailable`]: no rights, no memory.
    pub fn new(
        kind: Kind,
        name: &str,
        key_bytes: usize,
        value_bytes: usize,
        entries: usize,
    ) -> Result<Map, Unavailable> {
        Map::with_flags(kind, name, key_bytes, value_bytes, entries, 0)
    }

    fn with_flags(
        kind: Kind,
        name: &str,
        key_bytes: usize,
        value_bytes: usize,
        entries: usize,
        flags: u32,
    ) -> Result<Map, Unavailable> {
        let mut attr = Create {
            kind: kind as u32,
            key_bytes: key_bytes as u32,
            value_bytes: value_bytes as u32,
            entries: entries as u32,
            flags,
            name: syscall::name(name),
            ..Create::default()
        };
        // SAFETY: the structure is this command's, and holds no pointers.
        let fd = unsafe { syscall::open(syscall::MAP_CREATE, &mut attr) }
            .map_err(|error| unavailable(format!("make the BPF map {name}"), error))?;
        Ok(Map { fd, key_bytes, value_bytes })
    }

    /// For AF_XDP sockets: queue number to socket.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    pub fn sockets(queues: usize) -> Result<Map, Unavailable> {
        Map::new(Kind::Sockets, "xsks", 4, 4, queues)
    }

    /// Enters a value.
    ///
    /// # Errors
    /// [`Unavailable`]: the key is none of an array's, or the value is no socket, no device.
    ///
    /// # Panics
    /// If key or value are not as long as the map's.
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<(), Unavailable> {
        self.check(key, value.len());
        let mut attr = self.element(key, value.as_ptr() as u64);
        // SAFETY: key and value are as long as the map's, and only read.
        unsafe { syscall::call(syscall::MAP_UPDATE_ELEM, &mut attr) }
            .map(drop)
            .map_err(|error| unavailable("enter a value in a BPF map", error))
    }

    /// Reads a value; `None` if there is none of this key.
    ///
    /// # Panics
    /// If the key is not as long as the map's, or the kernel refuses for another reason: maps of
    /// sockets and devices cannot be read.
    pub fn lookup(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut value = vec![0; self.value_bytes];
        self.check(key, value.len());
        let mut attr = self.element(key, value.as_mut_ptr() as u64);
        // SAFETY: the key is as long as the map's; the value has room for one.
        match unsafe { syscall::call(syscall::MAP_LOOKUP_ELEM, &mut attr) } {
            Ok(_) => Some(value),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => None,
            Err(error) => panic!("reading a BPF map: {error}"),
        }
    }

    /// Takes a key out; whether it was there.
    ///
    /// # Panics
    /// If the key is not as long as the map's.
    pub fn delete(&self, key: &[u8]) -> bool {
        self.check(key, self.value_bytes);
        let mut attr = self.element(key, 0);
        // SAFETY: the key is as long as the map's, and only read.
        unsafe { syscall::call(syscall::MAP_DELETE_ELEM, &mut attr) }.is_ok()
    }

    /// [`update`](Self::update) where both are numbers of four bytes.
    ///
    /// # Errors
    /// As of [`update`](Self::update).
    pub fn set(&self, key: u32, value: u32) -> Result<(), Unavailable> {
        self.update(&key.to_ne_bytes(), &value.to_ne_bytes())
    }

    fn check(&self, key: &[u8], value_bytes: usize) {
        let (given, own) = ((key.len(), value_bytes), (self.key_bytes, self.value_bytes));
        assert!(given == own, "key and value of {given:?} bytes in a map of {own:?}");
    }

    fn element(&self, key: &[u8], value: u64) -> Element {
        let map = self.fd.as_raw_fd() as u32;
        Element { map, padding: 0, key: key.as_ptr() as u64, value, flags: 0 }
    }
}

impl AsRawFd for Map {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// An array of one value, which is words of 64 bits: programs reach it by its address
/// ([`Assembler::address`](super::Assembler::address)), this process by loads and stores.
pub struct SharedArray {
    map: Map,
    memory: Mapping,
    len: usize,
}

impl SharedArray {
    /// So many words, all zero.
    ///
    /// # Errors
    /// As of [`Map::new`].
    pub fn new(name: &str, len: usize) -> Result<SharedArray, Unavailable> {
        let map = Map::with_flags(Kind::Array, name, 4, len * 8, 1, MMAPABLE)?;
        let memory = Mapping::shared(map.fd.as_fd(), len * 8, 0).map_err(|error| {
            Unavailable::because(format!("map the BPF array {name} into memory"), error)
        })?;
        Ok(SharedArray { map, memory, len })
    }

    /// The map itself.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// A word as it is now.
    ///
    /// # Panics
    /// If there is no such word.
    pub fn get(&self, at: usize) -> u64 {
        self.words()[at].load(Ordering::Relaxed)
    }

    /// Writes a word.
    ///
    /// # Panics
    /// If there is no such word.
    pub fn set(&self, at: usize, value: u64) {
        self.words()[at].store(value, Ordering::Relaxed);
    }

    /// All words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped for `len` words as long as `self` lives, page-aligned, and touched by
        // atomics only: here, and by whole words in the kernel.
        unsafe { std::slice::from_raw_parts(self.memory.base().cast(), self.len) }
    }
}
