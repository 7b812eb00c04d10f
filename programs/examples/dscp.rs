// SPDX-License-Identifier: BSD-3-Clause
//! dscp.rs - dscp.c's class by DSCP, in Rust: whatever makes WebAssembly 1.0 makes packet programs
//!
//!     rustc --target wasm32v1-none -C opt-level=2 -C panic=abort -C link-args='--no-entry -zstack-size=4096
//!         --initial-memory=65536 --max-memory=65536' --crate-type cdylib dscp.rs -o dscp.wasm
//!     kamuee program build dscp.wasm -o dscp.so
#![no_std]

#[repr(C)]
pub struct Packet {
    time: u64,
    length: u32,
    interface: u32,
    hash: u32,
    ether_type: u16,
    family: u8,
    class: u8,
    readable: u16,
    changed: u16,
    adjust: i16,
    reserved: u16,
    data: [u8; 128],
}

#[link(wasm_import_module = "kamuee")]
extern "C" {
    #[link_name = "get"]
    fn kamuee_get(table: u32, key: u64) -> u64;
}

const CONTINUE: u32 = 0;
const CLASS: u32 = 2;

#[link_section = "kamuee"]
#[used]
static DECLARED: [u8; 41] = *b"window 64; table array class 64 read-only";

#[no_mangle]
pub extern "C" fn packet(p: &mut Packet) -> u32 {
    let dscp = match p.family {
        4 => p.data[1] >> 2,
        6 => (p.data[0] << 2 | p.data[1] >> 6) & 63,
        _ => return CONTINUE,
    };
    CLASS | (unsafe { kamuee_get(0, u64::from(dscp)) } as u32 & 7) << 8
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
