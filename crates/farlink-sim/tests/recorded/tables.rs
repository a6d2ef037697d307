//! Tables of the recorded runs: paths, TCPs, applications, channels, links, whole scenarios.

/// Paths on which every TCP runs: keys of the direction from a to b, and of the flow.
pub(crate) const PATHS: &[(&str, &str, &str)] = &[
    (
        "loss",
        "rate = '2 Mbit/s', delay = '100 ms', queue = { packets = 30 }, channel = { loss = 0.02, corrupt = 0.01 }",
        "size = '200 kB'\nreverse = '20 kB'",
    ),
    (
        "queue",
        "rate = '1 Mbit/s', delay = '150 ms', queue = { packets = 12 }, mark = { packets = 8 }",
        "size = '400 kB'",
    ),
    (
        "timeouts",
        "rate = '1 Mbit/s', delay = '100 ms', channel = { loss = 0.25 }",
        "size = '12 kB'\ncount = 8\nstagger = '1 s'",
    ),
    (
        "reorder",
        "rate = '2 Mbit/s', delay = '150 ms', channel = { loss = 0.005, reorder = { probability = 0.02, delay = '80 ms' }, \
         jitter = { distribution = 'exponential', mean = '100 ms' } }",
        "size = '200 kB'",
    ),
    (
        "pages",
        "rate = '10 Mbit/s', delay = '200 ms', channel = { loss = 0.002 }",
        "app = 'http'\npages = 3\npage_interval = '10 s'\nconnections = 'persistent'\ninline_objects = 3",
    ),
];

/// Keys of `[tcp]`, each with the path on which they run.
pub(crate) const TCP: &[(&str, &str)] = &[
    ("loss", "mss=536B"),
    ("loss", "receive_window=8KiB"),
    ("queue", "receive_window_max=1MiB"),
    (
        "queue",
        "receive_window=256KiB receive_window_max=1MiB gradual_window=true",
    ),
    ("loss", "send_buffer=8KiB"),
    ("queue", "window_scale=off"),
    ("loss", "sack=false recovery=newreno"),
    ("loss", "dsack=true"),
    ("loss", "variant=scps recovery=snack snack=short"),
    ("loss", "variant=scps snack=long"),
    ("loss", "assume_loss=corruption"),
    ("loss", "eln=oracle"),
    ("loss", "eln=checksum"),
    ("loss", "timestamps=true"),
    ("queue", "ecn=true"),
    ("queue", "ecn=true variant=cubic"),
    ("queue", "ecn=accecn"),
    ("queue", "ecn=accecn accecn_option=false ect1=true"),
    ("queue", "ecn=true ecn_echo=dctcp"),
    ("queue", "ecn=true ecn_echo=until-cwr"),
    ("pages", "nagle=off"),
    ("pages", "nagle=rfc896"),
    ("pages", "cwnd_validation=false"),
    ("pages", "cwnd_limit=receive-window cwnd_validation=false"),
    ("queue", "pacing=true"),
    ("queue", "pacing=true pacing_ss_ratio=1.5"),
    ("queue", "pacing=true pacing_ca_ratio=0.8"),
    ("loss", "reassembly=false sack=false recovery=go-back-n"),
    ("loss", "delayed_ack=off"),
    ("loss", "delayed_ack='500 ms' ack_every=5"),
    ("loss", "gro='5 ms'"),
    ("loss", "ack_rate=4"),
    ("loss", "ack_rate=follow"),
    ("loss", "ack_heartbeat=true"),
    ("queue", "ack_quick=16"),
    ("loss", "ack_gap_fill=delayed dup_acks=delayed"),
    ("queue", "variant=peach dummies=ignore"),
    ("queue", "variant=peach dummies=plain"),
    ("loss", "sack=false recovery=tahoe"),
    ("loss", "sack=false recovery=reno"),
    ("loss", "sack=false recovery=newreno-impatient"),
    ("loss", "sack=false recovery=newreno careful=less"),
    ("timeouts", "sack=false recovery=newreno careful=ack"),
    (
        "timeouts",
        "sack=false recovery=newreno careful=timestamp timestamps=true",
    ),
    (
        "loss",
        "sack=false recovery=newreno newreno_exit=flight-rfc3782",
    ),
    ("loss", "sack=false recovery=newreno newreno_exit=ssthresh"),
    (
        "loss",
        "sack=false recovery=vegas fine_k=9 fine_granularity='700 ms'",
    ),
    ("timeouts", "sack=false recovery=vegas coarse_timeout=false"),
    ("timeouts", "rescue=false"),
    ("loss", "prr=true"),
    ("loss", "prr=true prr_bound=conservative"),
    ("loss", "prr=true prr_bound=slow-start"),
    ("loss", "rack=true"),
    (
        "reorder",
        "rack=true dsack=true rack_reo_divisor=1 rack_reo_persist=1",
    ),
    ("reorder", "rack=true rack_min_rtt_window='1 s'"),
    ("reorder", "rack=true rack_rtt=last-in-sequence"),
    ("reorder", "rack=true rack_rtt=latest"),
    ("timeouts", "rack=true tlp=false"),
    (
        "timeouts",
        "rack=true tlp_srtts=3 tlp_initial='300 ms' tlp_max_ack_delay='0 s'",
    ),
    ("loss", "dupack_threshold=5"),
    ("timeouts", "limited_transmit=true"),
    ("timeouts", "restart_on_retransmit=true"),
    ("timeouts", "restart_on_sack=true"),
    ("queue", "reduce_from=cwnd"),
    ("queue", "reduce_from=pipe"),
    ("queue", "reduce_from=flight-unbounded"),
    ("reorder", "undo=dsack dsack=true"),
    ("reorder", "undo=eifel timestamps=true"),
    ("reorder", "undo=frto"),
    (
        "reorder",
        "undo=dsack+eifel+frto dsack=true timestamps=true",
    ),
    ("loss", "byte_counting=2"),
    ("loss", "byte_counting=unlimited"),
    ("loss", "byte_counting=acks"),
    ("queue", "slow_start=standard"),
    ("queue", "slow_start=hystart"),
    ("queue", "slow_start=hystart++"),
    ("queue", "slow_start=search"),
    ("queue", "resume_cwnd=80kB resume_rtt=300ms"),
    ("loss", "initial_window=3"),
    ("loss", "initial_window=rfc3390"),
    ("queue", "initial_ssthresh=12kB"),
    ("pages", "idle_restart=false"),
    ("pages", "idle_decay=true"),
    ("timeouts", "lost_syns=2"),
    ("timeouts", "reduce_once=true"),
    ("timeouts", "timer=rfc793 rto_alpha=0.5 rto_beta=1.3"),
    (
        "timeouts",
        "timer=jacobson rto_min=1ms rto_gain=0.5 rto_dev_gain=0.5 rto_k=2",
    ),
    (
        "timeouts",
        "timer=jacobson rto_srtt_initial=3s rto_dev_initial=1s",
    ),
    ("timeouts", "timer=linux rto_min=200ms"),
    ("timeouts", "rto_initial=2s rto_max=3s rto_min=400ms"),
    ("timeouts", "rto_tick=500ms"),
    ("timeouts", "rto_tick=500ms rto_exact_samples=true"),
    ("timeouts", "variant=reno repeat_first=true"),
    ("timeouts", "variant=vegas repeat_first=true"),
    ("timeouts", "rto_round=500ms"),
    ("timeouts", "rto_slop=200ms"),
    ("timeouts", "variant=tcp-rfc karn=false"),
    ("reorder", "rto_granularity=700ms rto_min=1ms"),
    ("timeouts", "backoff=none"),
    ("reorder", "sampling=every-segment"),
    ("reorder", "sampling=every-segment rtt_from_sack=true"),
    ("timeouts", "max_retransmits=1 max_syn_retransmits=0"),
    ("pages", "msl=1s"),
    (
        "pages",
        "keepalive=1s keepalive_interval=1s keepalive_probes=1",
    ),
    ("timeouts", "user_timeout=2s"),
    ("timeouts", "fin_wait_2_timeout=1s"),
    ("timeouts", "fast_open=request"),
    ("timeouts", "fast_open=cookie"),
];

/// Applications: keys of a flow over a link with a small loss.
pub(crate) const APPS: &[(&str, &str)] = &[
    (
        "file",
        "size = '100 kB'\nopens = 'receiver'\nreverse = '30 kB'",
    ),
    ("bulk", "duration = '5 s'"),
    (
        "http",
        "pages = 2\npage_interval = '5 s'\nconnections = 'per-page'",
    ),
    (
        "http",
        "pages = 2\nthink_time = '1 s'\npage_interval = '0 s'\nconnections = 'persistent'\npipelining = false\nrequest = '500 B'\nmain_object = '5 kB'\ninline_objects = 4\ninline_object = '3 kB'",
    ),
    ("repeat", "files = 3\nsize = '30 kB'\ninterval = '4 s'"),
    (
        "stream",
        "messages = 40\nsize = '2 kB'\nrate = '200 kbit/s'",
    ),
    (
        "web",
        "files = 8\nsize = { distribution = 'pareto', mean = '20 kB', shape = 1.1, max = '200 kB' }",
    ),
    (
        "web",
        "files = 8\nsize = { distribution = 'log-normal', mean = '20 kB', sigma = 1 }\nthink_time = { distribution = 'exponential', mean = '1 s' }\nconnections = 'persistent'",
    ),
    ("telnet", "conversations = 2\ntyping = '10 s'"),
    (
        "rlogin",
        "conversations = 1\narrivals = { distribution = 'exponential', mean = '1 s' }\ntyping = '10 s'\nkeystrokes = { distribution = 'exponential', mean = '1 s' }",
    ),
    ("smtp", "conversations = 4"),
    ("nntp", "conversations = 2\nitems = 3\nturns = 2"),
    ("ftp", "conversations = 2\nsize = '20 kB'\nitems = 2"),
    (
        "cbr",
        "rate = '300 kbit/s'\npacket = '500 B'\ndatagrams = 300",
    ),
    (
        "cbr",
        "rate = '1200 kbit/s'\nduration = '3 s'\nstart = '500 ms'",
    ),
    (
        "onoff",
        "rate = '400 kbit/s'\nduration = '10 s'\non = { distribution = 'exponential', mean = '1 s' }\noff = { distribution = 'pareto', min = '100 ms', shape = 1.5 }",
    ),
    (
        "xtp",
        "size = '200 kB'\nrate = '700 kbit/s'\nburst = '5 kB'\nwindow = '64 kB'\nsreq_every = 8",
    ),
    (
        "xtp",
        "size = '30 kB'\nrate = '2 Mbit/s'\npacket = '1700 B'\nstart = '500 ms'",
    ),
];

/// Whole scenarios.
pub(crate) const WHOLE: &[(&str, &str)] = &[
    (
        "fragments",
        "links = [{ between = ['a', 'b'], down = { rate = '2 Mbit/s', delay = '20 ms', mtu = '576 B', fragments = 'rfc791', channel = { loss = 0.01 } } }]\n\
         flows = [{ from = 'a', to = 'b', size = '100 kB', dont_fragment = false, reassembly_timeout = '2 s' }, \
         { from = 'a', to = 'b', app = 'cbr', rate = '100 kbit/s', packet = '2000 B', datagrams = 40, dont_fragment = false }]",
    ),
    (
        "versions of ip",
        "ip = 'v6'\n\
         links = [{ between = ['a', 'b'], down = { rate = '2 Mbit/s', delay = '20 ms' } }, \
         { between = ['b', 'c'], down = { rate = '1 Mbit/s', delay = '20 ms', mtu = '1280 B', channel = { loss = 0.01 } } }]\n\
         agents = [{ at = 'b', wireless = 'b-c', kind = 'snoop' }]\n\
         flows = [{ from = 'a', to = 'c', size = '100 kB' }, { from = 'a', to = 'c', size = '100 kB', ip = 'v4' }, \
         { from = 'a', to = 'c', app = 'cbr', rate = '100 kbit/s', packet = '2000 B', datagrams = 40, reassembly_timeout = '2 s' }]",
    ),
    (
        "fragments to the byte",
        "links = [{ between = ['a', 'b'], arq = { protocol = 'rlp' }, down = { rate = '100 kbit/s', delay = '20 ms', mtu = '128 B', fragments = 'wong1998', channel = { loss = 0.05 } } }]\n\
         flows = [{ from = 'a', to = 'b', size = '20 kB', dont_fragment = false }]",
    ),
    (
        "priorities",
        "links = [{ between = ['a', 'r'], count = 1, down = { rate = '10 Mbit/s', delay = '5 ms' } }, \
         { between = ['r', 'b'], down = { rate = '1 Mbit/s', delay = '250 ms', queue = { packets = 10 }, priorities = true, channel = { loss = 0.01 } } }]\n\
         flows = [{ from = 'a', to = 'b', size = '300 kB', tcp.variant = 'peach' }, { from = 'a', to = 'b', size = '300 kB', start = '1 s', tcp.variant = 'peach-sack' }]",
    ),
    (
        "no priorities",
        "links = [{ between = ['a', 'b'], down = { rate = '1 Mbit/s', delay = '250 ms', queue = { packets = 10 }, priorities = false } }]\n\
         flows = [{ from = 'a', to = 'b', size = '300 kB', tcp.variant = 'peach' }, { from = 'a', to = 'b', size = '300 kB', start = '1 s' }]",
    ),
    (
        "routes and many TCPs",
        "links = [{ between = ['s{}', 'r'], count = 3, down = { rate = '10 Mbit/s', delay = '5 ms' } }, \
         { between = ['r', 'q'], down = { rate = '3 Mbit/s', delay = '100 ms', queue = { packets = 20 } } }, \
         { between = ['r', 'p'], down = { rate = '3 Mbit/s', delay = '10 ms', queue = { packets = 20 } } }, \
         { between = ['p', 'q'], down = { rate = '3 Mbit/s', delay = '10 ms', queue = { packets = 20 }, mark = { packets = 5 } } }, \
         { between = ['q', 'd{}'], count = 3, down = { rate = '10 Mbit/s', delay = '5 ms' } }]\n\
         routes = [{ at = 'r', to = 'd1', via = 'p' }]\n\
         flows = [{ from = 's{}', to = 'd{}', count = 3, stagger = '200 ms', size = '150 kB', tcp = { variant = 'cubic', ecn = true } }, \
         { from = 's0', to = 'd0', size = '150 kB', tcp = { profile = 'linux', variant = 'bbr' } }, { from = 'd0', to = 's1', size = '50 kB', tcp.variant = 'vegas' }, \
         { from = 's2', to = 'd0', app = 'cbr', rate = '200 kbit/s', duration = '3 s' }]",
    ),
    (
        "an agent that marks",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '20 ms', queue = { packets = 20 } } }, \
         { name = 'radio', between = ['base', 'mobile'], down = { rate = '2 Mbit/s', delay = '2 ms', channel = { loss = 0.03 } } }]\n\
         agents = [{ at = \"base\", wireless = \"radio\", kind = \"eln\" }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '300 kB', tcp = { variant = \"eln\", eln = \"agent\" } }, \
         { from = 'fixed', to = 'mobile', size = '100 kB', tcp = { variant = 'sack', eln = \"agent\" } }]",
    ),
    (
        "local repair at a base station",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '10 ms', queue = { packets = 20 } } }, \
         { name = 'radio', between = ['base', 'mobile'], down = { rate = '2 Mbit/s', delay = '2 ms', queue = { packets = 20 }, channel = { byte_errors = { distance = '30 kB', burst = 2 } } }, \
         up = { rate = '2 Mbit/s', delay = '2 ms', channel = { loss = 0.02 } } }]\n\
         agents = [{ at = 'base', wireless = 'radio', kind = \"ackp\", sack = \"mask\", sack_repair = true }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '300 kB', tcp = { variant = 'reno', ackp = \"restart\" } }, \
         { from = 'fixed', to = 'mobile', size = '200 kB', tcp = { variant = 'sack', ackp = \"backoff\" } }, \
         { from = 'mobile', to = 'fixed', size = '100 kB' }]",
    ),
    (
        "partial acknowledgments for each packet",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '10 ms' } }, \
         { name = 'radio', between = ['base', 'mobile'], down = { rate = '200 kbit/s', delay = '2 ms', channel = { byte_errors = { distance = '20 kB', burst = 4 } } } }]\n\
         agents = [{ at = 'base', wireless = 'radio', kind = \"ackp\", protocol = \"initial\", switch_at = ['4 s', '6 s'] }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '200 kB', tcp = { variant = 'reno', ackp = \"constant\" } }]",
    ),
    (
        "notices of a bad state",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '10 ms' } }, \
         { name = 'radio', between = ['base', 'mobile'], down = { rate = '200 kbit/s', delay = '2 ms', channel = { byte_errors = { distance = '20 kB', burst = 4 } } } }]\n\
         agents = [{ at = 'base', wireless = 'radio', kind = \"ebsn\" }, { at = 'base', wireless = 'radio', kind = \"snoop\", enabled = false, switch_at = ['3 s'] }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '200 kB', tcp = { variant = 'reno', ebsn = true } }]",
    ),
    (
        "a local timer from the arrival",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '10 ms' } }, \
         { name = 'radio', between = ['base', 'mobile'], down = { rate = '200 kbit/s', delay = '2 ms', channel = { byte_errors = { distance = '20 kB', burst = 4 } } } }]\n\
         agents = [{ at = 'base', wireless = 'radio', kind = \"snoop\", timer_from = \"arrival\" }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '200 kB', tcp.variant = 'reno' }]",
    ),
    (
        "ACKs that are thinned",
        "links = [{ between = ['fixed', 'modem'], down = { rate = '100 Mbit/s', delay = '1 ms' } }, \
         { name = 'satellite', between = ['modem', 'hub'], down = { rate = '64 kbit/s', delay = '50 ms' }, up = { rate = '2 Mbit/s', delay = '50 ms', channel = { loss = 0.01 } } }]\n\
         agents = [{ at = 'modem', wireless = 'satellite', kind = \"thin\", interval = '30 ms', replaces = 5 }]\n\
         flows = [{ from = 'hub', to = 'fixed', size = '300 kB', tcp = { variant = 'cubic', timestamps = true } }, { from = 'fixed', to = 'hub', size = '20 kB' }]",
    ),
    (
        "notices beside a link that sends again",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '10 ms' } }, \
         { name = 'radio', between = ['base', 'mobile'], down = { rate = '19200 bit/s', delay = '2 ms', channel = { loss = 0.2 } }, arq = { protocol = 'lapb' } }]\n\
         agents = [{ at = 'base', wireless = 'radio', kind = \"ebsn-plain\" }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '30 kB', tcp = { variant = 'reno', ebsn = true, mss = '88 B' } }]",
    ),
    (
        "an agent that keeps numbers",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '10 ms' } }, \
         { name = 'radio', between = ['base', 'mobile'], down = { rate = '2 Mbit/s', delay = '2 ms', channel = { loss = 0.03 } } }]\n\
         agents = [{ at = 'base', wireless = 'radio', kind = \"seqcache\" }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '300 kB', tcp = { variant = 'newreno', eln = \"agent\" } }]",
    ),
    (
        "split connections",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '20 ms', mtu = '1000 B' } }, \
         { name = 'satellite', between = ['base', 'gate'], down = { rate = '2 Mbit/s', delay = '250 ms', channel = { loss = 0.01 } } }, \
         { between = ['gate', 'mobile'], down = { rate = '1 Mbit/s', delay = '20 ms', queue = { packets = 20 } } }]\n\
         agents = [{ at = 'base', wireless = 'satellite', kind = 'pep', open = 'early', stack_delay = '1 ms' }, \
         { at = 'gate', wireless = 'satellite', kind = 'split', open = 'through', buffer = '20 kB', wireless_tcp.variant = 'westwood' }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '300 kB' }, { from = 'mobile', to = 'fixed', size = '100 kB', tcp.variant = 'vegas' }, \
         { from = 'fixed', to = 'mobile', app = 'http', pages = 4 }, { from = 'mobile', to = 'fixed', app = 'telnet', duration = '10 s' }, \
         { from = 'fixed', to = 'mobile', app = 'bulk', duration = '3 s' }, { from = 'fixed', to = 'mobile', app = 'cbr', rate = '50 kbit/s', duration = '3 s' }]",
    ),
    (
        "a proxy before a satellite",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '20 ms' } }, \
         { name = 'satellite', between = ['base', 'mobile'], down = { rate = '5 Mbit/s', delay = '250 ms', channel = { loss = 0.003 } } }]\n\
         agents = [{ at = 'base', wireless = 'satellite', kind = 'pepsal' }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '1 MB', tcp.variant = 'cubic' }]",
    ),
    (
        "acknowledgments in another's name",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '20 ms', channel = { loss = 0.003 } } }, \
         { name = 'satellite', between = ['base', 'mobile'], down = { rate = '2 Mbit/s', delay = '250 ms', channel = { loss = 0.01 } } }]\n\
         agents = [{ at = 'base', wireless = 'satellite', kind = 'spoof' }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '500 kB', tcp.variant = 'reno' }, { from = 'mobile', to = 'fixed', size = '100 kB' }, \
         { from = 'fixed', to = 'mobile', app = 'http', pages = 4 }]",
    ),
    (
        "a radio that cannot send and receive at once",
        "links = [{ between = ['fixed', 'base'], down = { rate = '10 Mbit/s', delay = '1 ms' } }, \
         { name = 'radio', half_duplex = true, between = ['base', 'mobile'], \
         down = { rate = '2 Mbit/s', service_time = '1 ms', delay = '1 ms', \
         queue = { packets = 50 }, channel = { loss = 0.003 } } }]\n\
         agents = [{ at = 'base', wireless = 'radio', kind = 'snoop' }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '300 kB' }, \
         { from = 'mobile', to = 'fixed', size = '100 kB', tcp.variant = 'peach' }]",
    ),
    (
        "two base stations and a walk",
        "links = [{ between = ['fixed', 'router'], down = { rate = '10 Mbit/s', delay = '5 ms' } }, \
         { between = ['router', 'north'], down = { rate = '10 Mbit/s', delay = '2 ms' } }, \
         { between = ['router', 'south'], down = { rate = '10 Mbit/s', delay = '2 ms' } }, \
         { name = 'n', between = ['north', 'mobile'], \
         down = { rate = '2 Mbit/s', delay = '1 ms', queue = { packets = 50 }, channel = { loss = 0.01 } } }, \
         { name = 's', between = ['south', 'mobile'], \
         down = { rate = '2 Mbit/s', delay = '1 ms', queue = { packets = 50 }, channel = { loss = 0.01 } } }]\n\
         handoffs = [{ host = 'mobile', links = ['n', 's'], gap = '50 ms', hysteresis = '5 m', \
         mobility = { model = 'random-waypoint', area = ['40 m', '10 m'], speed = ['10 m/s', '20 m/s'] }, \
         stations = [['10 m', '5 m'], ['30 m', '5 m']] }]\n\
         agents = [{ at = 'north', wireless = 'n', kind = 'snoop', handoff = 'transfer', transfer_delay = '5 ms' }, \
         { at = 'south', wireless = 's', kind = 'snoop', handoff = 'transfer', transfer_delay = '5 ms' }]\n\
         flows = [{ from = 'fixed', to = 'mobile', size = '1 MB' }, \
         { from = 'mobile', to = 'fixed', size = '300 kB' }]",
    ),
    (
        "two base stations, what waits is passed on",
        "links = [{ between = ['router', 'north'], down = { rate = '10 Mbit/s', delay = '2 ms' } }, \
         { between = ['router', 'south'], down = { rate = '10 Mbit/s', delay = '2 ms' } }, \
         { name = 'n', between = ['north', 'mobile'], \
         down = { rate = '2 Mbit/s', delay = '1 ms', queue = { packets = 50 }, channel = { loss = 0.01 } } }, \
         { name = 's', between = ['south', 'mobile'], \
         down = { rate = '2 Mbit/s', delay = '1 ms', queue = { packets = 50 }, channel = { loss = 0.01 } } }]\n\
         handoffs = [{ host = 'mobile', links = ['n', 's'], at = ['1 s', '2 s', '3 s'], \
         gap = '50 ms', queued = 'forward' }]\n\
         agents = [{ at = 'north', wireless = 'n', kind = 'snoop', handoff = 'keep' }, \
         { at = 'south', wireless = 's', kind = 'split', handoff = 'lose' }]\n\
         flows = [{ from = 'router', to = 'mobile', size = '1 MB' }, \
         { from = 'mobile', to = 'router', size = '300 kB' }]",
    ),
    (
        "cut off",
        "duration = '2500 ms'\nlinks = [{ between = ['a', 'b'], down = { rate = '1 Mbit/s', delay = '250 ms', queue = { packets = 10 } } }]\n\
         flows = [{ from = 'a', to = 'b', app = 'bulk', duration = '10 s' }, { from = 'b', to = 'a', app = 'cbr', rate = '100 kbit/s', duration = '10 s' }]",
    ),
];
