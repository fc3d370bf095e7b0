//! NVIDIA's libraries, loaded at run time where they are installed: gsim builds and runs without them.

pub mod nvrtc;
