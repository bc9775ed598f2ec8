package golden;

import static org.apache.flink.api.common.typeinfo.Types.DOUBLE;
import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.TUPLE;

import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Keys of several types, an operator without uid, and broadcast state. */
final class KeysJob extends StatesJob {
    KeysJob() {
        super("keys", "small");
    }

    @Override
    public int sources() {
        return 2;
    }

    @Override
    List<OperatorSpec> operators() {
        return Arrays.asList(
                new OperatorSpec(null, "by long without uid", LONG, e -> (e.number % 13 - 4) * 1_000_000_007_000L,
                        StateSpec.<Double>value("last-third", DOUBLE, e -> e.number / 3.0),
                        StateSpec.<Long, byte[]>map("bytes", LONG, Types.PRIMITIVE_ARRAY(Types.BYTE),
                                e -> StateSpec.entry(-e.number, Strings.bytes((int) (e.number % 5)))))
                        .withTimers(StatesFunction::eventTimers, e -> Collections.emptySet()),
                new OperatorSpec("by-tuple", "by tuple", TUPLE(INT, STRING),
                        e -> Tuple2.of((int) (e.number % 3) - 1, e.name),
                        StateSpec.<Long>reducing("sum", LONG, e -> e.number, Long::sum)),
                new OperatorSpec("by-pojo", "by POJO", Types.POJO(PojoKey.class),
                        e -> new PojoKey((int) (e.number % 2), e.text == null ? null : e.name, e.number % 4 == 0 ? null : e.number % 4),
                        StateSpec.<Long>list("numbers", LONG, e -> e.number)));
    }

    @Override
    void more(StreamExecutionEnvironment env, DataStream<Event> events, Case options) {
        DataStream<Event> rules = source(env, "rules", options);
        events.keyBy(e -> e.name, STRING)
                .connect(rules.broadcast(RulesFunction.LIMITS, RulesFunction.RULES))
                .process(new RulesFunction(), Types.VOID)
                .name("rules join")
                .uid("rules-join");
    }

    @Override
    public List<Model.Operator> model(Case options) {
        List<Model.Operator> out = super.model(options);
        out.add(new Model.Operator("rules", "Source: rules", 1));
        Model.Operator join = new Model.Operator("rules-join", "rules join", options.parallelism);
        Map<String, Long> counts = new LinkedHashMap<>();
        Feeds.seen("small", options.phase()).forEach(event -> counts.merge(event.name, 1L, Long::sum));
        Model.State count = new Model.State("count", "VALUE");
        counts.forEach((name, n) -> count.rows.add(new Model.Row(name, null, n)));
        join.states.add(count);
        join.states.add(new Model.State("_timer_state/event_user-timers", "TIMERS"));
        join.states.add(new Model.State("_timer_state/processing_user-timers", "TIMERS"));
        Map<String, Long> limits = new LinkedHashMap<>();
        Map<Integer, Event> rules = new LinkedHashMap<>();
        for (Event rule : Feeds.seen("rules", options.phase())) {
            limits.put(rule.name, rule.number);
            rules.put((int) rule.number % 4, rule);
        }
        Model.OperatorState first = new Model.OperatorState("limits", "BROADCAST");
        Model.OperatorState second = new Model.OperatorState("rules", "BROADCAST");
        for (int i = 0; i < options.parallelism; i++) {
            first.subtasks.add(limits);
            second.subtasks.add(rules);
        }
        join.operatorStates.add(first);
        join.operatorStates.add(second);
        out.add(join);
        return out;
    }
}
