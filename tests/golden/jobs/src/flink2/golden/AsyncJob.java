package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.TUPLE;
import static org.apache.flink.api.common.typeinfo.Types.VOID;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.v2.AggregatingState;
import org.apache.flink.api.common.state.v2.AggregatingStateDescriptor;
import org.apache.flink.api.common.state.v2.ListState;
import org.apache.flink.api.common.state.v2.ListStateDescriptor;
import org.apache.flink.api.common.state.v2.MapState;
import org.apache.flink.api.common.state.v2.MapStateDescriptor;
import org.apache.flink.api.common.state.v2.ReducingState;
import org.apache.flink.api.common.state.v2.ReducingStateDescriptor;
import org.apache.flink.api.common.state.v2.ValueState;
import org.apache.flink.api.common.state.v2.ValueStateDescriptor;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** The asynchronous state of Flink 2 ("State V2"). */
final class AsyncJob implements Job {
    @Override
    public void build(StreamExecutionEnvironment env, Case options) {
        StatesJob.source(env, "small", options)
                .keyBy(e -> e.name, STRING)
                .enableAsyncState()
                .process(new Fill(), VOID)
                .name("asynchronous state")
                .uid("async");
    }

    static final class Fill extends KeyedProcessFunction<String, Event, Void> {
        private static final long serialVersionUID = 1L;

        private transient ValueState<Tuple2<Integer, String>> value;
        private transient ListState<String> list;
        private transient MapState<Long, String> map;
        private transient ReducingState<Long> sum;
        private transient AggregatingState<Event, Long> aggregate;
        private transient ValueState<Long> ttl;

        @Override
        public void open(OpenContext context) {
            value = getRuntimeContext().getState(new ValueStateDescriptor<>("value", TUPLE(INT, STRING)));
            list = getRuntimeContext().getListState(new ListStateDescriptor<>("list", STRING));
            map = getRuntimeContext().getMapState(new MapStateDescriptor<>("map", LONG, STRING));
            sum = getRuntimeContext().getReducingState(new ReducingStateDescriptor<>("sum", Long::sum, LONG));
            aggregate = getRuntimeContext().getAggregatingState(
                    new AggregatingStateDescriptor<>("aggregate", new Windows.CountAndSum(), TUPLE(INT, LONG)));
            ValueStateDescriptor<Long> descriptor = new ValueStateDescriptor<>("ttl-value", LONG);
            descriptor.enableTimeToLive(Shims.ttl(Duration.ofDays(10_000)));
            ttl = getRuntimeContext().getState(descriptor);
        }

        @Override
        public void processElement(Event event, Context context, Collector<Void> out) {
            value.asyncUpdate(valueOf(event));
            if (event.text != null) {
                list.asyncAdd(event.text);
            }
            map.asyncPut(event.number % 4, event.text + event.number);
            sum.asyncAdd(event.number);
            aggregate.asyncAdd(event);
            ttl.asyncUpdate(-event.number);
            for (long timer : StatesFunction.eventTimers(event)) {
                context.timerService().registerEventTimeTimer(timer);
            }
        }
    }

    private static Tuple2<Integer, String> valueOf(Event event) {
        return Tuple2.of((int) event.number, event.name);
    }

    @Override
    public List<Model.Operator> model(Case options) {
        OperatorSpec spec = new OperatorSpec("async", "asynchronous state", STRING, e -> e.name,
                StateSpec.<Tuple2<Integer, String>>value("value", TUPLE(INT, STRING), AsyncJob::valueOf),
                StateSpec.<String>list("list", STRING, e -> e.text),
                StateSpec.<Long, String>map("map", LONG, STRING, AsyncJob::entry),
                StateSpec.<Long>reducing("sum", LONG, e -> e.number, Long::sum),
                StateSpec.<Tuple2<Integer, Long>>aggregating("aggregate", TUPLE(INT, LONG), Tuple2.of(0, 0L),
                        (a, e) -> Tuple2.of(a.f0 + 1, a.f1 + e.number)),
                StateSpec.<Long>value("ttl-value", LONG, e -> -e.number).withTtl())
                .withTimers(StatesFunction::eventTimers, e -> java.util.Collections.emptySet());
        List<Model.Operator> out = new ArrayList<>();
        out.add(new Model.Operator("small", "Source: small", 1));
        out.add(spec.model(Feeds.seen("small", options.phase()), options.parallelism));
        return out;
    }

    private static Map<Long, String> entry(Event event) {
        return StateSpec.entry(event.number % 4, event.text + event.number);
    }
}
