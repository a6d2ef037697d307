// One transfer in ns-3 (3.37 to 3.44), for comparison: one process is one simulation and prints
// goodput (bit/s), data segments sent, retransmitted, time-outs, recoveries and packets that the
// channel lost in the direction of the data, separated by commas. See README.md.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdio>

using namespace ns3;

// Loses an IP packet of L bytes with probability 1-(1-ber)^(8L), or p per packet.
// The device hands over the frame (IP + 2 bytes PPP): the 2 bytes are taken off.
class IpErrorModel : public ErrorModel
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("IpErrorModel").SetParent<ErrorModel>();
        return tid;
    }
    double ber = 0, per = 0;
    uint64_t lost = 0;
    Ptr<UniformRandomVariable> u = CreateObject<UniformRandomVariable>();

  private:
    bool DoCorrupt(Ptr<Packet> p) override
    {
        double pr = per;
        if (ber > 0)
        {
            pr = -std::expm1(8.0 * (p->GetSize() - 2) * std::log1p(-ber));
        }
        bool c = u->GetValue() < pr;
        lost += c;
        return c;
    }
    void DoReset() override {}
};

// NewReno by RFC 5681, through ns-3's own hooks: ssthresh from FlightSize (eq. 4, RFC 6675 step 4.2;
// limited-transmit segments not counted) instead of ns-3's pipe after the loss, and one increment an ACK.
class TcpRfc5681 : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::TcpRfc5681").SetParent<TcpNewReno>().AddConstructor<TcpRfc5681>();
        return tid;
    }
    uint32_t GetSsThresh(Ptr<const TcpSocketState> s, uint32_t) override
    {
        uint32_t flight = s->m_highTxMark.Get() - s->m_lastAckedSeq;
        if (m_fastRecovery)
        {
            // What the window let out before limited transmit added to it, in whole segments.
            flight = std::min<uint32_t>(flight, s->m_cWnd / s->m_segmentSize * s->m_segmentSize);
            m_fastRecovery = false;
        }
        return std::max(2 * s->m_segmentSize, flight / 2);
    }
    // RFC 5681, 3.1: an ACK adds a segment in slow start or MSS^2/cwnd in congestion avoidance, never both.
    void IncreaseWindow(Ptr<TcpSocketState> s, uint32_t segments) override
    {
        if (segments == 0)
        {
            return;
        }
        uint32_t mss = s->m_segmentSize;
        uint32_t cwnd = s->m_cWnd;
        s->m_cWnd = cwnd + (cwnd < s->m_ssThresh ? mss : std::max(1u, mss * mss / cwnd));
    }
    void CongestionStateSet(Ptr<TcpSocketState>, const TcpSocketState::TcpCongState_t n) override
    {
        m_fastRecovery = n == TcpSocketState::CA_RECOVERY; // called just before GetSsThresh there
    }
    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpRfc5681>(this);
    }
    bool m_fastRecovery = false;
};
NS_OBJECT_ENSURE_REGISTERED(TcpRfc5681);

// CUBIC whose window grows by the segments that the ACK delivers, which is one here: on leaving
// recovery ns-3 counts all that the ACK covers, most of which was SACKed before.
class TcpCubicOne : public TcpCubic
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::TcpCubicOne").SetParent<TcpCubic>().AddConstructor<TcpCubicOne>();
        return tid;
    }
    void IncreaseWindow(Ptr<TcpSocketState> s, uint32_t segments) override
    {
        TcpCubic::IncreaseWindow(s, std::min(segments, 1u));
    }
    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpCubicOne>(this);
    }
};
NS_OBJECT_ENSURE_REGISTERED(TcpCubicOne);

// Hybla whose rho follows the least round-trip time: ns-3 computes it only at an ACK whose smoothed
// RTT is the least ever, which that of the SYN is, and keeps rho = 1.
class TcpHyblaRho : public TcpHybla
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::TcpHyblaRho").SetParent<TcpHybla>().AddConstructor<TcpHyblaRho>();
        return tid;
    }
    void PktsAcked(Ptr<TcpSocketState> s, uint32_t segments, const Time&) override
    {
        TcpHybla::PktsAcked(s, segments, s->m_minRtt);
    }
    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<TcpHyblaRho>(this);
    }
};
NS_OBJECT_ENSURE_REGISTERED(TcpHyblaRho);

// Westwood+ that counts every segment once (AckedCount of Mascolo et al. 2001): ns-3 counts one for each
// duplicate ACK and all of them again with the ACK that ends recovery.
class TcpWestwoodPlusOnce : public TcpWestwoodPlus
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::TcpWestwoodPlusOnce").SetParent<TcpWestwoodPlus>().AddConstructor<TcpWestwoodPlusOnce>();
        return tid;
    }
    void PktsAcked(Ptr<TcpSocketState> s, uint32_t segments, const Time& rtt) override
    {
        if (s->m_lastAckedSeq == m_seen)
        {
            m_counted += segments;
        }
        else
        {
            m_seen = s->m_lastAckedSeq;
            uint32_t before = std::min(m_counted, segments);
            m_counted -= before;
            segments -= before;
        }
        TcpWestwoodPlus::PktsAcked(s, segments, rtt);
    }
    Ptr<TcpCongestionOps> Fork() override
    {
        return CreateObject<TcpWestwoodPlusOnce>(*this);
    }
    SequenceNumber32 m_seen;
    uint32_t m_counted = 0;
};
NS_OBJECT_ENSURE_REGISTERED(TcpWestwoodPlusOnce);



// RFC 6582 3.2 step 3, full acknowledgment, option (1): cwnd = min(ssthresh, max(FlightSize, MSS) + MSS).
// ns-3 has option (2), cwnd = ssthresh.
class TcpOptionOneRecovery : public TcpClassicRecovery
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::TcpOptionOneRecovery").SetParent<TcpClassicRecovery>().AddConstructor<TcpOptionOneRecovery>();
        return tid;
    }
    void ExitRecovery(Ptr<TcpSocketState> s) override
    {
        uint32_t flight = s->m_highTxMark.Get() - s->m_lastAckedSeq;
        s->m_cWnd = std::min(s->m_ssThresh.Get(), std::max(flight, s->m_segmentSize) + s->m_segmentSize);
        s->m_cWndInfl = s->m_cWnd.Get();
    }
    Ptr<TcpRecoveryOps> Fork() override
    {
        return CopyObject<TcpOptionOneRecovery>(this);
    }
};
NS_OBJECT_ENSURE_REGISTERED(TcpOptionOneRecovery);

static uint64_t g_segs, g_retx, g_rtos, g_fr, g_rx, g_n;
static SequenceNumber32 g_high;
static bool g_haveHigh;
static double g_done = -1;
static std::string g_trace;
static FILE* g_tf;

static void
Tx(Ptr<const Packet> p, const TcpHeader& h, Ptr<const TcpSocketBase>)
{
    uint32_t len = p->GetSize();
    if (len == 0)
    {
        return;
    }
    ++g_segs;
    SequenceNumber32 s = h.GetSequenceNumber();
    SequenceNumber32 e = s + len;
    bool r = g_haveHigh && s < g_high;
    g_retx += r;
    if (!g_haveHigh || e > g_high)
    {
        g_high = e;
        g_haveHigh = true;
    }
    if (g_tf)
    {
        fprintf(g_tf, "%.6f tx %u %u%s\n", Simulator::Now().GetSeconds(), s.GetValue() - 1, len, r ? " R" : "");
    }
}

static void
AckRx(Ptr<const Packet>, const TcpHeader& h, Ptr<const TcpSocketBase>)
{
    if (g_tf)
    {
        fprintf(g_tf, "%.6f ack %u win %u", Simulator::Now().GetSeconds(), h.GetAckNumber().GetValue() - 1, h.GetWindowSize());
        if (h.HasOption(TcpOption::SACK))
        {
            for (auto b : DynamicCast<const TcpOptionSack>(h.GetOption(TcpOption::SACK))->GetSackList())
            {
                fprintf(g_tf, " [%u,%u)", b.first.GetValue() - 1, b.second.GetValue() - 1);
            }
        }
        fprintf(g_tf, "\n");
    }
}

static void
Cong(const TcpSocketState::TcpCongState_t o, const TcpSocketState::TcpCongState_t n)
{
    g_fr += n == TcpSocketState::CA_RECOVERY && o != n;
    if (g_tf)
    {
        fprintf(g_tf, "%.6f state %s -> %s\n", Simulator::Now().GetSeconds(), TcpSocketState::TcpCongStateName[o], TcpSocketState::TcpCongStateName[n]);
    }
}

// The only place that doubles m_rto of an established socket is ReTxTimeout.
static void
Rto(Time o, Time n)
{
    if (n == Min(o + o, Seconds(60)))
    {
        g_rtos += g_haveHigh;
        if (g_tf)
        {
            fprintf(g_tf, "%.6f RTO fired %.3f -> %.3f\n", Simulator::Now().GetSeconds(), o.GetSeconds(), n.GetSeconds());
        }
    }
}

static void
Cwnd(uint32_t o, uint32_t n)
{
    if (g_tf)
    {
        fprintf(g_tf, "%.6f cwnd %u\n", Simulator::Now().GetSeconds(), n);
    }
}

static void
Sst(uint32_t o, uint32_t n)
{
    if (g_tf)
    {
        fprintf(g_tf, "%.6f ssthresh %u\n", Simulator::Now().GetSeconds(), n);
    }
}

static void
Hook(Ptr<BulkSendApplication> b)
{
    auto s = b->GetSocket();
    s->TraceConnectWithoutContext("Tx", MakeCallback(&Tx));
    s->TraceConnectWithoutContext("Rx", MakeCallback(&AckRx));
    s->TraceConnectWithoutContext("CongState", MakeCallback(&Cong));
    s->TraceConnectWithoutContext("RTO", MakeCallback(&Rto));
    s->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Cwnd));
    s->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&Sst));
}

static void
SinkRx(Ptr<const Packet> p, const Address&)
{
    g_rx += p->GetSize();
    if (g_n && g_rx >= g_n && g_done < 0)
    {
        g_done = Simulator::Now().GetSeconds();
        Simulator::Stop(Seconds(5)); // late retransmissions still count
    }
}

int
main(int argc, char** argv)
{
    std::string tcp = "newreno", recovery = "classic";
    bool sack = true, hystart = false, delack = false, limited = true, friendly = true;
    uint32_t window = 65535, iw = 2, queue = 100000, mss = 1460;
    double ber = 0, per = 0, perUp = 0, berUp = -1;
    double accRate = 10e6, accDelay = 10, downRate = 2048e3, upRate = 256e3, delay = 250;
    double bulk = 0, maxT = 50000, minRto = 1000;
    uint64_t n = 10 << 20;
    uint32_t run = 1;
    CommandLine cmd;
    cmd.AddValue("tcp", "newreno|rfc5681|linuxreno|cubic", tcp);
    cmd.AddValue("recovery", "classic|prr", recovery);
    cmd.AddValue("sack", "", sack);
    cmd.AddValue("hystart", "", hystart);
    cmd.AddValue("delack", "", delack);
    cmd.AddValue("limited", "limited transmit", limited);
    cmd.AddValue("friendly", "CUBIC TCP friendliness (ns-3 >= 3.38)", friendly);
    cmd.AddValue("window", "bytes", window);
    cmd.AddValue("iw", "segments", iw);
    cmd.AddValue("queue", "packets waiting at the bottleneck", queue);
    cmd.AddValue("ber", "", ber);
    cmd.AddValue("berUp", "default = ber", berUp);
    cmd.AddValue("per", "data direction", per);
    cmd.AddValue("perUp", "ACK direction", perUp);
    cmd.AddValue("accRate", "bit/s", accRate);
    cmd.AddValue("accDelay", "ms", accDelay);
    cmd.AddValue("downRate", "bit/s", downRate);
    cmd.AddValue("upRate", "bit/s", upRate);
    cmd.AddValue("delay", "ms, one way, second hop", delay);
    cmd.AddValue("n", "bytes", n);
    cmd.AddValue("bulk", "s: unlimited data for this long (n ignored)", bulk);
    cmd.AddValue("minRto", "ms", minRto);
    cmd.AddValue("mss", "bytes", mss);
    cmd.AddValue("run", "RngRun", run);
    cmd.AddValue("trace", "file", g_trace);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(run);
    if (berUp < 0)
    {
        berUp = ber;
    }
    g_n = bulk > 0 ? 0 : n;
    if (!g_trace.empty())
    {
        g_tf = fopen(g_trace.c_str(), "w");
    }

    std::string type = tcp.rfind("Tcp", 0) == 0 ? tcp : tcp == "newreno" ? "TcpNewReno" : tcp == "rfc5681" ? "TcpRfc5681" : tcp == "linuxreno" ? "TcpLinuxReno" : "TcpCubic";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + type));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(recovery == "prr" ? TcpPrrRecovery::GetTypeId() : recovery == "option1" ? TcpOptionOneRecovery::GetTypeId() : TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(iw));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(std::max<uint32_t>(4 * window, 1 << 20)));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delack ? 2 : 1));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(15));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(15));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto / 1000)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(window > 65535));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(limited));
    Config::SetDefaultFailSafe("ns3::TcpCubic::TcpFriendliness", BooleanValue(friendly));

    NodeContainer nodes;
    nodes.Create(3);
    InternetStackHelper().Install(nodes);
    auto big = StringValue("100000p");
    PointToPointHelper a;
    a.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", big);
    a.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t)accRate)));
    a.SetChannelAttribute("Delay", TimeValue(MicroSeconds((int64_t)std::llround(accDelay * 1000))));
    auto d1 = a.Install(nodes.Get(0), nodes.Get(1));
    PointToPointHelper s;
    s.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", big);
    s.SetChannelAttribute("Delay", TimeValue(MicroSeconds((int64_t)std::llround(delay * 1000))));
    auto d2 = s.Install(nodes.Get(1), nodes.Get(2));
    auto gw = DynamicCast<PointToPointNetDevice>(d2.Get(0));
    auto rx = DynamicCast<PointToPointNetDevice>(d2.Get(1));
    gw->SetDataRate(DataRate((uint64_t)downRate));
    rx->SetDataRate(DataRate((uint64_t)upRate));
    gw->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, queue));
    auto eDown = CreateObject<IpErrorModel>();
    eDown->ber = ber;
    eDown->per = per;
    auto eUp = CreateObject<IpErrorModel>();
    eUp->ber = berUp;
    eUp->per = perUp;
    eDown->u->SetStream(101);
    eUp->u->SetStream(102);
    rx->SetReceiveErrorModel(eDown);
    gw->SetReceiveErrorModel(eUp);

    Ipv4AddressHelper ip;
    ip.SetBase("10.1.1.0", "255.255.255.0");
    ip.Assign(d1);
    ip.SetBase("10.1.2.0", "255.255.255.0");
    auto i2 = ip.Assign(d2);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    TrafficControlHelper tch;
    tch.Uninstall(d1);
    tch.Uninstall(d2);

    InetSocketAddress dst(i2.GetAddress(1), 5000);
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000));
    auto sa = sink.Install(nodes.Get(2));
    sa.Start(Seconds(0));
    sa.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&SinkRx));
    BulkSendHelper bs("ns3::TcpSocketFactory", dst);
    bs.SetAttribute("MaxBytes", UintegerValue(g_n));
    bs.SetAttribute("SendSize", UintegerValue(mss));
    auto ba = bs.Install(nodes.Get(0));
    ba.Start(Seconds(0));
    Simulator::Schedule(NanoSeconds(1), &Hook, DynamicCast<BulkSendApplication>(ba.Get(0)));
    Simulator::Stop(Seconds(bulk > 0 ? bulk : maxT));

    Simulator::Run();
    double dur = bulk > 0 ? bulk : g_done;
    if (dur < 0)
    {
        fprintf(stderr, "the transfer did not complete\n");
        return 1;
    }
    printf("%.3f,%lu,%lu,%lu,%lu,%lu\n", g_rx * 8.0 / dur, g_segs, g_retx, g_rtos, g_fr, eDown->lost);
    Simulator::Destroy();
    return 0;
}
