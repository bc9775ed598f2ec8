package golden;

import static org.apache.flink.api.common.typeinfo.Types.DOUBLE;
import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.TUPLE;
import static org.apache.flink.api.common.typeinfo.Types.VOID;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * State of all kinds that wins, changes and loses entries over several phases, for snapshots of every kind: elements are
 * added to lists and lists are replaced, entries of maps are removed, keys are cleared and come back, timers are deleted
 * or fire, windows close and sessions merge.
 */
final class ChangesJob extends StatesJob {
    private static final long GAP = 8_000;

    ChangesJob() {
        super("changes", "changes");
    }

    @Override
    public int sources() {
        return 2;
    }

    @Override
    List<OperatorSpec> operators() {
        return Collections.singletonList(new OperatorSpec("changing", "changing", STRING, e -> e.name,
                StateSpec.<String>value("text", STRING, e -> e.text).clearedBy(e -> e.number % 7 == 3),
                StateSpec.<Long>list("numbers", LONG, e -> e.number)
                        .clearedBy(e -> e.number % 11 == 6).replacedBy(e -> e.number % 6 == 1),
                StateSpec.<Long, String>map("texts", LONG, STRING, e -> StateSpec.entry(e.number % 6, e.text))
                        .clearedBy(e -> e.number % 13 == 7)
                        .removing(e -> e.number % 5 == 0 ? Collections.singleton((e.number + 2) % 6) : Collections.emptySet()),
                StateSpec.<Integer, Integer>map("sometimes-empty", INT, INT,
                        e -> e.name.length() % 3 == 0 ? Collections.emptyMap() : StateSpec.entry((int) e.number % 3, 1)),
                StateSpec.<Long>reducing("sum", LONG, e -> e.number, Long::sum).clearedBy(e -> e.number % 8 == 2),
                StateSpec.<Tuple2<Long, Double>>aggregating("mean", TUPLE(LONG, DOUBLE),
                        Tuple2.of(0L, -0.0), (a, e) -> Tuple2.of(a.f0 + 1, a.f1 - e.number / 4.0))
                        .clearedBy(e -> e.number % 10 == 4),
                StateSpec.<String, Long>map("ttl-map", STRING, LONG, e -> StateSpec.entry("" + e.text, e.ts))
                        .withTtl().clearedBy(e -> e.number % 12 == 9))
                .withTimers(ChangesJob::eventTimers, StatesFunction::processingTimers)
                .deletingTimers(
                        e -> set(StatesFunction.FAR + (e.number + 4) % 10, e.number % 3 == 1),
                        e -> set(StatesFunction.FAR + 1000 * (e.number % 4), e.number % 3 == 1))
                .withOperatorStates());
    }

    private static Set<Long> set(long element, boolean really) {
        return really ? Collections.singleton(element) : Collections.emptySet();
    }

    /** Those of 2100 and some that fire soon. */
    private static Set<Long> eventTimers(Event event) {
        Set<Long> out = new HashSet<>(StatesFunction.eventTimers(event));
        out.addAll(set(event.ts + 4_000, event.number % 3 == 0));
        return out;
    }

    @Override
    void more(StreamExecutionEnvironment env, DataStream<Event> events, Case options) {
        events.keyBy(e -> e.name, STRING)
                .window(Shims.sessions(GAP))
                .process(new Windows.Drop<>(), VOID)
                .uid("sessions").name("sessions");
        events.connect(source(env, "changing-rules", options).broadcast(RulesFunction.LIMITS, RulesFunction.RULES))
                .process(new ChangingRulesFunction(), VOID)
                .uid("changing-rules-join").name("changing rules join");
    }

    @Override
    public String sharedRows(Case options) {
        return "changes-" + options.phase() + ".json";
    }

    @Override
    public List<Model.Operator> model(Case options) {
        List<Event> events = Feeds.seen("changes", options.phase());
        List<Model.Operator> out = super.model(options);
        out.add(new Model.Operator("sessions", "sessions", options.parallelism).with(Windows.sessions(
                "LIST", GAP, events, Collections.emptyList(), Windows::append,
                phase -> Feeds.watermark("changes", phase))));
        out.add(new Model.Operator("changing-rules", "Source: changing-rules", 1));
        out.add(rules(options));
        return out;
    }

    private static Model.Operator rules(Case options) {
        Map<String, Long> limits = new LinkedHashMap<>();
        Map<Integer, Event> rules = new LinkedHashMap<>();
        for (Event rule : Feeds.seen("changing-rules", options.phase())) {
            if (ChangingRulesFunction.removes(rule)) {
                limits.remove(rule.name);
            } else {
                limits.put(rule.name, rule.number);
            }
            rules.put((int) rule.number % 4, rule);
        }
        Model.Operator out = new Model.Operator("changing-rules-join", "changing rules join", options.parallelism);
        for (Map<?, ?> entries : Arrays.<Map<?, ?>>asList(limits, rules)) {
            Model.OperatorState state = new Model.OperatorState(entries == limits ? "limits" : "rules", "BROADCAST");
            state.subtasks.addAll(Collections.nCopies(options.parallelism, entries));
            out.operatorStates.add(state);
        }
        return out;
    }
}
