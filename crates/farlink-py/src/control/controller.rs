//! Controller that calls the hooks of an instance in Python.

use super::objects::{Class, ControlEvent, ControlState, HOOKS, INITIAL, Initial};
use super::watchdog::{BOUND, HookTimeout, step};
use farlink_tcp::congestion::{
    Abort, Access, Ack, CongestionControl, Context, Loss, Start, UndoReduction, Undone,
};
use farlink_tcp::{Instant, Interval};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Hooks, in the order of [`HOOKS`].
#[derive(Clone, Copy)]
enum Hook {
    Established,
    Delivered,
    Ack,
    DupAck,
    Loss,
    Ecn,
    RecoveryAck,
    Recovered,
    Timeout,
    Idle,
    Pause,
}

/// Instance of a class, and its windows after the last hook.
pub(super) struct PythonControl {
    class: Arc<Class>,
    state: Py<ControlState>,
    event: Py<ControlEvent>,
    /// Arguments of each call. Hooks share one tuple, so that a call allocates nothing.
    arguments: Py<PyTuple>,
    methods: [Option<Py<PyAny>>; HOOKS.len()],
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    mss: u64,
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {{ cwnd: {}, ssthresh: {} }}",
            self.class.name, self.cwnd, self.ssthresh
        )
    }
}

impl PythonControl {
    pub(super) fn new(
        py: Python<'_>,
        class: Arc<Class>,
        arguments: &Bound<'_, PyDict>,
        start: Start,
        seed: u64,
    ) -> Self {
        let unlimited = start.ssthresh == u64::MAX;
        let ssthresh = if unlimited {
            f64::INFINITY
        } else {
            start.ssthresh as f64
        };
        let cwnd = start.window as f64;
        INITIAL.set(Initial {
            cwnd,
            ssthresh,
            seed,
        });
        let made = (|| {
            step();
            let instance = class.object.bind(py).call((), Some(arguments));
            step();
            let instance = instance?.cast_into::<ControlState>()?;
            let mut methods = [const { None }; HOOKS.len()];
            for &hook in &class.hooks {
                methods[hook] = Some(instance.getattr(HOOKS[hook])?.unbind());
            }
            let event = Py::new(py, ControlEvent::default())?;
            let arguments = PyTuple::new(py, [&event])?.unbind();
            Ok::<_, PyErr>((instance.unbind(), methods, event, arguments))
        })();
        let (state, methods, event, arguments) = match made {
            Ok(made) => made,
            Err(error) => fail(
                py,
                (&class.file, class.name),
                &error,
                "__init__",
                Instant::ZERO,
            ),
        };
        let mut controller = Self {
            class,
            state,
            event,
            arguments,
            methods,
            cwnd,
            ssthresh,
            pacing_rate: None,
            mss: 1,
        };
        controller.read_back(py);
        controller
    }

    fn read_back(&mut self, py: Python<'_>) {
        let state = self.state.bind(py).borrow();
        self.cwnd = state.cwnd;
        self.ssthresh = state.ssthresh;
        self.pacing_rate = state.pacing_rate;
    }

    /// Sets the windows, also those that the class sees.
    fn set(&mut self, cwnd: f64, ssthresh: f64) {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        Python::attach(|py| {
            let mut state = self.state.bind(py).borrow_mut();
            (state.cwnd, state.ssthresh) = (cwnd, ssthresh);
        });
    }

    /// Calls a hook. Returns false if the class does not define the hook.
    fn call(&mut self, hook: Hook, cx: &Context<'_>, fill: impl FnOnce(&mut ControlEvent)) -> bool {
        self.mss = cx.mss;
        let Some(method) = &self.methods[hook as usize] else {
            return false;
        };
        Python::attach(|py| {
            {
                let mut event = self.event.bind(py).borrow_mut();
                let seconds = |time: Option<Interval>| time.map(Interval::as_secs_f64);
                event.now = cx.now.as_secs_f64();
                event.mss = cx.mss;
                event.flight = cx.flight;
                event.srtt = seconds(cx.rtt.srtt());
                event.min_rtt = seconds(cx.rtt.min());
                event.rtt = seconds(cx.rtt.latest());
                event.rto = cx.rtt.rto().as_secs_f64();
                fill(&mut event);
            }
            step();
            let result = method.bind(py).call(self.arguments.bind(py), None);
            step();
            if let Err(error) = result {
                let class = (self.class.file.as_str(), self.class.name);
                fail(py, class, &error, HOOKS[hook as usize], cx.now);
            }
        });
        Python::attach(|py| self.read_back(py));
        true
    }

    fn on_some_ack(&mut self, hook: Hook, cx: &Context<'_>, ack: &Ack) -> bool {
        self.call(hook, cx, |event| {
            event.acked = ack.bytes;
            event.cwnd_limited = ack.cwnd_limited;
            let sample = ack.fine_rtt.or(ack.rtt_sample);
            event.rtt = sample.map(Interval::as_secs_f64);
        })
    }

    fn on_some_loss(&mut self, hook: Hook, cx: &Context<'_>, loss: Loss) -> bool {
        self.call(hook, cx, |event| event.sent_at = loss.sent_at.as_secs_f64())
    }

    /// Returns the value of a published attribute. `None` if it is no number.
    pub(super) fn published(&self, number: usize, _cx: &Context<'_>) -> Option<f64> {
        let name = self.class.published.get(number)?;
        Python::attach(|py| {
            let name = name.bind(py).cast::<pyo3::types::PyString>().ok()?;
            self.state.bind(py).getattr(name).ok()?.extract().ok()
        })
    }
}

/// max(FlightSize / 2, 2 MSS), equation (4) of RFC 5681.
fn half_flight(cx: &Context<'_>) -> f64 {
    (cx.flight / 2).max(2 * cx.mss) as f64
}

impl CongestionControl for PythonControl {
    fn cwnd(&self) -> u64 {
        (self.cwnd as u64).max(self.mss)
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh as u64
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate.map(|rate| rate as u64)
    }

    fn on_established(&mut self, cx: &Context<'_>) {
        self.call(Hook::Established, cx, |_| {});
    }

    fn on_delivered(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.on_some_ack(Hook::Delivered, cx, ack);
    }

    fn on_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.on_some_ack(Hook::Ack, cx, ack);
    }

    fn on_dup_ack(&mut self, cx: &Context<'_>) {
        self.call(Hook::DupAck, cx, |_| {});
    }

    fn on_loss(&mut self, cx: &Context<'_>, loss: &Loss) {
        if !self.on_some_loss(Hook::Loss, cx, *loss) {
            self.set(half_flight(cx), half_flight(cx));
        }
    }

    fn on_congestion_mark(&mut self, cx: &Context<'_>, loss: &Loss) {
        if !self.on_some_loss(Hook::Ecn, cx, *loss) {
            self.on_loss(cx, loss);
        }
    }

    fn on_recovery_ack(&mut self, cx: &Context<'_>, ack: &Ack) {
        self.on_some_ack(Hook::RecoveryAck, cx, ack);
    }

    fn on_recovered(&mut self, cx: &Context<'_>, window: u64) {
        if !self.call(Hook::Recovered, cx, |event| event.window = window) {
            self.set(window as f64, self.ssthresh);
        }
    }

    fn on_timeout(&mut self, cx: &Context<'_>, first: bool) {
        if !self.call(Hook::Timeout, cx, |event| event.first = first) {
            let ssthresh = if first {
                half_flight(cx)
            } else {
                self.ssthresh
            };
            self.set(cx.mss as f64, ssthresh);
        }
    }

    fn collapse(&mut self, window: u64) {
        self.set(window as f64, self.ssthresh);
    }

    fn raise_ssthresh(&mut self, least: u64) {
        self.set(self.cwnd, self.ssthresh.max(least as f64));
    }

    fn on_idle(&mut self, cx: &Context<'_>, initial_window: u64) {
        if !self.call(Hook::Idle, cx, |event| event.window = initial_window) {
            self.set(self.cwnd.min(initial_window as f64), self.ssthresh);
        }
    }

    fn on_pause(&mut self, cx: &Context<'_>, since_last: Interval) {
        self.call(Hook::Pause, cx, |event| {
            event.idle = since_last.as_secs_f64();
        });
    }
}

impl UndoReduction for PythonControl {
    fn on_spurious(&mut self, _cx: &Context<'_>, undone: &Undone) {
        let unlimited = undone.ssthresh == u64::MAX;
        let ssthresh = if unlimited {
            f64::INFINITY
        } else {
            undone.ssthresh as f64
        };
        self.set(undone.window as f64, ssthresh);
    }
}

/// Access to the undo of a class.
pub(super) const UNDO: Access<dyn UndoReduction> = Access::new(
    |control| {
        let control: &dyn Any = control;
        control.downcast_ref::<PythonControl>().map(|c| c as _)
    },
    |control| {
        let control: &mut dyn Any = control;
        control.downcast_mut::<PythonControl>().map(|c| c as _)
    },
);

/// Ends the run with a message that has file, line, hook and simulated time. `class` is the file and
/// the name of the class.
pub(super) fn fail(
    py: Python<'_>,
    class: (&str, &str),
    error: &PyErr,
    hook: &str,
    now: Instant,
) -> ! {
    let place = line_of(py, class.0, error).map_or(String::new(), |line| format!("{line}: "));
    let value = if error.is_instance_of::<HookTimeout>(py) {
        format!("takes longer than {} s", BOUND.as_secs())
    } else {
        let kind = error.get_type(py);
        let kind = kind.name().map_or(String::new(), |name| name.to_string());
        let text = error.value(py).to_string();
        let first = text.lines().next().unwrap_or_default();
        format!("{kind}: {first}")
    };
    let message = format!(
        "{place}{}.{hook} at {:.6} s of the run: {value}",
        class.1,
        now.as_secs_f64()
    );
    std::panic::resume_unwind(Box::new(Abort(message)))
}

/// Returns file and line of the innermost frame in the source file.
fn line_of(py: Python<'_>, source: &str, error: &PyErr) -> Option<String> {
    let mut next = error.traceback(py).map(Bound::into_any);
    let mut place = None;
    while let Some(frame) = next.filter(|frame| !frame.is_none()) {
        let code = frame.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
        let file = code.getattr("co_filename").ok()?.extract::<String>().ok()?;
        let line = frame.getattr("tb_lineno").ok()?.extract::<u64>().ok()?;
        if Path::new(&file).ends_with(source) || place.is_none() {
            place = Some(format!("{file}:{line}"));
        }
        next = frame.getattr("tb_next").ok();
    }
    place
}
