package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.TUPLE;
import static org.apache.flink.api.common.typeinfo.Types.VOID;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.triggers.CountTrigger;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;

/** Windows that are still open: tumbling, sliding, session and global. */
final class WindowsJob implements Job {
    private static final long SIZE = 20_000;
    private static final long GAP = 9_000;

    @Override
    public void build(StreamExecutionEnvironment env, Case options) {
        KeyedStream<Event, String> events = StatesJob.source(env, "small", options).keyBy(e -> e.name, STRING);
        events.window(Shims.tumbling(SIZE)).reduce(WindowsJob::later).uid("tumbling-reduce").name("tumbling reduce");
        events.window(Shims.tumbling(SIZE))
                .process(new Windows.Keep<>(), VOID)
                .uid("tumbling-process").name("tumbling process");
        events.window(Shims.sliding(SIZE, SIZE / 2))
                .aggregate(new Windows.CountAndSum(), TUPLE(INT, LONG), LONG)
                .uid("sliding-aggregate").name("sliding aggregate");
        events.window(Shims.sessions(GAP)).reduce(WindowsJob::later).uid("session-reduce").name("session reduce");
        events.window(Shims.sessions(GAP))
                .process(new Windows.Keep<>(), VOID)
                .uid("session-process").name("session process");
        events.window(GlobalWindows.create()).trigger(CountTrigger.of(1000))
                .process(new Windows.Keep<>(), VOID)
                .uid("global-process").name("global process");
    }

    /** Keeps the later event and adds up the numbers. */
    private static Event later(Event a, Event b) {
        return new Event(a.number + b.number, b.phase, b.name, b.text, b.ts);
    }

    @Override
    public List<Model.Operator> model(Case options) {
        List<Event> events = Feeds.seen("small", options.phase());
        int p = options.parallelism;
        List<Model.Operator> out = new ArrayList<>();
        out.add(new Model.Operator("small", "Source: small", 1));
        out.add(new Model.Operator("tumbling-reduce", "tumbling reduce", p).with(Windows.aligned(
                "REDUCING", SIZE, SIZE, events, e -> e.name, (Event) null, (a, e) -> a == null ? e : later(a, e))));
        out.add(new Model.Operator("tumbling-process", "tumbling process", p).with(Windows.aligned(
                "LIST", SIZE, SIZE, events, e -> e.name, Collections.emptyList(), Windows::append)));
        out.add(new Model.Operator("sliding-aggregate", "sliding aggregate", p).with(Windows.aligned(
                "AGGREGATING", SIZE, SIZE / 2, events, e -> e.name, Tuple2.of(0, 0L),
                (a, e) -> Tuple2.of(a.f0 + 1, a.f1 + e.number))));
        out.add(new Model.Operator("session-reduce", "session reduce", p).with(Windows.sessions(
                "REDUCING", GAP, events, (Event) null, (a, e) -> a == null ? e : later(a, e))));
        out.add(new Model.Operator("session-process", "session process", p).with(Windows.sessions(
                "LIST", GAP, events, Collections.emptyList(), Windows::append)));

        Map<String, List<Event>> byName = new LinkedHashMap<>();
        for (Event event : events) {
            byName.computeIfAbsent(event.name, k -> new ArrayList<>()).add(event);
        }
        Model.State contents = new Model.State(Windows.CONTENTS, "LIST");
        Model.State count = new Model.State("count", "REDUCING");
        byName.forEach((name, all) -> {
            contents.rows.add(new Model.Row(name, GlobalWindow.get(), all));
            count.rows.add(new Model.Row(name, GlobalWindow.get(), (long) all.size()));
        });
        Model.Operator global = new Model.Operator("global-process", "global process", p);
        global.states.add(contents);
        global.states.add(count);
        global.states.add(new Model.State("_timer_state/event_window-timers", "TIMERS"));
        global.states.add(new Model.State("_timer_state/processing_window-timers", "TIMERS"));
        out.add(global);
        return out;
    }
}
