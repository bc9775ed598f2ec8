package golden;

import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.co.CoMapFunction;

/** Counts the events of each key, of one input or of two. */
public class CountFunction implements MapFunction<Event, Void>, CoMapFunction<Event, Event, Void>, CheckpointedFunction {
    private static final long serialVersionUID = 1L;

    static final String COUNT = "count";

    private transient ValueState<Long> count;

    @Override
    public void initializeState(FunctionInitializationContext context) {
        count = context.getKeyedStateStore().getState(new ValueStateDescriptor<>(COUNT, Types.LONG));
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) {}

    @Override
    public Void map(Event event) throws Exception {
        Long before = count.value();
        count.update(before == null ? 1L : before + 1);
        return null;
    }

    @Override
    public Void map1(Event event) throws Exception {
        return map(event);
    }

    @Override
    public Void map2(Event event) throws Exception {
        return map(event);
    }
}
