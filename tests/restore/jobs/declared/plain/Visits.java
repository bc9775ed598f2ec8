package declared.plain;

import java.time.Duration;
import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.base.StringSerializer;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.ListTypeInfo;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.BroadcastStream;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** A job that declares its states in the usual ways. */
public final class Visits extends KeyedProcessFunction<String, Visits.Visit, Long> implements CheckpointedFunction {
    private static final long serialVersionUID = 1L;

    /** A POJO. */
    public static class Visit {
        public String user;
        public long at;

        public String getUser() {
            return user;
        }
    }

    static final MapStateDescriptor<String, Visit> RULES = new MapStateDescriptor<>("rules", Types.STRING, Types.POJO(Visit.class));
    private static final StateTtlConfig DAY =
            StateTtlConfig.newBuilder(Duration.ofDays(1)).setUpdateType(StateTtlConfig.UpdateType.OnReadAndWrite).build();
    private static final TypeInformation<Visit> TYPE = TypeInformation.of(Visit.class);

    private final ValueStateDescriptor<Visit> last = new ValueStateDescriptor<>("last", TYPE);
    private final boolean forgets;
    private transient ValueState<Long> count;
    private transient ListState<Tuple2<String, Visit>> pairs;
    private transient MapState<Integer, int[]> numbers;

    Visits(boolean forgets) {
        this.forgets = forgets;
    }

    @Override
    public void open(OpenContext context) {
        ValueStateDescriptor<Long> counting = new ValueStateDescriptor<>("count", Long.class);
        counting.enableTimeToLive(DAY);
        count = getRuntimeContext().getState(counting);
        pairs = getRuntimeContext().getListState(new ListStateDescriptor<>("pairs", new TypeHint<Tuple2<String, Visit>>() {}.getTypeInfo()));
        ValueStateDescriptor<List<Long>> maybe = new ValueStateDescriptor<>("maybe", new ListTypeInfo<>(Long.class));
        if (forgets) {
            maybe.enableTimeToLive(DAY);
        }
        getRuntimeContext().getState(maybe);
        numbers = getRuntimeContext().getMapState(
                new MapStateDescriptor<Integer, int[]>("numbers", Types.INT, (TypeInformation<int[]>) Types.PRIMITIVE_ARRAY(Types.INT)));
        getRuntimeContext().getState(last);
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        context.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("shared", StringSerializer.INSTANCE));
        context.getKeyedStateStore().getListState(new ListStateDescriptor<>("own", Types.TUPLE(Types.STRING, TYPE)));
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) {}

    @Override
    public void processElement(Visit visit, Context context, Collector<Long> out) {}

    /** The job. */
    static DataStream<Long> graph(DataStream<Visit> visits) {
        BroadcastStream<Visit> rules = visits.broadcast(RULES);
        visits.keyBy(new KeySelector<Visit, Tuple2<String, Long>>() {
            @Override
            public Tuple2<String, Long> getKey(Visit visit) {
                return Tuple2.of(visit.user, visit.at);
            }
        });
        return visits.keyBy(Visit::getUser).process(new Visits(rules == null)).uid("visits").setMaxParallelism(64);
    }
}
