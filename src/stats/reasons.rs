//! The reasons of the ledgers.

crate::reasons! {
    /// What a scheduler did with one cycle.
    pub enum IssueReason {
        /// An instruction was issued.
        Issued = "issued",
        /// A ready memory instruction found the LSU stalled because a line's MSHR entry had no free merger field.
        LsuNoMerger = "lsu_nomerger",
        /// A ready memory instruction found the LSU stalled because no MSHR entry was free.
        LsuNoMshrLine = "lsu_nomshrline",
        /// A ready memory instruction found the LSU stalled because every way of the set was reserved.
        LsuNoCacheLine = "lsu_nocacheline",
        /// A ready memory instruction found the LSU serialising the accesses, or different constants, of another one.
        LsuCoalescing = "lsu_coalescing",
        /// A ready memory instruction found the LSU stalled because the way to the interconnect was full.
        LsuMissQueue = "lsu_missqueue",
        /// A ready memory instruction found the LSU serialising shared-memory bank conflicts, or without the banks while products of warpgroups had them.
        LsuBankConflict = "lsu_bankconflict",
        /// A ready memory instruction found the LSU, or its scheduler's queue, taken by others that were served at the full rate.
        LsuServing = "lsu_serving",
        /// A ready instruction found its arithmetic unit taken.
        UnitBusy = "unit_busy",
        /// The nearest warp waits for an arithmetic result or a parameter, behind a branch, or outside a full active set.
        Arithmetic = "arithmetic",
        /// The nearest warp waits for its next instruction, which is in no instruction cache of its sub-core.
        Fetch = "fetch",
        /// The oldest outstanding access was still in the LSU.
        MemoryLsu = "memory_lsu",
        /// The oldest outstanding access was in the L1: tags, miss queue, or data on its way to the registers.
        MemoryL1 = "memory_l1",
        /// The oldest outstanding access was merged into another access's miss and waited for its line.
        MemoryMerged = "memory_merged",
        /// The oldest outstanding access was in the request or reply network.
        MemoryNoc = "memory_noc",
        /// The oldest outstanding access was in an L2 slice or its queue.
        MemoryL2 = "memory_l2",
        /// The oldest outstanding access was in a DRAM controller: queue or service.
        MemoryDram = "memory_dram",
        /// The oldest outstanding access was in shared memory, or was a shuffle.
        MemoryShared = "memory_shared",
        /// The nearest warp waits at a fence, for its stores or for the fence itself, or for its bulk copies to global memory.
        Fence = "fence",
        /// Every warp waits at a barrier, or for one that opens in some cycles.
        Barrier = "barrier",
        /// No CTA has started yet: the machine's launch latency.
        Launch = "launch",
        /// No warp is resident that has an instruction left.
        NoWarp = "no_warp",
    }
}

crate::reasons! {
    /// What a load/store unit did with one cycle.
    pub enum LsuReason {
        /// No access was offered.
        Idle = "idle",
        /// An access was served, the last one of its warp instruction, or a pass over banks that its width asks for.
        Serving = "serving",
        /// Stalled: the line is outstanding and its MSHR entry has no free merger field.
        NoMerger = "nomerger",
        /// Stalled: the line is not outstanding and no MSHR entry is free.
        NoMshrLine = "nomshrline",
        /// Stalled: the line is not outstanding and every way of its set is reserved.
        NoCacheLine = "nocacheline",
        /// Further accesses of the warp instruction that was served, or different constants, waited for their turn.
        Coalescing = "coalescing",
        /// Stalled: the queue to the interconnect is full.
        MissQueue = "missqueue",
        /// A pass over the banks of shared memory was made, or of what the L1 keeps in banks, that only conflicts of lanes ask for; or products of warpgroups had the banks.
        BankConflict = "bankconflict",
    }
}

crate::reasons! {
    /// What a warp stood at an instruction for, from the cycle behind the one before it.
    pub enum WaitReason {
        /// The cycle in which it was issued, unless that was the one of the instruction before it.
        Issued = "issued",
        /// A ready memory instruction: the LSU was taken, or another warp was chosen.
        LsuTaken = "lsu_taken",
        /// Another ready instruction: its unit or the register file was taken, or another warp was chosen.
        Turn = "turn",
        /// The last register to be ready was one that a load fills.
        Memory = "memory",
        /// The last register to be ready was the result of arithmetic, or a parameter.
        Arithmetic = "arithmetic",
        /// A branch before it, lanes that meet, or the end of a block held the warp up.
        Control = "control",
        /// The barrier or fence before it was closed.
        Barrier = "barrier",
        /// It was in no instruction cache of the sub-core.
        Fetch = "fetch",
        /// The warp had come, and could not issue yet.
        Start = "start",
    }
}

crate::reasons! {
    /// Where a load access spent its time.
    pub enum LatencyStage {
        /// From the issue of its warp instruction until the L1 accepted the access.
        Lsu = "lsu",
        /// L1: tag and data access, the miss queue, and the release to the registers.
        L1 = "l1",
        /// Merged into another access's outstanding miss, until that line arrived.
        L1Merged = "l1_merged",
        /// Request network.
        RequestNetwork = "request_network",
        /// Waiting for the L2's tags, which others used or which refused the request.
        L2Queue = "l2_queue",
        /// L2: the way to the tags, tag and data access, the way between two partitions, and the wait for the reply network.
        L2 = "l2",
        /// Waiting for what another request of the L2 fetched.
        L2Merged = "l2_merged",
        /// From the L2's miss until the first DRAM command for it, less the way to the DRAM.
        DramQueue = "dram_queue",
        /// The way to the DRAM, and from its first command until the last byte arrived at the L2.
        DramService = "dram_service",
        /// Reply network.
        ReplyNetwork = "reply_network",
    }
}

crate::reasons! {
    /// What the data bus of a DRAM channel did with one clock. A burst counts from its command on.
    pub enum DramReason {
        /// It carried a burst that was read.
        Read = "read",
        /// It carried a burst that was written.
        Write = "write",
        /// The next burst waited for the bus to change from reads to writes, or back.
        Turnaround = "turnaround",
        /// The next burst waited for the one before it of its bank group (tCCD).
        BankGroup = "bank_group",
        /// The next burst waited for its row to be closed and opened, or came behind others that did.
        Row = "row",
        /// The next burst's row could have been opened, but for those that others opened before (tRRD, tFAW).
        Activates = "activates",
        /// The next burst's bank was refreshed.
        Refresh = "refresh",
        /// Only writes waited, until there were enough of them or no read had come for a while.
        WriteHold = "write_hold",
        /// No request waited.
        NoRequest = "no_request",
    }
}
