//! Invalid scenarios, each with the exact message.

use super::tests::{GOOD, fault};

/// Part of the valid scenario, its replacement, and the resulting message.
const FAULTS: &[(&str, &str, &str)] = &[
    ("seed = 7", "seed = = 7", "geo.toml:2: "),
    (
        "seed = 7",
        "seed = 7\nseed = 8",
        "geo.toml:3: duplicate key",
    ),
    (
        "seed = 7",
        "sead = 7",
        "geo.toml:2: unknown key \"sead\"; did you mean \"seed\"?",
    ),
    (
        "seed = 7",
        "scenario = \"geo-lossy\"",
        "geo.toml:2: unknown key \"scenario\"; a file with it is an experiment: farlink sweep",
    ),
    (
        "seed = 7",
        "seed = -1",
        "geo.toml:2: seed = -1 is wrong; write a whole number that is not negative",
    ),
    (
        "name = \"geo\"",
        "name = 5",
        "geo.toml:1: name = 5 is wrong; write a text in quotes",
    ),
    (
        "name = \"geo\"",
        "name = \"a/b\"",
        "geo.toml:1: name = \"a/b\" is not a name; write 1 to 100 letters, digits, \".\", \"_\", \
         \"-\" or \"+\", not beginning with \".\"",
    ),
    (
        "seed = 7",
        "duration = 100",
        "geo.toml:2: duration = 100 has no unit; write for example \"100 ms\"",
    ),
    (
        "seed = 7",
        "duration = \"0 s\"",
        "geo.toml:2: duration = \"0 s\" is no time; write \"100 s\"",
    ),
    (
        "seed = 7",
        "duration = \"48 h\"",
        "geo.toml:2: duration = \"48 h\" is above max_duration, \"24 h\"",
    ),
    (
        "seed = 7",
        "max_duration = \"900000 h\"",
        "geo.toml:2: max_duration = \"900000 h\" is out of range; write at most \"87600 h\"",
    ),
    // Units and ranges of the keys of links.
    (
        "rate = \"2048 kbit/s\"",
        "rate = 2048",
        "geo.toml:12: links[0].down.rate = 2048 has no unit; write for example \"2048 kbit/s\"",
    ),
    (
        "rate = \"2048 kbit/s\"",
        "rate = \"0 bit/s\"",
        "geo.toml:12: links[0].down.rate = \"0 bit/s\" is out of range; write \"1 bit/s\" to \
         \"1000 Gbit/s\"",
    ),
    (
        "rate = \"2048 kbit/s\"",
        "rate = \"2000 Gbit/s\"",
        "geo.toml:12: links[0].down.rate = \"2000 Gbit/s\" is out of range; write \"1 bit/s\" to \
         \"1000 Gbit/s\"",
    ),
    (
        "rate = \"2048 kbit/s\"\n",
        "",
        "geo.toml:11: links[0].down has no \"rate\"; write for example rate = \"2048 kbit/s\", or \
         name a preset",
    ),
    // Queue disciplines.
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"250 ms\"\ndiscipline = \"fq_codel\"\nqueue",
        "geo.toml:14: links[0].down.discipline = \"fq_codel\" is unknown; did you mean \"fq-codel\"?",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"250 ms\"\ndiscipline = { method = \"pie\", interval = \"1 s\" }\nqueue",
        "geo.toml:14: links[0].down.discipline.interval would be ignored; it needs method = \"codel\", \
         \"fq-codel\", \"cobalt\", \"fq-cobalt\" or \"cake\"",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"250 ms\"\ndiscipline = { method = \"red\", min = 20 }\nqueue",
        "geo.toml:14: links[0].down.discipline.max = 15 is not above min = 20; write a larger max",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"250 ms\"\ndiscipline = \"codel\"\nmark = { packets = 5 }\nqueue",
        "geo.toml:14: links[0].down.discipline does not go with mark; write one of them",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"250 ms\"\ndiscipline = { target = \"5 ms\" }\nqueue",
        "geo.toml:14: links[0].down.discipline has no \"method\"",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "dealy = \"250 ms\"\nqueue",
        "geo.toml:13: unknown key \"dealy\" in links[0].down; did you mean \"delay\"?",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "colour = \"red\"\nqueue",
        "geo.toml:13: unknown key \"colour\" in links[0].down; the keys are \"rate\", \"rate_trace\", \"contacts\", \"delay\", \
         \"overhead\", \"service_time\", \"fec\", \"queue\", \"discipline\", \"classes\", \"mark\", \"priorities\", \"super_packet\", \"mtu\", \"fragments\", \"channel\", \"background\"",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"250 ms\"\nmtu = \"67 B\"\nqueue",
        "geo.toml:14: links[0].down.mtu = \"67 B\" is out of range; write \"68 B\" to \"65535 B\"",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"250 ms\"\nfragments = \"rfc791\"\nqueue",
        "geo.toml:14: links[0].down.fragments would be ignored; it needs mtu",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"-250 ms\"\nqueue",
        "geo.toml:13: links[0].down.delay = \"-250 ms\" is negative; write a time of 0 s or more",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"2 h\"\nqueue",
        "geo.toml:13: links[0].down.delay = \"2 h\" is out of range; write at most \"1 h\"",
    ),
    (
        "delay = \"250 ms\"\nqueue",
        "delay = \"250 sec\"\nqueue",
        "geo.toml:13: links[0].down.delay = \"250 sec\" has the unknown unit \"sec\"; the units of \
         a time are ns, us, ms, s, min, h",
    ),
    (
        "{ packets = 100 }",
        "{ packets = 0 }",
        "geo.toml:14: links[0].down.queue.packets = 0 is out of range; write 1 to 1000000, or queue \
         = \"unlimited\"",
    ),
    (
        "queue = { packets = 100 }",
        "queue = { packets = 100 }\nmark = { packets = 0 }",
        "geo.toml:15: links[0].down.mark.packets = 0 is out of range; write 1 to 1000000, or mark = \
         \"unlimited\"",
    ),
    (
        "{ packets = 100 }",
        "{ packets = 100, bytes = \"1 kB\" }",
        "geo.toml:14: links[0].down.queue has both \"packets\" and \"bytes\"; write one of them",
    ),
    (
        "{ packets = 100 }",
        "\"endless\"",
        "geo.toml:14: links[0].down.queue = \"endless\" is unknown; write \"unlimited\", { packets \
         = 100 }, { bytes = \"64 KiB\" }, { bdp = 1.2 } or \"200 ms\"",
    ),
    (
        "{ packets = 100 }",
        "100",
        "geo.toml:14: links[0].down.queue = 100 is wrong; write \"unlimited\", { packets = 100 }, { \
         bytes = \"64 KiB\" }, { bdp = 1.2 } or \"200 ms\"",
    ),
    (
        "{ packets = 100 }",
        "{ bytes = \"1 kB\", bdp = 1 }",
        "geo.toml:14: links[0].down.queue has both \"bytes\" and \"bdp\"; write one of them",
    ),
    (
        "{ packets = 100 }",
        "{ packets = 100, rtt = \"600 ms\" }",
        "geo.toml:14: links[0].down.queue has an \"rtt\" that would be ignored; it needs \"bdp\"",
    ),
    (
        "{ packets = 100 }",
        "{ bdp = 0 }",
        "geo.toml:14: links[0].down.queue.bdp times \"2048 kbit/s\" for \"500 ms\" makes 0 bytes; \
         write what makes 1 B to 1024 GiB (rtt = \"600 ms\" beside it names another round trip), or \
         queue = \"unlimited\"",
    ),
    (
        "{ packets = 100 }",
        "\"0 s\"",
        "geo.toml:14: links[0].down.queue.time = \"0 s\" at \"2048 kbit/s\" makes 0 bytes; write what \
         makes 1 B to 1024 GiB, or queue = \"unlimited\"",
    ),
    (
        "{ packets = 100 }",
        "\"200 sec\"",
        "geo.toml:14: links[0].down.queue = \"200 sec\" is unknown; write \"unlimited\", { packets = 100 \
         }, { bytes = \"64 KiB\" }, { bdp = 1.2 } or \"200 ms\"",
    ),
    (
        "{ packets = 100 }",
        "{ time = \"200 ms\", bdp = 1 }",
        "geo.toml:14: links[0].down.queue has both \"bdp\" and \"time\"; write one of them",
    ),
    (
        "{ packets = 100 }",
        "{ time = \"200 ms\", rtt = \"600 ms\" }",
        "geo.toml:14: links[0].down.queue has an \"rtt\" that would be ignored; it needs \"bdp\"",
    ),
    (
        "{ packets = 100 }",
        "{ bytes = 64000 }",
        "geo.toml:14: links[0].down.queue.bytes = 64000 has no unit; write for example \"64000 B\"",
    ),
    (
        "{ packets = 100 }",
        "{ packets = 100 }\noverhead = \"1 MB\"",
        "geo.toml:15: links[0].down.overhead = \"1 MB\" is out of range; write at most \"64 KiB\"",
    ),
    // Topology.
    (
        "between = [\"gateway\", \"client\"]",
        "between = [\"gateway\"]",
        "geo.toml:9: links[0].between has 1 elements; write 2",
    ),
    (
        "between = [\"gateway\", \"client\"]",
        "between = [\"gateway\", \"client\", \"moon\"]",
        "geo.toml:9: links[0].between has 3 elements; write 2",
    ),
    (
        "between = [\"gateway\", \"client\"]",
        "between = [\"client\", \"client\"]",
        "geo.toml:9: links[0].between joins \"client\" to itself; name two nodes",
    ),
    (
        "between = [\"gateway\", \"client\"]",
        "",
        "geo.toml:7: links[0] has no \"between\"; write for example between = [\"gateway\", \
         \"client\"]",
    ),
    (
        "between = [\"server\", \"gateway\"]",
        "between = [\"client\", \"gateway\"]",
        "geo.toml:21: links[1].between = [\"client\", \"gateway\"] are joined by links[0] already; \
         a second link would carry nothing",
    ),
    (
        "between = [\"server\", \"gateway\"]",
        "name = \"satellite\"\nbetween = [\"server\", \"gateway\"]",
        "geo.toml:21: links[1].name = \"satellite\" is the name of links[0] too; write another",
    ),
    (
        "between = [\"server\", \"gateway\"]",
        "count = 3\nbetween = [\"server\", \"gateway\"]",
        "geo.toml:21: links[1].count = 3 needs \"{}\" in a name in between, for example \
         \"gateway{}\"",
    ),
    (
        "between = [\"server\", \"gateway\"]",
        "count = 1000000\nbetween = [\"server{}\", \"gateway\"]",
        "geo.toml:21: links[1].count = 1000000 makes 1000001 links in all with the 1 before; write \
         at most 1000000 in all",
    ),
    (
        "between = [\"server\", \"gateway\"]",
        "count = 2000000\nbetween = [\"server{}\", \"gateway\"]",
        "geo.toml:21: links[1].count = 2000000 is out of range; write 1 to 1000000",
    ),
    (
        "down = { rate = \"10 Mbit/s\", delay = \"10 ms\" }",
        "",
        "geo.toml:20: links[1] has no \"down\"; write [links.down] with a rate and a delay, or name \
         a preset",
    ),
    (
        "down = { rate = \"10 Mbit/s\", delay = \"10 ms\" }",
        "preset = \"geo-omueti\"",
        "geo.toml:22: links[1].preset = \"geo-omueti\" is not a preset; did you mean \
         \"geo-omueti2007\"?",
    ),
    (
        "from = \"server\"",
        "from = \"sever\"",
        "geo.toml:26: flows[0].from = \"sever\" is not a node; did you mean \"server\"?",
    ),
    (
        "to = \"client\"",
        "to = \"moon\"",
        "geo.toml:27: flows[0].to = \"moon\" is not a node; the nodes are \"gateway\", \"client\", \
         \"server\"",
    ),
    (
        "to = \"client\"",
        "to = \"server\"",
        "geo.toml:27: flows[0].to = \"server\" is where the flow comes from; name another node",
    ),
    (
        "to = \"client\"",
        "to = \"client{}\"",
        "geo.toml:27: flows[0].to = \"client{}\" has no nodes; there is no \"client0\" in links",
    ),
    (
        "[\"server\", \"gateway\"]",
        "[\"server\", \"router\"]",
        "geo.toml:24: flows[0] has no path from \"server\" to \"client\"; add a link",
    ),
    (
        "[[flows]]",
        "[[routes]]\nat = \"server\"\nto = \"client\"\nvia = \"client\"\n[[flows]]",
        "geo.toml:27: routes[0].via = \"client\" is not a neighbour of \"server\"; the neighbours \
         are \"gateway\"",
    ),
    (
        "[[flows]]",
        "[[routes]]\nat = \"gateway\"\nto = \"client\"\nvia = \"server\"\n[[flows]]",
        "geo.toml:28: flows[0] has routes that go round in a circle: packets from \"server\" for \
         \"client\" come back to \"server\"",
    ),
    // Shared medium.
    (
        "between = [\"gateway\", \"client\"]",
        "between = [\"gateway\", \"client\"]\nhalf_duplex = 1",
        "geo.toml:10: links[0].half_duplex = 1 is wrong; write true or false",
    ),
    (
        "between = [\"gateway\", \"client\"]\n\n[links.down]\nrate = \"2048 kbit/s\"",
        "between = [\"gateway\", \"client\"]\nhalf_duplex = true\n\n[links.down]\nrate_trace = \"2 Mbit/s\"",
        "geo.toml:10: links[0].half_duplex = true does not go with down.rate_trace; write a rate",
    ),
    (
        "between = [\"gateway\", \"client\"]\n\n[links.down]",
        "between = [\"gateway\", \"client\"]\nhalf_duplex = true\n\n[links.down]\nbackground = [{ load = \"20 kbit/s\" }]",
        "geo.toml:10: links[0].half_duplex = true does not go with down.background; write \
         other traffic as flows, for example with app = \"cbr\"",
    ),
    (
        "rate = \"2048 kbit/s\"\ndelay",
        "rate = \"2048 kbit/s\"\nservice_time = \"2 h\"\ndelay",
        "geo.toml:13: links[0].down.service_time = \"2 h\" is out of range; write at most \"1 h\"",
    ),
    (
        "rate = \"2048 kbit/s\"\ndelay",
        "rate_trace = \"2 Mbit/s\"\nservice_time = \"2 ms\"\ndelay",
        "geo.toml:13: links[0].down.service_time does not go with rate_trace; write a rate",
    ),
    (
        "between = [\"gateway\", \"client\"]\n\n[links.down]",
        "between = [\"gateway\", \"client\"]\narq = { protocol = \"rlp\" }\n\n[links.down]\nservice_time = \"2 ms\"",
        "geo.toml:13: links[0].down.service_time does not go with arq; write arq.mac for the \
         time that each frame waits",
    ),
    // Agents.
    (
        "[[flows]]",
        "[[agents]]\nat = \"moon\"\nwireless = \"x\"\nkind = \"eln\"\n[[flows]]",
        "geo.toml:25: agents[0].at = \"moon\" is not a node; the nodes are \"gateway\", \"client\", \
         \"server\"",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"client\"\nwireless = \"x\"\nkind = \"eln\"\n[[flows]]",
        "geo.toml:25: agents[0].at = \"client\" is not a router, where links join; write gateway",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"x\"\nkind = \"eln\"\n[[flows]]",
        "geo.toml:26: agents[0].wireless = \"x\" is not a link at \"gateway\"; the links there are \
         satellite, server-gateway",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"eln\"\n[[flows]]",
        "geo.toml:27: agents[0].kind = \"eln\" is of no use: no sender takes its marks; write eln = \
         \"agent\" in [tcp]",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"eln\"\nconnections \
         = 0\n[[flows]]",
        "geo.toml:28: agents[0].connections = 0 is out of range; write 1 to 1000000",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"eln\"\nidle = \"0 \
         s\"\n[[flows]]",
        "geo.toml:28: agents[0].idle = \"0 s\" is out of range; write \"1 ns\" to \"87600 h\"",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"eln\"\nswitch_at = [\"2 \
         s\", \"2 s\"]\n[[flows]]",
        "geo.toml:28: agents[0].switch_at[1] = \"2 s\" is not after the one before; write later and \
         later times",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"ackp\"\n[[flows]]",
        "geo.toml:27: agents[0].kind = \"ackp\" is of no use: no sender takes partial \
         acknowledgments; write ackp = \"restart\" in [tcp]",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"ebsn\"\n[[flows]]",
        "geo.toml:27: agents[0].kind = \"ebsn\" is of no use: no sender takes its notices; write \
         ebsn = true in [tcp]",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"ebsn-plain\"\n[[flows]]",
        "geo.toml:27: agents[0].kind = \"ebsn-plain\" needs a link that sends again; write \
         [links.arq] there, or kind = \"ebsn\"",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"ackp\"\nprotocol = \
         \"initial\"\nrepeat = true\n[[flows]]",
        "geo.toml:29: agents[0].repeat would be ignored; it needs protocol = \"full\"",
    ),
    (
        "[[flows]]",
        "[[flows]]\ntcp = { ackp = \"restart\" }",
        "geo.toml:24: flows[0] has ackp, and no agent that sends partial acknowledgments; write \
         [[agents]] with kind = \"ackp\"",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"snoop\"\nuploads = true\n[[flows]]",
        "geo.toml:28: agents[0].uploads = true is of no use: no sender takes negative \
         acknowledgments; write nack = true in [tcp]",
    ),
    (
        "[[flows]]",
        "[[flows]]\ntcp = { nack = true }",
        "geo.toml:24: flows[0] has nack = true, and no agent that sends negative acknowledgments; \
         write [[agents]] with kind = \"snoop\" and uploads = true",
    ),
    (
        "[[flows]]",
        "[[flows]]\ntcp = { eln = \"agent\" }",
        "geo.toml:24: flows[0] has eln = \"agent\", and no agent that marks; write [[agents]] with \
         kind = \"eln\"",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"split\"\nwireless_tcp \
         = { eln = \"agent\" }\n[[flows]]",
        "geo.toml:28: agents[0].wireless_tcp.eln would be ignored: an agent is told of no damage; \
         remove it",
    ),
    (
        "[[flows]]",
        "[[agents]]\nat = \"gateway\"\nwireless = \"satellite\"\nkind = \"split\"\nwired_tcp \
         = { dupack_threshold = 0 }\n[[flows]]",
        "geo.toml:28: agents[0].wired_tcp.dupack_threshold = 0 is out of range; write 1 to \
         1000000",
    ),
    ("seed = 7", "links = 7", "geo.toml:7: duplicate key"),
    // Flows.
    (
        "[[flows]]",
        "[flows]",
        "geo.toml:24: flows is one table, not a list of them; write it with double brackets, \
         [[...]]",
    ),
    (
        "size = \"50 MiB\"",
        "size = 50",
        "geo.toml:28: flows[0].size = 50 has no unit; write for example \"50 B\"",
    ),
    (
        "size = \"50 MiB\"",
        "size = \"0 B\"",
        "geo.toml:28: flows[0].size = \"0 B\" is out of range; write \"1 B\" to \"1048576 GiB\"",
    ),
    (
        "size = \"50 MiB\"",
        "size = \"9000000 GiB\"",
        "geo.toml:28: flows[0].size = \"9000000 GiB\" is out of range; write \"1 B\" to \"1048576 GiB\"",
    ),
    (
        "size = \"50 MiB\"",
        "",
        "geo.toml:24: flows[0] has no \"size\"; write for example size = \"50 MiB\"",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"bulk\"\nsize = \"50 MiB\"",
        "geo.toml:29: flows[0].size would be ignored; it needs app = \"file\", \"repeat\", \"stream\", \"web\", \"smtp\", \"nntp\", \"ftp\" or \"xtp\"",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"bulk\"",
        "geo.toml:24: flows[0] has no \"duration\"; write for example duration = \"10 s\"",
    ),
    (
        "size = \"50 MiB\"",
        "size = \"50 MiB\"\nduration = \"1 s\"",
        "geo.toml:29: flows[0].duration would be ignored; it needs app = \"bulk\", \"http\", \"repeat\", \
         \"stream\", \"web\", \"telnet\", \"rlogin\", \"smtp\", \"nntp\", \"ftp\", \"cbr\" or \"onoff\"",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"gopher\"",
        "geo.toml:28: flows[0].app = \"gopher\" is unknown; the choices are \"file\", \"bulk\", \"http\", \
         \"repeat\", \"stream\", \"web\", \"telnet\", \"rlogin\", \"smtp\", \"nntp\", \"ftp\", \"cbr\", \"onoff\", \
         \"xtp\"",
    ),
    (
        "size = \"50 MiB\"",
        "size = \"50 MiB\"\npages = 3",
        "geo.toml:29: flows[0].pages would be ignored; it needs app = \"http\"",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"http\"\nsize = \"50 MiB\"",
        "geo.toml:29: flows[0].size would be ignored; it needs app = \"file\", \"repeat\", \"stream\", \"web\", \"smtp\", \"nntp\", \"ftp\" or \"xtp\"",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"http\"",
        "geo.toml:24: flows[0] has no \"pages\"; write for example pages = 10, or a duration",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"http\"\npages = 0",
        "geo.toml:29: flows[0].pages = 0 is out of range; write 1 to 1000000",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"http\"\npages = 1\nrequest = \"0 B\"",
        "geo.toml:30: flows[0].request = \"0 B\" is out of range; write \"1 B\" to \"1048576 GiB\"",
    ),
    (
        "size = \"50 MiB\"\nopens = \"receiver\"",
        "app = \"http\"\npages = 1\nopens = \"sender\"",
        "geo.toml:30: flows[0].opens = \"sender\" is wrong for app = \"http\": its client opens the \
         connections; write \"receiver\"",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"http\"\npages = 1\nconnections = \"per_page\"",
        "geo.toml:30: flows[0].connections = \"per_page\" is unknown; did you mean \"per-page\"?",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"repeat\"\nsize = \"50 MiB\"",
        "geo.toml:24: flows[0] has no \"files\"; write for example files = 10, or a duration",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"repeat\"\nfiles = 2",
        "geo.toml:24: flows[0] has no \"size\"; write for example size = \"50 MiB\"",
    ),
    (
        "size = \"50 MiB\"",
        "app = \"repeat\"\nsize = \"1 B\"\nfiles = 2\ninterval = \"90000 h\"",
        "geo.toml:31: flows[0].interval = \"90000 h\" is out of range; write at most \"87600 h\"",
    ),
    (
        "opens = \"receiver\"",
        "opens = \"reciever\"",
        "geo.toml:29: flows[0].opens = \"reciever\" is unknown; did you mean \"receiver\"?",
    ),
    (
        "opens = \"receiver\"",
        "count = 0",
        "geo.toml:29: flows[0].count = 0 is out of range; write 1 to 1000000",
    ),
    (
        "opens = \"receiver\"",
        "count = 2.5",
        "geo.toml:29: flows[0].count = 2.5 is wrong; write a whole number",
    ),
    (
        "opens = \"receiver\"",
        "stagger = \"1 s\"",
        "geo.toml:29: flows[0].stagger would be ignored; it needs count",
    ),
    (
        "opens = \"receiver\"",
        "start = \"25 h\"",
        "geo.toml:29: flows[0].start lets \"download\" begin at \"25 h\", when the run is over; \
         max_duration is \"24 h\"",
    ),
    // TCP.
    (
        "variant = \"reno\"",
        "variant = \"renno\"",
        "geo.toml:5: tcp.variant = \"renno\" is not a TCP; did you mean \"reno\"? The variants are \
         {VARIANTS}",
    ),
    (
        "variant = \"reno\"",
        "receive_windw = \"64 KiB\"",
        "geo.toml:5: unknown key \"receive_windw\" in tcp; did you mean \"receive_window\"?",
    ),
    (
        "variant = \"reno\"",
        "mss = \"10 B\"",
        "geo.toml:5: tcp.mss = \"10 B\" is out of range; write \"28 B\" to \"65495 B\"",
    ),
    (
        "variant = \"reno\"",
        "receive_window = \"2 GiB\"",
        "geo.toml:5: tcp.receive_window = \"2 GiB\" is out of range; write \"1 B\" to \"1 GiB\"",
    ),
    (
        "variant = \"reno\"",
        "receive_window = 65535",
        "geo.toml:5: tcp.receive_window = 65535 has no unit; write for example \"65535 B\"",
    ),
    (
        "variant = \"reno\"",
        "receive_window = \"1 MiB\"\nwindow_scale = \"off\"",
        "geo.toml:6: tcp.window_scale = \"off\" cannot offer a receive_window of 1 MiB; write \
         \"auto\", or a window of at most 65535 B",
    ),
    (
        "variant = \"reno\"",
        "receive_window = \"1 MiB\"\nwindow_scale = 3",
        "geo.toml:6: tcp.window_scale = 3 cannot offer a receive_window of 1 MiB; write \"auto\", \
         or a window of at most 524280 B",
    ),
    (
        "variant = \"reno\"",
        "window_scale = 15",
        "geo.toml:5: tcp.window_scale = 15 is out of range; write 0 to 14, or \"auto\" or \"off\"",
    ),
    (
        "variant = \"reno\"",
        "delayed_ack = 0.2",
        "geo.toml:5: tcp.delayed_ack = 0.2 has no unit; write for example \"0.2 ms\", or \"off\"",
    ),
    (
        "variant = \"reno\"",
        "recovery = \"newrenno\"",
        "geo.toml:5: tcp.recovery = \"newrenno\" is unknown; did you mean \"newreno\"?",
    ),
    (
        "variant = \"reno\"",
        "control.cubic.beta = 3",
        "geo.toml:5: tcp.control.cubic.beta = 3 is out of range; write 0.01 to 0.99",
    ),
    (
        "variant = \"reno\"",
        "control.cubic.betta = 0.7",
        "geo.toml:5: tcp.control.cubic.betta is not a parameter of cubic; did you mean \"beta\"?",
    ),
    (
        "variant = \"reno\"",
        "control.cubik.beta = 0.7",
        "geo.toml:5: tcp.control.cubik is not a congestion control; did you mean \"cubic\"?",
    ),
    (
        "variant = \"reno\"",
        "variant = \"reno\"\nrto_alpha = 0.9",
        "geo.toml:6: tcp.rto_alpha would be ignored; it needs timer = \"rfc793\"",
    ),
    (
        "variant = \"reno\"",
        "variant = \"reno\"\ndummies = \"ignore\"",
        "geo.toml:6: tcp.dummies would be ignored; it needs congestion = \"peach\"",
    ),
    (
        "variant = \"reno\"",
        "delayed_ack = \"off\"\nack_every = 4",
        "geo.toml:6: tcp.ack_every would be ignored; it needs delayed_ack",
    ),
    (
        "variant = \"reno\"",
        "timer = \"jacobson\"\nrto_gain = 1.5",
        "geo.toml:6: tcp.rto_gain = 1.5 is out of range; write 0.000001 to 0.999999",
    ),
    (
        "variant = \"reno\"",
        "timer = \"jacobson\"\nrto_gain = 0.1234567",
        "geo.toml:6: tcp.rto_gain = 0.1234567 is not a factor; write a number from 0 to 4294 with \
         at most six decimals, for example 0.125",
    ),
    (
        "opens = \"receiver\"",
        "tcp = { rescue = true }",
        "geo.toml:29: flows[0].tcp.rescue would be ignored; it needs recovery = \"sack\"",
    ),
    (
        "opens = \"receiver\"",
        "tcp = { rto_min = \"2 min\" }",
        "geo.toml:29: flows[0].tcp.rto_min = \"2 min\" is above rto_max, \"1 min\"",
    ),
    (
        "opens = \"receiver\"",
        "tcp = { rto_max = \"500 ms\" }",
        "geo.toml:29: flows[0].tcp.rto_max = \"500 ms\" is below rto_min, \"1 s\"",
    ),
    (
        "opens = \"receiver\"",
        "tcp = { recovery = \"sack\" }",
        "geo.toml:29: flows[0].tcp.recovery = \"sack\" needs sack = true",
    ),
];

#[test]
fn bad_input_has_an_exact_message() {
    let mut wrong = Vec::new();
    let variants: Vec<_> = farlink_tcp::variant::VARIANTS
        .iter()
        .map(|v| v.name)
        .collect();
    for (good, bad, message) in FAULTS {
        let message = &message.replace("{VARIANTS}", &variants.join(", "));
        assert!(GOOD.contains(good), "{good:?} is not in the good scenario");
        let got = fault(&GOOD.replacen(good, bad, 1), &[]);
        // The parser chooses the words of a syntax error.
        let parser = message.ends_with(": ") || message.ends_with("duplicate key");
        if got != *message && !(parser && got.starts_with(message)) {
            wrong.push(format!(
                "{good:?} -> {bad:?}\n  got  {got}\n  want {message}"
            ));
        }
        assert!(!got.contains('\n'), "more than a line: {got}");
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
