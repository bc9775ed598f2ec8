package golden;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;

/** Functions of windowed operators, and the model of windows that no watermark has closed. */
final class Windows {
    private Windows() {}

    static final String CONTENTS = "window-contents";

    /** Keeps all elements of a window; never fires. */
    static final class Keep<W extends Window> extends ProcessWindowFunction<Event, Void, String, W> {
        private static final long serialVersionUID = 1L;

        @Override
        public void process(String key, Context context, Iterable<Event> events, Collector<Void> out) {
            throw new IllegalStateException("no window closes");
        }
    }

    /** Does nothing when a window fires. */
    static final class Drop<W extends Window> extends ProcessWindowFunction<Event, Void, String, W> {
        private static final long serialVersionUID = 1L;

        @Override
        public void process(String key, Context context, Iterable<Event> events, Collector<Void> out) {}
    }

    /** Number and sum of the events of a window. */
    static final class CountAndSum implements AggregateFunction<Event, Tuple2<Integer, Long>, Long> {
        private static final long serialVersionUID = 1L;

        @Override
        public Tuple2<Integer, Long> createAccumulator() {
            return Tuple2.of(0, 0L);
        }

        @Override
        public Tuple2<Integer, Long> add(Event event, Tuple2<Integer, Long> accumulator) {
            return Tuple2.of(accumulator.f0 + 1, accumulator.f1 + event.number);
        }

        @Override
        public Long getResult(Tuple2<Integer, Long> accumulator) {
            return accumulator.f1;
        }

        @Override
        public Tuple2<Integer, Long> merge(Tuple2<Integer, Long> a, Tuple2<Integer, Long> b) {
            return Tuple2.of(a.f0 + b.f0, a.f1 + b.f1);
        }
    }

    /** Tumbling windows (slide equal to size) and sliding ones, with the timer that will close each. */
    static <A> List<Model.State> aligned(
            String kind, long size, long slide, List<Event> events, Function<Event, Object> key,
            A initial, BiFunction<A, Event, A> fold) {
        Map<Tuple2<Object, TimeWindow>, A> contents = new LinkedHashMap<>();
        for (Event event : events) {
            for (long start = Math.floorDiv(event.ts, slide) * slide; start > event.ts - size; start -= slide) {
                Tuple2<Object, TimeWindow> at = Tuple2.of(key.apply(event), new TimeWindow(start, start + size));
                contents.put(at, fold.apply(contents.getOrDefault(at, initial), event));
            }
        }
        Model.State state = new Model.State(CONTENTS, kind);
        Model.State timers = new Model.State("_timer_state/event_window-timers", "TIMERS");
        contents.forEach((at, value) -> {
            state.rows.add(new Model.Row(at.f0, at.f1, value));
            timers.rows.add(new Model.Row(at.f0, at.f1, at.f1.getEnd() - 1));
        });
        List<Model.State> out = new ArrayList<>();
        out.add(state);
        out.add(timers);
        out.add(new Model.State("_timer_state/processing_window-timers", "TIMERS"));
        return out;
    }

    /**
     * Session windows of events that come in order of time: a session's contents stay under the window that its first
     * event opened, and a state of its own maps the session to that window.
     */
    static <A> List<Model.State> sessions(
            String kind, long gap, List<Event> events, A initial, BiFunction<A, Event, A> fold) {
        return sessions(kind, gap, events, initial, fold, phase -> null);
    }

    /** The same with a watermark behind each phase, which closes sessions. */
    static <A> List<Model.State> sessions(
            String kind, long gap, List<Event> events, A initial, BiFunction<A, Event, A> fold,
            IntFunction<Long> watermarks) {
        Map<String, Map<TimeWindow, TimeWindow>> merging = new LinkedHashMap<>();
        Map<Tuple2<String, TimeWindow>, A> contents = new LinkedHashMap<>();
        int phase = 1;
        for (Event event : events) {
            for (; phase < event.phase; phase++) {
                close(merging, contents, watermarks.apply(phase));
            }
            // Rebuilt for each event, as Flink rebuilds it: the order of its entries depends on that.
            Map<TimeWindow, TimeWindow> windows = new HashMap<>(merging.getOrDefault(event.name, new LinkedHashMap<>()));
            TimeWindow session = new TimeWindow(event.ts, event.ts + gap);
            TimeWindow home = session;
            for (TimeWindow open : new ArrayList<>(windows.keySet())) {
                if (open.getEnd() >= session.getStart()) {
                    home = windows.remove(open);
                    session = new TimeWindow(open.getStart(), session.getEnd());
                }
            }
            windows.put(session, home);
            merging.put(event.name, windows);
            Tuple2<String, TimeWindow> at = Tuple2.of(event.name, home);
            contents.put(at, fold.apply(contents.getOrDefault(at, initial), event));
        }
        close(merging, contents, watermarks.apply(phase));
        Model.State state = new Model.State(CONTENTS, kind);
        contents.forEach((at, value) -> state.rows.add(new Model.Row(at.f0, at.f1, value)));
        Model.State sets = new Model.State("merging-window-set", "LIST");
        sets.unordered = true;
        Model.State timers = new Model.State("_timer_state/event_window-timers", "TIMERS");
        merging.forEach((name, windows) -> {
            List<Object> pairs = new ArrayList<>();
            windows.forEach((session, home) -> {
                pairs.add(Tuple2.of(session, home));
                timers.rows.add(new Model.Row(name, session, session.getEnd() - 1));
            });
            sets.rows.add(new Model.Row(name, null, pairs));
        });
        List<Model.State> out = new ArrayList<>();
        out.add(state);
        out.add(sets);
        out.add(timers);
        out.add(new Model.State("_timer_state/processing_window-timers", "TIMERS"));
        return out;
    }

    private static <A> void close(
            Map<String, Map<TimeWindow, TimeWindow>> merging, Map<Tuple2<String, TimeWindow>, A> contents,
            Long watermark) {
        if (watermark == null) {
            return;
        }
        merging.forEach((name, windows) -> windows.entrySet().removeIf(entry -> {
            boolean closed = entry.getKey().maxTimestamp() <= watermark;
            if (closed) {
                contents.remove(Tuple2.of(name, entry.getValue()));
            }
            return closed;
        }));
        merging.values().removeIf(Map::isEmpty);
    }

    static List<Event> append(List<Event> events, Event event) {
        List<Event> out = new ArrayList<>(events);
        out.add(event);
        return out;
    }
}
