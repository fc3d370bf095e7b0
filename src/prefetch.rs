//! Memory that is wanted soon.
//!
//! A large GPU has more state than a processor's second cache. Where what is looked at next is known some time before, it is asked
//! for then: the processor fetches it while it does other things, and several such places at once.

/// Asks for the line of the processor's caches in which `place` begins. Changes nothing but how long the next look at it takes.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads and writes nothing; every processor of this kind has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The same of an item of a list, where there is one.
#[inline(always)]
pub fn prefetch_at<T>(list: &[T], number: usize) {
    if let Some(place) = list.get(number) {
        prefetch(place);
    }
}
