package golden;

import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.VOID;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.v2.ListState;
import org.apache.flink.api.common.state.v2.ListStateDescriptor;
import org.apache.flink.api.common.state.v2.MapState;
import org.apache.flink.api.common.state.v2.MapStateDescriptor;
import org.apache.flink.api.common.state.v2.StateDescriptor;
import org.apache.flink.api.common.state.v2.ValueState;
import org.apache.flink.api.common.state.v2.ValueStateDescriptor;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** The job {@code chain} with asynchronous state, which ForSt keeps in its primary directory. */
final class AsyncchainJob implements Job {
    @Override
    public void build(StreamExecutionEnvironment env, Case options) {
        StatesJob.source(env, "chain", options)
                .keyBy(e -> e.name, STRING)
                .enableAsyncState()
                .process(new Fill(), VOID)
                .name("chained")
                .uid("chained");
    }

    static final class Fill extends KeyedProcessFunction<String, Event, Void> {
        private static final long serialVersionUID = 1L;

        private transient ValueState<String> text;
        private transient ListState<Long> numbers;
        private transient MapState<Long, String> texts;
        private transient ValueState<Long> kept;
        private transient ValueState<Long> expiring;
        private transient OperatorSpec spec;

        @Override
        public void open(OpenContext context) {
            spec = ChainJob.spec();
            text = getRuntimeContext().getState(new ValueStateDescriptor<>("text", STRING));
            numbers = getRuntimeContext().getListState(new ListStateDescriptor<>("numbers", LONG));
            texts = getRuntimeContext().getMapState(new MapStateDescriptor<>("texts", LONG, STRING));
            kept = getRuntimeContext().getState(living(new ValueStateDescriptor<>("kept", LONG), Duration.ofDays(10_000)));
            expiring = getRuntimeContext().getState(living(new ValueStateDescriptor<>("expiring", LONG), Duration.ofSeconds(1)));
        }

        private static <D extends StateDescriptor<?>> D living(D descriptor, Duration time) {
            descriptor.enableTimeToLive(Shims.ttl(time));
            return descriptor;
        }

        @Override
        public void processElement(Event event, Context context, Collector<Void> out) {
            if (spec.states.get(0).cleared.test(event)) {
                text.asyncClear();
            } else if (event.text != null) {
                text.asyncUpdate(event.text);
            }
            StateSpec list = spec.states.get(1);
            if (list.cleared.test(event)) {
                numbers.asyncClear();
            } else if (list.replaced.test(event)) {
                numbers.asyncUpdate(List.of(event.number));
            } else {
                numbers.asyncAdd(event.number);
            }
            StateSpec map = spec.states.get(2);
            if (map.cleared.test(event)) {
                texts.asyncClear();
            } else {
                texts.asyncPut(event.number % 4, "" + event.text);
                map.removed.apply(event).forEach(key -> texts.asyncRemove((Long) key));
            }
            if (spec.states.get(3).cleared.test(event)) {
                kept.asyncClear();
            } else {
                kept.asyncUpdate(event.number);
            }
            expiring.asyncUpdate(event.number);
            spec.eventTimers.apply(event).forEach(context.timerService()::registerEventTimeTimer);
            spec.deletedEventTimers.apply(event).forEach(context.timerService()::deleteEventTimeTimer);
        }
    }

    @Override
    public List<Model.Operator> model(Case options) {
        List<Model.Operator> out = new ArrayList<>();
        out.add(new Model.Operator("chain", "Source: chain", 1));
        out.add(ChainJob.spec().model(
                Feeds.seen("chain", options.phase()), options.parallelism, Feeds.watermark("chain", options.phase())));
        return out;
    }
}
