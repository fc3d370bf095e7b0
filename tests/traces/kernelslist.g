MemcpyHtoD,0x00007f0000001000,512
kernel-1.traceg
kernel-2.traceg.xz
