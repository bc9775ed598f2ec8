package golden;

import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.co.KeyedBroadcastProcessFunction;
import org.apache.flink.util.Collector;

/** Two broadcast states beside a keyed one. */
public class RulesFunction extends KeyedBroadcastProcessFunction<String, Event, Event, Void>
        implements CheckpointedFunction {
    private static final long serialVersionUID = 1L;

    static final MapStateDescriptor<String, Long> LIMITS =
            new MapStateDescriptor<>("limits", Types.STRING, Types.LONG);
    static final MapStateDescriptor<Integer, Event> RULES =
            new MapStateDescriptor<>("rules", Types.INT, Types.POJO(Event.class));

    private transient ValueState<Long> count;

    @Override
    public void initializeState(FunctionInitializationContext context) {
        count = context.getKeyedStateStore().getState(new ValueStateDescriptor<>("count", Types.LONG));
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) {}

    @Override
    public void processElement(Event event, ReadOnlyContext context, Collector<Void> out) throws Exception {
        Long before = count.value();
        count.update(before == null ? 1L : before + 1);
    }

    @Override
    public void processBroadcastElement(Event rule, Context context, Collector<Void> out) throws Exception {
        context.getBroadcastState(LIMITS).put(rule.name, rule.number);
        context.getBroadcastState(RULES).put((int) rule.number % 4, rule);
    }
}
