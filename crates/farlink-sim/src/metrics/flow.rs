//! Metrics of a flow.

use super::table::{Subject, measures, seconds, share};
use crate::flow::{End, EndId, FlowState, Times};
use crate::multipath::Connection;
use crate::quic::{QuicFlow, UNCOUNTED};
use crate::udp::UdpFlow;
use crate::world::{FlowCounters, FlowKind, World};
use crate::xtp::XtpFlow;
use farlink_small::Quantiles;
use farlink_tcp::{Instant, Interval, Limit, Phase, Stats};
use farlink_wire::{FlowId, Id};

measures! { FLOW: OfFlow;
    "goodput" "bit/s" Rate Sum |f| f.goodput(),
        "application bytes delivered in order at the receiving end, times 8, over duration; for \
        datagrams the bytes that arrived, over the longer of two times: from their start to the \
        last arrival less the least delay, and the time that the slowest link of their path takes \
        for them";
    "duration" "s" Time Mean |f| f.duration(),
        "time from the first SYN to the delivery of the last byte; for a bulk flow, and for a flow \
        that is cut off or fails, to its end; for datagrams the time for which their source \
        worked, up to the time of the next one after the last";
    "bytes_delivered" "B" Size Sum |f| Some(f.delivered() as f64),
        "application bytes delivered in order at the receiving end; for datagrams the bytes that \
        arrived";
    "completed" "" Flag Mean |f| f.is_whole().then(|| f64::from(u8::from(f.completed()))),
        "1 if all data was delivered, else 0; for bulk flows 1, for datagrams 1 if all were sent";
    "reverse_goodput" "bit/s" Rate Sum |f| f.reverse_goodput(),
        "goodput of the bytes in the other direction; none without reverse data";
    "segments_sent" "" Count Sum |f| f.stat(|s| s.segments_sent),
        "segments with data from the sending end, retransmissions included, without bare SYN and \
        FIN";
    "segments_retransmitted" "" Count Sum |f| f.stat(|s| s.segments_retransmitted),
        "segments sent that contain data sent before";
    "retransmitted_share" "" Share Mean |f| {
            let [stats, _] = f.stats()?;
            share(stats.segments_retransmitted, stats.segments_sent)
        },
        "segments_retransmitted over segments_sent";
    "timeouts" "" Count Sum |f| f.stat(|s| s.timeouts),
        "expiries of the retransmission timer of the sending end";
    "fast_retransmits" "" Count Sum |f| f.stat(|s| s.fast_retransmits),
        "recoveries of the sending end that duplicate ACKs or SACK began (one for each window with \
        losses, with any number of repaired segments)";
    "dup_acks" "" Count Sum |f| f.stat(|s| s.dup_acks),
        "duplicate ACKs received by the sending end; with SACK, ACKs with new SACK information";
    "acks_sent" "" Count Sum |f| f.peer_stat(|s| s.acks_sent),
        "segments without data sent by the receiving end";
    "rtt_mean" "s" Time Mean |f| f.mean_of_samples(|s| s.rtt_sum),
        "mean of the round-trip samples of the sending end's estimator";
    "rtt_min" "s" Time Mean |f| f.stats()?[0].rtt_min.map(Interval::as_secs_f64),
        "least round-trip sample of the sending end's estimator";
    "rtt_max" "s" Time Mean |f| f.stats().filter(|[s, _]| s.rtt_samples > 0).map(|[s, _]| s.rtt_max.as_secs_f64()),
        "greatest round-trip sample of the sending end's estimator";
    "rto_mean" "s" Time Mean |f| f.mean_of_samples(|s| s.rto_sum),
        "mean of the retransmission time-out after each round-trip sample";
    "window_probes" "" Count Sum |f| f.stat(|s| s.probes),
        "zero-window probes that the sending end sent";
    "tail_probes" "" Count Sum |f| f.stat(|s| s.tail_probes),
        "tail loss probes that the sending end sent (RFC 8985, 7)";
    "undos" "" Count Sum |f| f.stat(|s| s.undos),
        "reductions of the window that the sending end reverted";
    "responses" "" Count Sum |f| f.responses().map(|r| r.count as f64),
        "complete responses: pages (http), files (repeat, web), items (smtp, nntp, ftp) or answers \
        to keystrokes (telnet, rlogin); none for other applications";
    "response_time_mean" "s" Time Mean |f| {
            let responses = f.responses()?;
            share(responses.sum.as_nanos(), responses.count).map(|nanos| nanos / 1e9)
        },
        "mean response time: to the delivery of the last byte, from the SYN of a new connection or \
        from the request on an open one; for a keystroke from the time of typing";
    "fair_share" "" Ratio Mean |f| Some(f.goodput()? / f.mean_goodput?),
        "goodput over the mean goodput of all flows of the run: 1 is an equal share; the value for \
        flows of one TCP beside those of another is the other's friendliness; none with one flow";
    "goodput_over_run" "bit/s" Rate Sum |f| f.goodput_over_run(),
        "bytes_delivered times 8 over the simulated time of the whole run; the values of all flows \
        add up to the data that their paths carried, while a goodput is over its flow's own \
        duration";
    "time_slow_start" "s" Time Mean |f| f.phase(Phase::SlowStart),
        "time with outstanding data, a window below ssthresh and no loss under repair at the \
        sending end (for BBR: in Startup, for Peach: in Sudden Start)";
    "time_congestion_avoidance" "s" Time Mean |f| f.phase(Phase::Avoidance),
        "time with outstanding data, a window of ssthresh or above and no loss under repair at the \
        sending end";
    "time_recovery" "s" Time Mean |f| f.phase(Phase::Recovery),
        "time from a fast retransmit or an RTO until all data outstanding then was acknowledged \
        (Tahoe repairs in slow start after a fast retransmit)";
    "time_idle" "s" Time Mean |f| f.phase(Phase::Idle),
        "time in which the connection was open and all data of the sending end was acknowledged";
    "limited_handshake" "" Share Mean |f| f.limited(Limit::Handshake),
        "share of the time from the first SYN to the end of the flow without an open connection: \
        the flow waits for a handshake; the shares limited_handshake to limited_timeouts sum to 1, \
        and name the cause that kept the sending end from sending more";
    "limited_application" "" Share Mean |f| f.limited(Limit::Application),
        "share of time in which all data of the application was sent, or Nagle's rule held its end; \
        or no connection existed and none was wanted";
    "limited_send_buffer" "" Share Mean |f| f.limited(Limit::SendBuffer),
        "share of time in which all data in the send buffer was sent, and the application waited to \
        write more";
    "limited_receive_window" "" Share Mean |f| f.limited(Limit::ReceiveWindow),
        "share of time in which the offered receive window had no room for the next segment";
    "limited_congestion_window" "" Share Mean |f| f.limited(Limit::CongestionWindow),
        "share of time in which the receive window had room for the next segment, and the \
        congestion window had none";
    "limited_pacing" "" Share Mean |f| f.limited(Limit::Pacing),
        "share of time in which both windows had room, and the next segment waited for the pacing \
        rate";
    "limited_recovery" "" Share Mean |f| f.limited(Limit::Recovery),
        "share of time from a fast retransmit until all data outstanding then was acknowledged, for \
        any windows (not for Tahoe, which repairs in slow start)";
    "limited_timeouts" "" Share Mean |f| f.limited(Limit::Timeout),
        "share of time in which the sending end waited for its retransmission timer, since the last \
        segment sent or acknowledged, and in which it repaired the data outstanding at the RTO";
    "receive_window_max" "B" Size Mean |f| f.tcp().filter(|t| t.started).map(|t| t.from.largest_peer_window() as f64),
        "largest window offered by the receiving end";
    "acks_lost" "" Count Sum |f| f.stats().map(|_| f.tally.back as f64),
        "packets from the receiving end lost for any cause";
    "dummies_sent" "" Count Sum |f| f.stat(|s| s.dummies_sent),
        "dummy segments from the sending end (Peach); segments_sent does not count them";
    "dummies_acked" "" Count Sum |f| f.stat(|s| s.dummies_acked),
        "dummy segments whose ACK came back";
    "response_time_p95" "s" Time Mean |f| f.responses()?.times?.percentile(95).map(seconds),
        "95 % quantile of the response times (nearest rank, accurate to 0.4 %)";
    "response_time_max" "s" Time Mean |f| f.responses()?.times?.most().map(seconds),
        "greatest response time";
    "segment_delay_mean" "s" Time Mean |f| f.tcp().and(f.tally.transit.mean_nanos()).map(|nanos| nanos / 1e9),
        "mean time from the first transmission of a segment of data to its complete arrival at the \
        receiving end, once for each segment; for a lost segment by the first retransmission that \
        arrived (the average end-to-end delay of TCP of Wong 1998)";
    "segments_out_of_order" "" Count Sum |f| f.peer_stat(|s| s.segments_out_of_order),
        "segments with data that arrived at the receiving end while earlier data was missing";
    "segments_duplicate" "" Count Sum |f| f.peer_stat(|s| s.segments_duplicate),
        "segments that arrived at the receiving end with no new data: needless retransmissions, \
        except lost ones, and copies made by a link";
    "timeouts_repeated" "" Count Sum |f| f.stat(|s| s.timeouts_repeated),
        "time-outs without new acknowledged data since the previous time-out: backed off, and of \
        the same segment";
    "datagrams_sent" "" Count Sum |f| f.udp().map(|u| u.source.sent as f64),
        "UDP datagrams sent; the metrics datagrams_sent to jitter have no value for flows over TCP";
    "datagrams_received" "" Count Sum |f| f.udp().map(|u| u.sink.received as f64),
        "datagrams that arrived whole at least once";
    "datagrams_lost" "" Count Sum |f| f.udp().map(|u| u.lost() as f64),
        "datagrams that never arrived, less those under way when the run was cut off";
    "datagrams_under_way" "" Count Sum |f| f.udp().map(|u| u.unsettled() as f64),
        "datagrams still queued, held by a link protocol or on a link when the run was cut off: \
        sent = received + lost + under way";
    "datagrams_duplicated" "" Count Sum |f| f.udp().map(|u| u.sink.duplicated as f64),
        "further copies of datagrams that arrived";
    "datagrams_reordered" "" Count Sum |f| f.udp().map(|u| u.sink.reordered as f64),
        "datagrams received after one sent later (RFC 4737, 3.3)";
    "loss_rate" "" Share Pooled: "datagrams_lost" + "datagrams_received",
            |f| f.udp().and_then(|u| share(u.lost(), u.lost() + u.sink.received)),
        "datagrams lost over datagrams lost and received";
    "loss_burst_max" "" Count Mean |f| f.udp().map(|u| u.longest_loss() as f64),
        "greatest number of datagrams lost in a row";
    "delay_mean" "s" Time Mean |f| f.udp()?.sink.delay_mean().map(|nanos| nanos / 1e9),
        "mean one-way delay of received datagrams, from the sending program to the arrival of the \
        last bit, first copies only";
    "delay_sd" "s" Time Mean |f| f.udp()?.sink.delay_deviation().map(|nanos| nanos / 1e9),
        "standard deviation of the one-way delays";
    "delay_min" "s" Time Mean |f| f.udp()?.sink.delays().least().map(seconds),
        "least one-way delay";
    "delay_max" "s" Time Mean |f| f.udp()?.sink.delays().most().map(seconds),
        "greatest one-way delay";
    "delay_p99" "s" Time Mean |f| f.udp()?.sink.delays().percentile(99).map(seconds),
        "99 % quantile of the one-way delays (nearest rank, accurate to 0.4 %)";
    "jitter" "s" Time Mean |f| f.udp()?.sink.jitter().map(|nanos| nanos / 1e9),
        "interarrival jitter at the end of the run (RFC 3550, 6.4.1: mean change of the delay from \
        one datagram to the next, smoothed over about 16)";
    "stalled_since" "s" Time Mean |f| f.stalled_since,
        "for a flow that the end of the run cut off with data under way: time after which nothing \
        arrived, where that is half of its time or more, and 10 s at least (looked at 64 times a run); \
        none for others";
    "subflow_bytes" "B" Size Sum |f| f.subflow().map(|_| f.delivered_to_end() as f64),
        "bytes that a subflow of a connection over several paths delivered in order, with those \
        that another subflow delivered too; goodput, duration, bytes_delivered and completed of the \
        first subflow are those of the connection, and the others have no goodput and no duration";
    "data_buffer_max" "B" Size Mean |f| f.connection().map(|c| c.reassembly.buffered_max as f64),
        "most bytes that waited at the receiving end of a connection over several paths for earlier \
        data of another subflow; subflow reordering is not included";
    "reinjected_bytes" "B" Size Sum |f| f.connection().map(|c| c.counters.reinjected as f64),
        "bytes that a connection over several paths gave to a subflow after another had them";
    "data_window_blocked" "" Count Sum |f| f.connection().map(|c| c.counters.blocked as f64),
        "times at which a subflow had room for the next data of its connection, and the \
        connection's receive window had none";
    each "lost_" "" Count Sum |f, cause| Some(f.tally.forward()[cause as usize] as f64),
        "packets from the sending end that were lost";
}

/// Subject of the metrics above.
pub(super) enum OfFlow {}

impl Subject for OfFlow {
    type View<'a> = Flow<'a>;
}

/// A flow at the end of a run.
pub(super) struct Flow<'a> {
    own: Own<'a>,
    tally: &'a FlowCounters,
    /// Connection over several paths of which the flow is a subflow, and the index of its path.
    multipath: Option<(&'a Connection, usize)>,
    /// Simulated time of the run, in seconds.
    run: f64,
    /// Mean goodput over all flows, if there are several.
    pub(super) mean_goodput: Option<f64>,
    /// Time in seconds of the last arrival before the flow starved; `None` if the flow did not
    /// starve.
    pub(super) stalled_since: Option<f64>,
}

// At most one value of this type exists at a time, and only while metrics are computed. Its size
// therefore does not matter.
#[allow(clippy::large_enum_variant)]
enum Own<'a> {
    Tcp(Tcp<'a>),
    /// The flow, the end of the run, and the result of [`World::least_sending`].
    Udp(&'a UdpFlow, Instant, Interval),
    Xtp(&'a XtpFlow, Instant),
    Quic(&'a QuicFlow, Instant),
}

/// Responses to the user of an application.
struct Responses<'a> {
    count: u64,
    /// Sum of the response times.
    sum: Interval,
    times: Option<&'a Quantiles>,
}

struct Tcp<'a> {
    state: &'a FlowState,
    /// Set if both ends have received all data that they expect.
    is_complete: bool,
    from: &'a End,
    to: &'a End,
    /// End of the measurement.
    end: Instant,
    started: bool,
    /// Counters of the data sender.
    stats: Stats,
    times: Times,
}

impl<'a> Flow<'a> {
    pub(super) fn new(world: &'a World, slot: FlowKind) -> Self {
        let (own, number) = match slot {
            FlowKind::Tcp(number) => (Own::Tcp(Tcp::new(world, number)), number),
            FlowKind::Udp(index) => {
                let number = FlowId::at((world.flows.len() + index) as u32);
                let flow = &world.udp[index];
                (Own::Udp(flow, world.now, world.least_sending(flow)), number)
            }
            FlowKind::Xtp(index) => {
                let flow = &world.xtp[index];
                (Own::Xtp(flow, world.now), flow.id)
            }
            FlowKind::Quic(index) => {
                let flow = &world.quic[index];
                (Own::Quic(flow, world.now), flow.id)
            }
        };
        Self {
            own,
            tally: &world.counters[number],
            multipath: world.hosts.multipath.of(number),
            run: world.now.as_secs_f64(),
            mean_goodput: None,
            stalled_since: None,
        }
    }

    pub(super) fn goodput(&self) -> Option<f64> {
        match &self.own {
            Own::Tcp(tcp) if self.multipath.is_some() => {
                self.connection()?;
                let seconds = tcp.started.then(|| tcp.duration(tcp.to))?;
                (seconds > 0.0).then(|| self.delivered() as f64 * 8.0 / seconds)
            }
            Own::Tcp(tcp) => tcp.rate(tcp.to),
            Own::Udp(udp, now, sending) => {
                // A queue on the path may make the arrivals last longer than the departures.
                let arriving = udp.sink.span(udp.source.started());
                let least = arriving.unwrap_or_default().max(*sending).as_secs_f64();
                let seconds = udp_duration(udp, *now).max(least);
                (udp.source.sent > 0 && seconds > 0.0)
                    .then(|| self.delivered() as f64 * 8.0 / seconds)
            }
            Own::Xtp(..) | Own::Quic(..) => {
                let seconds = self.duration().filter(|&seconds| seconds > 0.0)?;
                Some(self.delivered() as f64 * 8.0 / seconds)
            }
        }
    }

    fn goodput_over_run(&self) -> Option<f64> {
        self.is_whole()
            .then(|| self.delivered() as f64 * 8.0 / self.run)
    }

    fn duration(&self) -> Option<f64> {
        match &self.own {
            _ if !self.is_whole() => None,
            Own::Tcp(tcp) => tcp.started.then(|| tcp.duration(tcp.to)),
            Own::Udp(udp, now, _) => (udp.source.sent > 0).then(|| udp_duration(udp, *now)),
            Own::Xtp(xtp, now) => {
                let ended = xtp.complete_at.unwrap_or(*now);
                let begun = xtp.stats()[0].segments_sent > 0;
                begun.then(|| ended.since(xtp.start).as_secs_f64())
            }
            Own::Quic(quic, now) => quic.duration(*now),
        }
    }

    /// Returns whether the flow is a connection, and not a further subflow of one.
    fn is_whole(&self) -> bool {
        self.multipath.is_none_or(|(_, path)| path == 0)
    }

    /// Returns the subflow's connection and path.
    fn subflow(&self) -> Option<(&'a Connection, usize)> {
        self.multipath
    }

    /// Returns the connection over several paths whose first subflow this flow is.
    fn connection(&self) -> Option<&'a Connection> {
        self.multipath
            .filter(|&(_, path)| path == 0)
            .map(|(connection, _)| connection)
    }

    fn delivered(&self) -> u64 {
        match self.multipath {
            Some((connection, 0)) => connection.reassembly.data_ack(),
            Some(_) => 0,
            None => self.delivered_to_end(),
        }
    }

    /// Returns the bytes that this flow's own connection delivered.
    fn delivered_to_end(&self) -> u64 {
        match &self.own {
            Own::Tcp(tcp) => tcp.to.received,
            Own::Udp(udp, ..) => udp.sink.bytes,
            Own::Xtp(xtp, _) => xtp.delivered(),
            Own::Quic(quic, _) => quic.delivered(1),
        }
    }

    fn reverse_goodput(&self) -> Option<f64> {
        match &self.own {
            Own::Tcp(tcp) => tcp.reverse_goodput(),
            Own::Quic(quic, _) if quic.has_reverse() => {
                let seconds = self.duration().filter(|&seconds| seconds > 0.0)?;
                Some(quic.delivered(0) as f64 * 8.0 / seconds)
            }
            Own::Udp(..) | Own::Xtp(..) | Own::Quic(..) => None,
        }
    }

    fn completed(&self) -> bool {
        match &self.own {
            Own::Tcp(Tcp {
                state, is_complete, ..
            }) => *is_complete || (state.stops_after.is_some() && !state.failed),
            Own::Udp(udp, ..) => udp.ended_at.is_some(),
            Own::Xtp(xtp, _) => xtp.complete_at.is_some(),
            Own::Quic(quic, _) => quic.completed(),
        }
    }

    fn tcp(&self) -> Option<&Tcp<'a>> {
        match &self.own {
            Own::Tcp(tcp) => Some(tcp),
            Own::Udp(..) | Own::Xtp(..) | Own::Quic(..) => None,
        }
    }

    fn udp(&self) -> Option<&'a UdpFlow> {
        match self.own {
            Own::Udp(udp, ..) => Some(udp),
            Own::Tcp(_) | Own::Xtp(..) | Own::Quic(..) => None,
        }
    }

    /// Returns the counters of both ends of a connection or association, the data sender first.
    fn stats(&self) -> Option<[Stats; 2]> {
        match &self.own {
            Own::Tcp(tcp) => Some([tcp.stats, tcp.to.stats()]),
            Own::Xtp(xtp, _) => Some(xtp.stats().map(Stats::clone)),
            Own::Quic(quic, _) => Some(quic.stats()),
            Own::Udp(..) => None,
        }
    }

    /// Returns a counter of the data sender.
    fn stat(&self, of: fn(&Stats) -> u64) -> Option<f64> {
        counted(of(&self.stats()?[0]))
    }

    /// Returns a counter of the data receiver.
    fn peer_stat(&self, of: fn(&Stats) -> u64) -> Option<f64> {
        counted(of(&self.stats()?[1]))
    }

    /// Returns a sum of the sender in nanoseconds divided by its number of round-trip samples, in
    /// seconds.
    fn mean_of_samples(&self, of: fn(&Stats) -> u64) -> Option<f64> {
        let [stats, _] = self.stats()?;
        let sum = Some(of(&stats)).filter(|&sum| sum != UNCOUNTED)?;
        share(sum, stats.rtt_samples).map(|nanos| nanos / 1e9)
    }

    /// Returns the responses to the user of the application, if it has one.
    fn responses(&self) -> Option<Responses<'_>> {
        match &self.own {
            Own::Tcp(Tcp { state, .. }) => state.program.responds().then_some(Responses {
                count: state.responses,
                sum: state.response_sum,
                times: state.response_times.as_deref(),
            }),
            Own::Quic(quic, _) => match (&quic.pages, &quic.program) {
                (Some(pages), _) => Some(Responses {
                    count: pages.responses(),
                    sum: pages.response_sum,
                    times: Some(&pages.response_times),
                }),
                (_, Some(program)) => Some(Responses {
                    count: program.responses,
                    sum: program.response_sum,
                    times: Some(&program.response_times),
                }),
                _ => None,
            },
            Own::Udp(..) | Own::Xtp(..) => None,
        }
    }

    fn phase(&self, phase: Phase) -> Option<f64> {
        self.tcp()
            .map(|tcp| seconds(tcp.times.phases[phase as usize]))
    }

    /// Returns the share of time for which `limit` held. A subflow that has carried nothing, such as
    /// an unused backup, has none.
    fn limited(&self, limit: Limit) -> Option<f64> {
        if self.multipath.is_some() && self.delivered_to_end() == 0 {
            return None;
        }
        let limits = self.tcp()?.times.limits;
        share(limits[limit as usize], limits.iter().sum())
    }
}

impl<'a> Tcp<'a> {
    fn new(world: &'a World, number: FlowId) -> Self {
        let state = &world.flows[number];
        let [from, to] = EndId::both(number).map(|end| &world.ends[end]);
        let end = state.done_at.unwrap_or(world.now);
        let times = world.counters[number].times.as_deref().copied();
        Self {
            state,
            is_complete: world.hot[number].ends_pending == 0,
            from,
            to,
            end,
            started: state.done_at.is_some() || from.live,
            stats: from.stats(),
            times: times.unwrap_or_else(|| from.times(state.opened_at, end)),
        }
    }

    /// Returns the seconds from the first SYN to the arrival of all data at `end`, or to the end of
    /// the measurement if data is missing.
    fn duration(&self, end: &End) -> f64 {
        let until = match end.complete_at {
            Instant::MAX => self.end,
            at => at,
        };
        until.since(self.state.opened_at).as_secs_f64()
    }

    /// Returns the rate received by an end over [`Self::duration`], in bit/s.
    fn rate(&self, end: &End) -> Option<f64> {
        let seconds = self.duration(end);
        (self.started && seconds > 0.0).then(|| end.received as f64 * 8.0 / seconds)
    }

    fn reverse_goodput(&self) -> Option<f64> {
        let reverse = self.state.program.reverse();
        reverse.then(|| self.rate(self.from)).flatten()
    }
}

/// Returns a counter as a value; `None` if it is not counted.
fn counted(count: u64) -> Option<f64> {
    (count != UNCOUNTED).then_some(count as f64)
}

/// Returns the seconds for which the source of a UDP flow was active.
fn udp_duration(udp: &UdpFlow, now: Instant) -> f64 {
    let ended = match udp.ended_at {
        Some(ended) if udp.done => ended,
        Some(ended) => ended.min(now),
        None => now,
    };
    ended.since(udp.source.started()).as_secs_f64()
}
