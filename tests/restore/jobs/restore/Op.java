package restore;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.ReduceFunction;
import org.apache.flink.api.common.state.BroadcastState;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ReducingState;
import org.apache.flink.api.common.state.ReducingStateDescriptor;
import org.apache.flink.api.common.state.StateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
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
    private transient ValueState value;
    private transient ListState list;
    private transient MapState map;
    private transient ReducingState reducing;
    private transient BroadcastState broadcast;

    Op(Spec spec, boolean writes) {
        this.spec = spec;
        this.writes = writes;
    }

    private <D extends StateDescriptor<?, ?>> D lasting(D descriptor) {
        if (spec.ttlHours() > 0) {
            descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofHours(spec.ttlHours())).build());
        }
        return descriptor;
    }

    @Override
    public void open(OpenContext context) {
        TypeInformation type = spec.type();
        if (spec.kind().equals("value")) {
            value = getRuntimeContext().getState(lasting(new ValueStateDescriptor(spec.name(), type)));
        } else if (spec.kind().equals("list")) {
            list = getRuntimeContext().getListState(lasting(new ListStateDescriptor(spec.name(), type)));
        } else if (spec.kind().equals("map")) {
            map = getRuntimeContext().getMapState(lasting(new MapStateDescriptor(spec.name(), spec.userKey(), type)));
        } else if (spec.kind().equals("reducing")) {
            ReduceFunction<Object> last = (before, after) -> after;
            reducing = getRuntimeContext().getReducingState(lasting(new ReducingStateDescriptor(spec.name(), last, type)));
        }
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        ListStateDescriptor elements = new ListStateDescriptor(spec.name(), spec.type());
        if (spec.kind().equals("oplist")) {
            list = context.getOperatorStateStore().getListState(elements);
        } else if (spec.kind().equals("union")) {
            list = context.getOperatorStateStore().getUnionListState(elements);
        } else if (spec.kind().equals("broadcast")) {
            broadcast = context.getOperatorStateStore()
                    .getBroadcastState(new MapStateDescriptor(spec.name(), spec.userKey(), spec.type()));
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
        if (value != null) {
            value.update(spec.value(i));
        } else if (list != null) {
            list.add(spec.value(i));
        } else if (map != null) {
            map.put(spec.userKeyOf(i), spec.value(i));
        } else if (reducing != null) {
            reducing.add(spec.value(i));
        } else if (broadcast != null) {
            broadcast.put(spec.userKeyOf(i), spec.value(i));
        }
    }

    /** What belongs to a key, of operator state an element for each. If the new job has values, what it reads of them again. */
    private String read(int i) throws Exception {
        if (value != null) {
            String found = Show.of(value.value());
            if (spec.value(i) == null) {
                return found;
            }
            value.update(spec.value(i));
            return found + " wrote " + Show.of(spec.value(i)) + " read " + Show.of(value.value());
        }
        if (reducing != null) {
            return Show.of(reducing.get());
        }
        List<String> found = new ArrayList<>();
        if (list != null) {
            for (Object element : (Iterable) list.get()) {
                found.add(Show.of(element));
            }
        } else if (map != null || broadcast != null) {
            for (Object entry : map != null ? map.entries() : broadcast.entries()) {
                found.add(Show.of(((Map.Entry) entry).getValue()));
            }
        }
        found.sort(null);
        if (spec.kind().startsWith("op") || spec.kind().equals("union") || spec.kind().equals("broadcast")) {
            return found.size() > i ? found.get(i) : "null";
        }
        return found.isEmpty() ? "null" : String.join(" ", found);
    }
}
