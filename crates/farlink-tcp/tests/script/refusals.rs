//! Scripts that the runner must reject, with the expected messages. They prove that the runner does
//! not accept everything.

use super::{Failure, parse, run};

/// Script to reject, and the text that the message must contain.
struct Refusal {
    name: &'static str,
    script: &'static str,
    line: usize,
    message: &'static str,
}

const REFUSALS: &[Refusal] = &[
    Refusal {
        name: "packet_not_expected",
        script: "// x\n+0 connect\n+0.5 assert state == SYN-SENT",
        line: 3,
        message: "a packet left that no line expects, at 0: > S 0:0(0) win 65535 <mss 1460,sackOK>",
    },
    Refusal {
        name: "packet_not_expected_at_the_end",
        script: "// x\n+0 connect",
        line: 2,
        message: "a packet left that no line expects",
    },
    Refusal {
        name: "no_packet",
        script: "// x\n--tcp reno\n+0 handshake rtt 0.1 win 8000\n+0 > . 1:1461(1460) ack 1",
        line: 4,
        message: "no packet left",
    },
    Refusal {
        name: "wrong_number",
        script: "// x\n--tcp reno\n+0 handshake rtt 0.1 win 8000\n+0 write 1460\n+0 > . 2:1462(1460) ack 1",
        line: 5,
        message: "expected at 0.1, got at 0.1: > P. 1:1461(1460) ack 1 win 65535",
    },
    Refusal {
        name: "wrong_time",
        script: "// x\n--tcp reno\n+0 connect\n+0 > S 0:0(0) <mss 1460>\n+1.000000001 > S 0:0(0) <mss 1460>",
        line: 5,
        message: "expected at 1.000000001, got at 1: > S 0:0(0)",
    },
    Refusal {
        name: "wrong_acknowledgment",
        script: "// x\n--tcp reno\n+0 handshake rtt 0.1 win 8000\n+0 write 1460\n+0 > . 1:1461(1460) ack 2",
        line: 5,
        message: "got at 0.1",
    },
    Refusal {
        name: "wrong_window",
        script: "// x\n--tcp reno\n+0 handshake rtt 0.1 win 8000\n+0 write 1460\n+0 > . 1:1461(1460) ack 1 win 65534",
        line: 5,
        message: "win 65535",
    },
    Refusal {
        name: "option_not_expected",
        script: "// x\n--tcp reno\n+0 connect\n+0 > S 0:0(0)",
        line: 4,
        message: "got at 0: > S 0:0(0) win 65535 <mss 1460>",
    },
    Refusal {
        name: "wrong_flag",
        script: "// x\n--tcp reno\n+0 connect\n+0 > SF 0:0(0) <mss 1460>",
        line: 4,
        message: "got at 0: > S 0:0(0)",
    },
    Refusal {
        name: "wrong_value",
        script: "// x\n--tcp reno initial_window=2 mss=1000\n+0 handshake rtt 0.1 win 8000\n+0 assert rto == 1, cwnd > 2000",
        line: 4,
        message: "cwnd is 2000",
    },
    Refusal {
        name: "wrong_state",
        script: "// x\n+0 listen\n+0 assert state == ESTABLISHED",
        line: 3,
        message: "state is LISTEN",
    },
    Refusal {
        name: "wrong_event",
        script: "// x\n+0 listen\n+0 event Established",
        line: 3,
        message: "the event is none",
    },
    Refusal {
        name: "more_read_than_there",
        script: "// x\n--tcp reno\n+0 handshake rtt 0.1 win 8000\n+0 read 1",
        line: 4,
        message: "bytes read: 0",
    },
    Refusal {
        name: "no_purpose",
        script: "+0 connect",
        line: 1,
        message: "the first line is `// ` and what the script shows",
    },
    Refusal {
        name: "length_and_numbers_disagree",
        script: "// x\n+0 < . 1:1001(999) ack 1 win 8000",
        line: 2,
        message: "1:1001(999): 1 + 999 is not 1001",
    },
    Refusal {
        name: "ack_without_flag",
        script: "// x\n+0 < P 1:2(1) ack 1 win 8000",
        line: 2,
        message: "the flag . and a number after ack go together",
    },
    Refusal {
        name: "unknown_tcp",
        script: "// x\n--tcp renno",
        line: 2,
        message: "unknown TCP \"renno\"",
    },
    Refusal {
        name: "key_of_another_recovery",
        script: "// x\n--tcp reno rescue=true",
        line: 2,
        message: "rescue: needs recovery = \"sack\"",
    },
    Refusal {
        name: "options_too_late",
        script: "// x\n+0 connect\n--tcp reno",
        line: 3,
        message: "options come before the first timed line",
    },
    Refusal {
        name: "time_goes_back",
        script: "// x\n1 listen\n0.5 assert state == LISTEN",
        line: 3,
        message: "it is 1 already",
    },
];

/// Returns name and result of each script: an error if the runner accepted the script or gave
/// another message.
pub(crate) fn refusals() -> impl Iterator<Item = (String, Result<(), String>)> {
    REFUSALS.iter().map(|refusal| {
        let result = match parse(refusal.script).and_then(|script| run(&script)) {
            Ok(()) => Err(format!("{}: accepted", refusal.name)),
            Err(Failure { line, message })
                if line == refusal.line && message.contains(refusal.message) =>
            {
                Ok(())
            }
            Err(failure) => Err(failure.at(refusal.name)),
        };
        (format!("refused/{}", refusal.name), result)
    })
}
