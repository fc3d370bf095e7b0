//! The heap of the process.
//!
//! A simulated GPU is some tens of MB in thousands of pieces. The system hands out pages of 4 KiB as each is first written, which
//! takes 2 µs: the 10,000 of an H200 take 20 ms. Pages of 2 MiB take a quarter of that for as much memory, and the processor keeps
//! track of all of them.

/// The heap lies in large pages from now on, where the system has them for those that ask: to be called by a program before it
/// needs much memory. Nothing depends on it but time.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
pub fn use_large_pages() {
    use std::hint::black_box;

    /// Addresses that are set aside for it [bytes]; memory is taken as it is written.
    const HEAP: usize = 128 << 20;
    const LARGE_PAGE: usize = 2 << 20;
    /// Larger pieces lie outside.
    const PIECE: usize = 32 << 20;
    // SAFETY: these say how much the allocator asks of the system at a time, and what it gives back.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, HEAP as libc::c_int);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * HEAP as libc::c_int);
        libc::mallopt(libc::M_MMAP_THRESHOLD, PIECE as libc::c_int);
    }
    // More than is left of what it has: it asks for the addresses now. There may be a limit to them.
    let mut piece = Vec::<u8>::new();
    let has_asked = black_box(piece.try_reserve_exact(LARGE_PAGE)).is_ok();
    drop(piece);
    // SAFETY: as above; what is needed beyond is asked for a little at a time.
    unsafe { libc::mallopt(libc::M_TOP_PAD, LARGE_PAGE as libc::c_int) };
    if !has_asked {
        return;
    }
    // SAFETY: a null increment moves nothing.
    let end = unsafe { libc::sbrk(0) } as usize;
    let first = end.saturating_sub(HEAP).next_multiple_of(LARGE_PAGE);
    // SAFETY: the advice changes no byte of what lies there, and where nothing does, or the system has no such pages, it is refused.
    unsafe {
        libc::madvise(first as *mut libc::c_void, end.saturating_sub(first), libc::MADV_HUGEPAGE)
    };
}

/// Other systems have no such pages, or give them unasked.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
pub fn use_large_pages() {}
