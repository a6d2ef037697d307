//! Tables of what links and their channels can be.

/// Stages of a channel, in both directions.
pub(crate) const STAGES: &[(&str, &str)] = &[
    ("gilbert", "{ loss = 0.05, burst = 4 }"),
    ("gilbert", "{ loss = 0.05, burst = '100 ms' }"),
    ("gilbert", "{ p = 0.02, r = 0.3, h = 0.2, k = 0.99 }"),
    ("loss", "0.03"),
    ("ber", "3e-6"),
    ("ber", "5e-5, correctable_bits = 1"),
    ("corrupt", "0.03"),
    ("duplicate", "0.03"),
    ("reorder", "{ probability = 0.05, delay = '30 ms' }"),
    (
        "jitter",
        "{ distribution = 'uniform', mean = '20 ms', spread = '20 ms' }",
    ),
    (
        "jitter",
        "{ distribution = 'normal', mean = '20 ms', spread = '9 ms', keep_order = false }",
    ),
    ("jitter", "{ distribution = 'exponential', mean = '20 ms' }"),
    (
        "satellite",
        "{ b = 0.01, g = 0.05, loss = 0.01, loss_size = '552 B' }",
    ),
    (
        "satellite",
        "{ b = 0.1, g = 0.3, ber_clear = 1e-7, ber_rain = 1e-5 }",
    ),
    (
        "mobile",
        "{ speed = '75 km/h', handoff_interval = '2 s', handoff_duration = '300 ms', carrier = '850 MHz', fade_margin = 20, ber_bad = 5e-5, fade_rule = 'per-packet' }",
    ),
    (
        "mobile",
        "{ speed = '20 m/s', cell_radius = '60 m', handoff_region = '10 m', handoff = 'forward', handoff_buffer = '10 kB', carrier = '850 MHz', fade_margin = 20, loss_bad = 0.4, loss_good = 0.001, fade_rule = 'instant', shared = true }",
    ),
    (
        "mobile",
        "{ handoff_interval = '3 s', handoff_duration = '200 ms', fade_interval = '300 ms', fade_duration = '20 ms', loss_bad = 0.5, fade_rule = 'overlap' }",
    ),
    (
        "congestion",
        "{ duration = '50 ms', share = 0.05, loss = 0.5, loss_clear = 0.001, shared = true }",
    ),
    ("congestion", "{ duration = '50 ms', clear = '1 s' }"),
    ("congestion", "{ duration = '50 ms', periods = 0.7 }"),
    ("byte_errors", "{ distance = '64 KiB' }"),
    ("byte_errors", "{ distance = '64 KiB', burst = 3 }"),
    (
        "internet_delay",
        "{ constant = '10 ms', mean = '5 ms', raised_share = 0.04, raised = [{ weight = 0.75, mean = '10 ms' }, { weight = 0.25, mean = '100 ms' }] }",
    ),
    (
        "internet_delay",
        "{ constant = '10 ms', mean = '5 ms', order = 3, keep_order = false, raised_share = 0.1, raised_run = 4, raised = [{ weight = 1, mean = '20 ms' }] }",
    ),
    (
        "rayleigh",
        "{ model = 'markov', advance = 'time', doppler = 10, fade_margin = 15, step = '1 ms' }",
    ),
    (
        "rayleigh",
        "{ speed = '10 m/s', carrier = '2.4 GHz', loss = 0.03, step = '1 ms', exposure = '2 ms', shared = true }",
    ),
    (
        "rayleigh",
        "{ alpha = 0.02, beta = 0.3, advance = 'packet' }",
    ),
    (
        "rayleigh",
        "{ model = 'jakes', doppler = 10, fade_margin = 15, sinusoids = 16 }",
    ),
    (
        "loss_trace",
        "{ data = 'time (s),loss (%)\\n0,1\\n1,20\\n2,0\\n', repeat = true, random_offset = true }",
    ),
    (
        "delay_trace",
        "{ data = 'time (s),delay (ms)\\n0,1\\n1,200\\n2,0\\n', repeat = true, offset = '300 ms', interpolate = true }",
    ),
    (
        "delay_trace",
        "{ data = 'time (s),delay (ms)\\n0,1\\n1,200\\n2,0\\n', repeat = true, keep_order = false }",
    ),
    (
        "scripted_loss",
        "{ packets = [3, 7, 8, 30], min_size = '100 B' }",
    ),
    (
        "orbit",
        "{ altitude = '550 km', min_elevation = 25, inclination = 53, max_elevation = 60 }",
    ),
    (
        "orbit",
        "{ altitude = '300 km', min_elevation = 80, hops = 1, handover_time = '200 ms', handover = 'hold' }",
    ),
    (
        "orbit",
        "{ altitude = '300 km', min_elevation = 80, handover_time = '200 ms', handover = 'drop' }",
    ),
    (
        "reconfiguration",
        "{ delay = ['0 ms', '30 ms'], interval = '1 s', first = '500 ms', interruption_time = '100 ms' }",
    ),
    (
        "reconfiguration",
        "{ delay = ['0 ms', '30 ms'], interval = '1 s', interruption_time = '100 ms', interruption = 'hold', keep_order = false, shared = true }",
    ),
    (
        "radio",
        "{ band = '2400 MHz', distance = '60 m', modulation = 'o-qpsk', fading = 'packets', path_loss = 'ieee802.15.4' }",
    ),
    (
        "radio",
        "{ band = '868 MHz', distance = '4 km', fading = 'none', power = 5, antenna_gain = 1, noise_temperature = 290, noise_figure = 3 }",
    ),
    (
        "radio",
        "{ band = '915 MHz', distance = '500 m', path_loss = 'log-distance', exponent = 2.8, fading = 'bits', correctable_bits = 2 }",
    ),
    (
        "radio",
        "{ band = '2400 MHz', distance = '10 m', noise = 'vatne2006', path_loss = 'vatne2006-printed', modulation = 'bpsk' }",
    ),
    (
        "radio",
        "{ band = '2400 MHz', path_loss = 'friis', noise = 'thermal', mobility = { model = 'random-waypoint', area = ['900 m', '900 m'], speed = ['1 m/s', '20 m/s'], pause = ['0 s', '2 s'], moves = 'one' } }",
    ),
    (
        "radio",
        "{ band = '2400 MHz', mobility = { model = 'vatne2006', area = ['900 m', '900 m'], speed = ['1 m/s', '20 m/s'], step = '1 s', leg = ['1 s', '5 s'], turning = 0.5, moves = 'both' } }",
    ),
    (
        "radio",
        "{ band = '2400 MHz', mobility = { model = 'random-walk', area = ['900 m', '900 m'], speed = ['1 m/s', '20 m/s'], leg = ['3 s', '3 s'] } }",
    ),
    (
        "radio",
        "{ band = '2400 MHz', mobility = { model = 'random-direction', area = ['900 m', '900 m'], speed = ['1 m/s', '20 m/s'] } }",
    ),
    (
        "radio",
        "{ band = '2400 MHz', mobility = { model = 'gauss-markov', area = ['900 m', '900 m'], step = '1 s', memory = 0.7, mean_speed = '10 m/s', speed_deviation = '3 m/s', angle_deviation = 0.4 } }",
    ),
    (
        "radio",
        "{ band = '2400 MHz', mobility = { model = 'random-trip', area = ['900 m', '900 m'], speed = ['1 m/s', '20 m/s'] } }",
    ),
    (
        "outage",
        "{ start = '300 ms', duration = '200 ms', period = '900 ms' }",
    ),
    (
        "outage",
        "{ duration = '250 ms', period = '700 ms', packets = 'hold' }",
    ),
];

/// Keys of a link in addition to rate and delay, and keys of its direction down.
pub(crate) const LINKS: &[(&str, &str, &str)] = &[
    (
        "discipline drop-tail",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'drop-tail'",
    ),
    (
        "discipline head-drop",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'head-drop'",
    ),
    (
        "discipline red",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'red', adaptive = true, min = 3, max = 9 }",
    ),
    (
        "discipline codel",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'codel', target = '20 ms', ce_threshold = '60 ms' }",
    ),
    (
        "discipline cobalt",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'cobalt'",
    ),
    (
        "discipline pie",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'pie'",
    ),
    (
        "discipline drr",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'drr'",
    ),
    (
        "discipline fq-codel",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'fq-codel'",
    ),
    (
        "discipline fq-pie",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'fq-pie'",
    ),
    (
        "discipline fq-cobalt",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'fq-cobalt'",
    ),
    (
        "discipline dualpi2",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'dualpi2'",
    ),
    (
        "discipline cake",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = 'cake'",
    ),
    (
        "discipline cake with cells",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'cake', rate = '900 kbit/s', overhead = 44, mpu = '84 B', framing = 'atm', isolation = 'triple-isolate', tins = 'diffserv3', ack_filter = 'no' }",
    ),
    (
        "discipline cake with ptm",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'cake', rate = '900 kbit/s', overhead = -4, framing = 'ptm', isolation = 'dual-srchost', tins = 'diffserv4', ack_filter = 'conservative' }",
    ),
    (
        "discipline cake with eight tins",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'cake', rate = '900 kbit/s', framing = 'packets', isolation = 'dual-dsthost', tins = 'diffserv8', ack_filter = 'aggressive' }",
    ),
    (
        "discipline cake by flows",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'cake', isolation = 'flows', tins = 'besteffort' }",
    ),
    (
        "discipline cake by sources",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'cake', isolation = 'srchost' }",
    ),
    (
        "discipline cake by destinations",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'cake', isolation = 'dsthost' }",
    ),
    (
        "discipline cake by hosts",
        "",
        "queue = { packets = 30 }, channel = { loss = 0.01 }, discipline = { method = 'cake', isolation = 'hosts' }",
    ),
    (
        "arq none",
        "arq = { protocol = 'none', mac = { access = 'constant', delay = '5 ms', direction = 'down' } }",
        "channel = { loss = 0.05 }",
    ),
    (
        "arq lapb",
        "arq = { protocol = 'lapb', modulus = 8, window = 7, t1 = '500 ms', t2 = '50 ms', n2 = 3, best_effort = true, retry_from = 'first-frame' }",
        "channel = { loss = 0.1 }",
    ),
    (
        "arq lapb without poll",
        "arq = { protocol = 'lapb', poll = false, header = '8 B', supervisory = '7 B' }",
        "channel = { corrupt = 0.05 }",
    ),
    (
        "arq mdlp",
        "arq = { protocol = 'mdlp', mac = { access = 'exponential', delay = '10 ms' }, t200 = '700 ms', t205 = '100 ms', n2 = 2 }",
        "channel = { loss = 0.15 }",
    ),
    (
        "arq mdlp out of sequence",
        "arq = { protocol = 'mdlp', in_sequence = false, srej_repeat = true, retry_from = 'last-frame' }",
        "channel = { loss = 0.1, reorder = { probability = 0.05, delay = '20 ms' } }",
    ),
    (
        "arq mdlp counts until received",
        "arq = { protocol = 'mdlp', n2 = 2, best_effort = true, answer_ends_count = false }",
        "channel = { loss = 0.3 }",
    ),
    (
        "arq rlp",
        "arq = { protocol = 'rlp', mac = { access = 'exponential', delay = '10 ms', direction = 'up' }, status = '9 B' }",
        "channel = { loss = 0.2 }",
    ),
    (
        "arq rlp out of sequence",
        "arq = { protocol = 'rlp', in_sequence = false, status_period = '100 ms', min_interval = '150 ms', max_recovery_delay = '1 s', window = 20 }",
        "channel = { gilbert = { loss = 0.2, burst = 5 } }",
    ),
    (
        "mac none",
        "arq = { protocol = 'lapb', mac = { access = 'none' } }",
        "channel = { loss = 0.05 }",
    ),
    (
        "mac csma-ca",
        "arq = { protocol = 'lapb', mac = { access = 'csma-ca', load = 0.4, stations = 5, min_be = 2, max_be = 4, max_backoffs = 3, symbol = '20 us', direction = 'both' } }",
        "channel = { loss = 0.02 }",
    ),
    (
        "mac csma-ca busy",
        "arq = { protocol = 'none', mac = { access = 'csma-ca', busy = 0.5 } }",
        "queue = { packets = 20 }",
    ),
    (
        "mac aloha",
        "arq = { protocol = 'rlp', mac = { access = 'aloha', load = 0.3, slot = '3 ms', backoff = 4, attempts = 3 } }",
        "channel = { loss = 0.02 }",
    ),
    (
        "mac dama",
        "arq = { protocol = 'none', mac = { access = 'dama', frame = '20 ms', slots = 8, constant = 1, max_slots = 6, free = 0.1, direction = 'both' } }",
        "channel = { loss = 0.02 }",
    ),
    (
        "arq with fec",
        "arq = { protocol = 'mdlp' }",
        "fec = { code = 'rs(255,223)' }, channel = { ber = 2e-3 }",
    ),
    (
        "fec rs",
        "",
        "fec = { code = 'rs(255,223)' }, overhead = '20 B', channel = { ber = 3.5e-3 }",
    ),
    (
        "fec bch",
        "",
        "fec = { n = 2047, k = 1923, symbol_bits = 1, correctable = 11 }, channel = { ber = 1e-3 }",
    ),
    (
        "fec over a radio",
        "",
        "fec = { n = 255, k = 239, correctable = 6 }, channel = { radio = { band = '2400 MHz', distance = '400 m' } }",
    ),
    (
        "compression",
        "header_compression = 'rfc1144'",
        "channel = { loss = 0.02 }",
    ),
    (
        "compression in few slots",
        "header_compression = { method = 'rfc1144', slots = 2, compress_slot = false }",
        "channel = { corrupt = 0.02 }",
    ),
    (
        "compression over arq",
        "header_compression = 'rfc1144'\narq = { protocol = 'rlp' }",
        "channel = { loss = 0.1 }",
    ),
    (
        "mtu that TCP learns",
        "",
        "mtu = '576 B', channel = { loss = 0.02 }",
    ),
    ("bytes in the queue", "", "queue = { bytes = '12 kB' }"),
    (
        "bandwidth-delay products in the queue",
        "",
        "queue = { bdp = 0.3, rtt = '300 ms' }",
    ),
    (
        "background of packets",
        "",
        "background = [{ load = '500 kbit/s', packet = '700 B' }], queue = { packets = 10 }",
    ),
    (
        "background of conversations",
        "",
        "background = [{ arrivals = 5, size = '10 kB', size_law = 'pareto', size_shape = 1.5, rate = '300 kbit/s', spacing_law = 'pareto', spacing_shape = 1.5 }, { load = '50 kbit/s', size = '2 kB', size_law = 'log-normal', size_shape = 1, rate = '100 kbit/s', spacing_law = 'exponential' }, { load = '20 kbit/s', size = '1 kB', size_law = 'exponential', rate = '50 kbit/s', spacing_law = 'log-normal', spacing_shape = 1 }, { load = '20 kbit/s', size = '3 kB', size_law = 'constant', rate = '50 kbit/s', spacing_law = 'constant' }], queue = { bytes = '15 kB' }",
    ),
];

/// Rates from traces, each with all keys of the direction down.
pub(crate) const RATES: &[(&str, &str)] = &[
    (
        "of Mahimahi",
        "rate_trace = '1 Mbit/s', delay = '50 ms', queue = { packets = 20 }",
    ),
    (
        "as CSV",
        "rate_trace = { data = 'time (s),rate (Mbit/s)\\n0,2\\n1,0.4\\n2,0\\n', repeat = true, offset = '200 ms' }, delay = '50 ms', queue = { packets = 20 }",
    ),
    (
        "of a DVB-S2 carrier",
        "rate_trace = { data = 'time (s),esno (dB)\\n0,9\\n1,4\\n2,-1\\n3,9\\n', symbol_rate = '1 MBd', margin = 0.5, repeat = true, random_offset = true }, delay = '250 ms', queue = { packets = 20 }",
    ),
];
