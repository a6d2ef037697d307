//! Names, units and definitions of the metrics, in the order of their values.

/// Of a flow.
pub(super) const FLOW: &[(&str, &str, &str)] = &[
    (
        "goodput",
        "bit/s",
        "application bytes delivered in order at the receiving end, of datagrams those that came, \
         times 8, over duration; of datagrams over the time from their start to the arrival of the \
         last less the least delay, where a queue makes that longer",
    ),
    (
        "duration",
        "s",
        "from the sending of the first SYN to the delivery of the last byte; for a bulk flow, and \
         for a flow that is cut off or fails, to its end; for datagrams as long as their source \
         was at work, the time to the next one after the last included",
    ),
    (
        "bytes_delivered",
        "B",
        "application bytes delivered in order at the receiving end, of datagrams those that came",
    ),
    (
        "completed",
        "",
        "1 if everything that was to be delivered was, else 0; for bulk flows 1, for datagrams 1 \
         if all were sent",
    ),
    (
        "reverse_goodput",
        "bit/s",
        "the same as goodput for the bytes that go the other way; none without reverse data",
    ),
    (
        "segments_sent",
        "",
        "segments with data that the sending end sent, retransmissions included, bare SYN and FIN not",
    ),
    (
        "segments_retransmitted",
        "",
        "of these, those that held data sent before",
    ),
    (
        "timeouts",
        "",
        "expiries of the retransmission timer of the sending end",
    ),
    (
        "fast_retransmits",
        "",
        "recoveries that duplicate ACKs or SACK began at the sending end (one a window of losses, \
         however many segments it repaired)",
    ),
    (
        "dup_acks",
        "",
        "duplicate ACKs that the sending end received; with SACK, ACKs with SACK news",
    ),
    (
        "acks_sent",
        "",
        "segments without data that the receiving end sent",
    ),
    (
        "rtt_mean",
        "s",
        "mean of the round-trip samples that the sending end's estimator took",
    ),
    ("rtt_min", "s", "least of these samples"),
    ("rtt_max", "s", "greatest of these samples"),
    (
        "rto_mean",
        "s",
        "mean of the retransmission time-out after each of these samples",
    ),
    (
        "window_probes",
        "",
        "zero-window probes that the sending end sent",
    ),
    (
        "tail_probes",
        "",
        "tail loss probes that the sending end sent (RFC 8985, 7)",
    ),
    (
        "undos",
        "",
        "reductions of the window that the sending end took back",
    ),
    (
        "responses",
        "",
        "pages (http), files (repeat, web), items (smtp, nntp, ftp) or answers to keystrokes \
         (telnet, rlogin) that were there whole; none for other applications",
    ),
    (
        "response_time_mean",
        "s",
        "mean of their response times: from the SYN of a new connection, or from the request on \
         one that was open, to the delivery of the last byte; for a keystroke from the instant that \
         it was typed",
    ),
    (
        "fair_share",
        "",
        "goodput over the mean goodput of all flows of the run: 1 is an equal share. What flows of \
         one TCP get beside those of another is the other's friendliness; none with one flow",
    ),
    (
        "goodput_over_run",
        "bit/s",
        "bytes_delivered times 8 over the simulated time of the whole run: those of all flows add up \
         to what their paths carried, while a goodput is over its flow's own duration",
    ),
    (
        "time_slow_start",
        "s",
        "time in which the sending end had data outstanding and a window below ssthresh (for BBR: \
         in Startup, for Peach: in Sudden Start), and repaired no loss",
    ),
    (
        "time_congestion_avoidance",
        "s",
        "the same with a window of ssthresh or above",
    ),
    (
        "time_recovery",
        "s",
        "time from a fast retransmit or a time-out until all that was outstanding then was \
         acknowledged (Tahoe repairs in slow start after a fast retransmit)",
    ),
    (
        "time_idle",
        "s",
        "time in which the connection was open and everything that the sending end sent was \
         acknowledged",
    ),
    (
        "limited_handshake",
        "",
        "share of the time from the first SYN to the end of the flow that no connection was open \
         yet: the flow waits for a handshake. This and what follows up to limited_timeouts sum to \
         1, and say what kept the sending end from sending more",
    ),
    (
        "limited_application",
        "",
        "share in which all that the application wrote was sent, or its end was held by Nagle's \
         rule; or no connection was there, and none was wanted",
    ),
    (
        "limited_send_buffer",
        "",
        "share in which all that found room in the send buffer was sent, and the application waited \
         to write more",
    ),
    (
        "limited_receive_window",
        "",
        "share in which the window that the receiving end offered had no room for the next segment",
    ),
    (
        "limited_congestion_window",
        "",
        "share in which that window had room, and the congestion window none",
    ),
    (
        "limited_pacing",
        "",
        "share in which both windows had room, and the next segment waited for its turn by the \
         pacing rate",
    ),
    (
        "limited_recovery",
        "",
        "share from a fast retransmit until all that was outstanding then was acknowledged, \
         whatever the windows were (Tahoe repairs in slow start, which is none)",
    ),
    (
        "limited_timeouts",
        "",
        "share in which the sending end waited for its retransmission timer, from the last that it \
         sent or that was acknowledged, and repaired what was outstanding when the timer expired",
    ),
    (
        "receive_window_max",
        "B",
        "largest window that the receiving end offered",
    ),
    (
        "acks_lost",
        "",
        "packets from the receiving end that were lost, for any cause",
    ),
    (
        "dummies_sent",
        "",
        "dummy segments that the sending end sent (Peach), which are not among the segments above",
    ),
    ("dummies_acked", "", "of these, those whose ACK came back"),
    (
        "response_time_p95",
        "s",
        "time that 95 % of them are up to (nearest rank, right to 0.4 %)",
    ),
    ("response_time_max", "s", "greatest of them"),
    (
        "segment_delay_mean",
        "s",
        "mean time from when the sending end first sent a segment of data to when it came, whole, to \
         the receiving end: each once, a segment that was lost by the retransmission that came first \
         (the average end-to-end delay of TCP of Wong 1998)",
    ),
    (
        "segments_out_of_order",
        "",
        "segments with data that came to the receiving end when something before them was missing",
    ),
    (
        "segments_duplicate",
        "",
        "segments with data that came to the receiving end when all of their data had come before: \
         retransmissions that were not needed, but for those that were lost themselves, and copies \
         that a link made",
    ),
    (
        "timeouts_repeated",
        "",
        "of the time-outs, those before which nothing new had been acknowledged since the time-out \
         before: backed off, and of the same segment",
    ),
    (
        "datagrams_sent",
        "",
        "UDP datagrams sent; none, as what follows up to jitter, for flows over TCP",
    ),
    (
        "datagrams_received",
        "",
        "of these, those that arrived whole at least once",
    ),
    (
        "datagrams_lost",
        "",
        "of these, those that did not, less those that were under way when the run was cut off",
    ),
    ("datagrams_duplicated", "", "further copies that arrived"),
    (
        "datagrams_reordered",
        "",
        "datagrams received after one that was sent later (RFC 4737, 3.3)",
    ),
    (
        "loss_rate",
        "",
        "datagrams lost over datagrams lost and received",
    ),
    ("loss_burst_max", "", "most datagrams lost in a row"),
    (
        "delay_mean",
        "s",
        "mean one-way delay of the datagrams received: from the program that sends to the arrival \
         of the last bit, first copies only",
    ),
    ("delay_sd", "s", "standard deviation of these delays"),
    ("delay_min", "s", "least of these delays"),
    ("delay_max", "s", "greatest of these delays"),
    (
        "delay_p99",
        "s",
        "delay that 99 % of them are up to (nearest rank, right to 0.4 %)",
    ),
    (
        "jitter",
        "s",
        "interarrival jitter at the end of the run (RFC 3550, 6.4.1: mean change of the delay from \
         one datagram to the next, smoothed over about 16)",
    ),
];

/// Of one direction of a link; the drops by cause follow.
pub(super) const LINK: &[(&str, &str, &str)] = &[
    (
        "utilisation",
        "",
        "share of the run that the transmitter was sending, framing and other traffic included",
    ),
    (
        "throughput",
        "bit/s",
        "IP bytes of flows sent, times 8, over the run; of compressed headers what was sent",
    ),
    ("packets", "", "packets of flows sent"),
    ("bytes", "B", "their IP bytes"),
    (
        "queue_max",
        "",
        "most packets that waited for the transmitter at once",
    ),
    ("drops", "", "packets lost, for any cause"),
    (
        "marks",
        "",
        "ECN-capable packets that the queue marked as having met congestion (RFC 3168)",
    ),
    (
        "low_packets",
        "",
        "of the packets sent, those of low priority (dummy segments and their ACKs)",
    ),
    (
        "low_drops_congestion",
        "",
        "of the packets lost, those of low priority that found no room or gave theirs up",
    ),
    (
        "low_drops_other",
        "",
        "of the packets lost, those of low priority that were lost for other causes",
    ),
    (
        "goodput_share",
        "",
        "segments of data that had to cross (bytes delivered over the MSS, rounded up, for each \
         flow whose path leads over it; of datagrams those received), over the segments of data \
         that the transmitter sent: 1 without retransmissions (the wired and wireless goodput of \
         West 1997)",
    ),
    (
        "background_throughput",
        "bit/s",
        "IP bytes of other traffic (`background`) sent, times 8, over the run; none without any",
    ),
    (
        "background_loss",
        "",
        "share of the packets of other traffic that found the queue full",
    ),
    (
        "frames_sent",
        "",
        "frames with a packet that were handed to the MAC, retransmissions included; this and what \
         follows up to window_max only for a link with a protocol (arq)",
    ),
    (
        "frames_retransmitted",
        "",
        "of these, those whose packet was sent before",
    ),
    (
        "frames_supervisory",
        "",
        "frames without a packet: acknowledgments, rejects, status, SABME and UA",
    ),
    (
        "frames_lost",
        "",
        "frames of any kind that the channel lost or damaged; a packet is lost only if it is given \
         up (drops_link_give_up)",
    ),
    (
        "frames_duplicate",
        "",
        "frames that came when the receiver had their packet already",
    ),
    (
        "frames_discarded",
        "",
        "frames that came undamaged and new, and were thrown away: out of sequence in go-back-N, or \
         while the link was being re-established",
    ),
    (
        "link_resets",
        "",
        "times that the sender of this direction re-established the link after N2 time-outs",
    ),
    (
        "competing_retransmissions",
        "",
        "TCP segments that came to the link while a frame with data of theirs had been sent and not \
         yet delivered: TCP and the link repair the same loss",
    ),
    (
        "link_delay_mean",
        "s",
        "mean time from when a frame was first handed to the MAC to when its packet first came to \
         the link layer at the far end; packets that never came not counted",
    ),
    (
        "window_mean",
        "",
        "mean over the run of the frames that were sent and not acknowledged",
    ),
    ("window_max", "", "most of these at once"),
    (
        "access_failures",
        "",
        "frames of any kind that the MAC gave up, because the medium was never free for them \
         (csma-ca, aloha); only for a link with a protocol",
    ),
    (
        "vj_compressed",
        "",
        "packets that the link took with compressed headers; this and what follows up to \
         vj_errors only for a link with header_compression",
    ),
    (
        "vj_uncompressed",
        "",
        "packets that it took whole and that set what is remembered of their connection \
         (UNCOMPRESSED_TCP)",
    ),
    (
        "vj_ip",
        "",
        "packets that it took as they were (TYPE_IP): no TCP, SYN, FIN, RST, fragments",
    ),
    (
        "vj_bytes_saved",
        "B",
        "bytes of headers that compression spared the link",
    ),
    (
        "vj_tossed",
        "",
        "packets thrown away at the far end, because a damaged frame came before or nothing was \
         known of their connection (drops_checksum)",
    ),
    (
        "vj_errors",
        "",
        "packets whose headers came out wrong at the far end; the checksum of TCP tells their \
         receiver (drops_checksum there)",
    ),
];

/// Of a run.
pub(super) const RUN: &[(&str, &str, &str)] = &[
    (
        "jain",
        "",
        "Jain's fairness index of the goodputs x of n flows, (sum x)² / (n sum x²): from 1/n, one \
         flow has all, to 1, all have the same; none with one flow",
    ),
    (
        "jain_over_run",
        "",
        "the same index of their goodput_over_run: flows that began late or ended early have less",
    ),
    (
        "unfinished",
        "",
        "flows that were not done when max_duration cut the run off; what they had delivered until \
         then counts, and their completed is 0. A run that a duration ends has none",
    ),
];
