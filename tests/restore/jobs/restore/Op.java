package restore;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.State;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Has the state of a spec: writes it for the keys 0 to 3, or reads it. */
@SuppressWarnings({"unchecked", "rawtypes"})
public final class Op extends KeyedProcessFunction<Object, Long, Long> implements CheckpointedFunction {
    private static final long serialVersionUID = 1L;

    /** What the running job wrote or read by key. It lives in this JVM. */
    static final Map<Integer, String> SEEN = new TreeMap<>();

    private final Spec spec;
    private final boolean writes;
    private transient State state;
    private transient boolean ofOperator;

    Op(Spec spec, boolean writes) {
        this.spec = spec;
        this.writes = writes;
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        state = spec.state(context.getOperatorStateStore());
        ofOperator = state != null;
    }

    @Override
    public void open(OpenContext context) throws Exception {
        if (!ofOperator) {
            state = spec.state(getRuntimeContext());
        }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) {}

    @Override
    public void processElement(Long number, Context context, Collector<Long> out) throws Exception {
        int i = (int) (number % 4);
        synchronized (SEEN) {
            if (!SEEN.containsKey(i)) {
                if (writes) {
                    write(i);
                }
                SEEN.put(i, writes ? Show.of(spec.value(i)) : read(i));
            }
        }
    }

    private void write(int i) throws Exception {
        if (state instanceof ValueState) {
            ((ValueState) state).update(spec.value(i));
        } else if (state instanceof ReducingState) {
            ((ReducingState) state).add(spec.value(i));
        } else if (state instanceof ListState) {
            ((ListState) state).add(spec.value(i));
        } else if (state instanceof MapState) {
            ((MapState) state).put(spec.userKeyOf(i), spec.value(i));
        } else if (state instanceof BroadcastState) {
            ((BroadcastState) state).put(spec.userKeyOf(i), spec.value(i));
        }
    }

    /** What belongs to a key, of operator state an element for each. If the new job has values, what it reads of them again. */
    private String read(int i) throws Exception {
        if (state instanceof ValueState) {
            ValueState value = (ValueState) state;
            String found = Show.of(value.value());
            if (spec.value(i) == null) {
                return found;
            }
            value.update(spec.value(i));
            return found + " wrote " + Show.of(spec.value(i)) + " read " + Show.of(value.value());
        }
        if (state instanceof ReducingState) {
            return Show.of(((ReducingState) state).get());
        }
        List<String> found = new ArrayList<>();
        if (state instanceof ListState) {
            for (Object element : (Iterable) ((ListState) state).get()) {
                found.add(Show.of(element));
            }
        } else if (state != null) {
            for (Object entry : state instanceof MapState ? ((MapState) state).entries() : ((BroadcastState) state).entries()) {
                found.add(Show.of(((Map.Entry) entry).getValue()));
            }
        }
        found.sort(null);
        if (ofOperator) {
            return found.size() > i ? found.get(i) : "null";
        }
        return found.isEmpty() ? "null" : String.join(" ", found);
    }
}
