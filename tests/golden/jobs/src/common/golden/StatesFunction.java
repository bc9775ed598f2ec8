package golden;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** A keyed operator with the states, timers and operator states of its {@link OperatorSpec}. */
public class StatesFunction extends KeyedProcessFunction<Object, Event, Void> implements CheckpointedFunction {
    private static final long serialVersionUID = 1L;

    private final String job;
    private final String operator;

    private transient List<StateSpec.Update> updates;
    private transient OperatorSpec spec;
    private transient ListState<String> split;
    private transient ListState<Long> union;

    public StatesFunction(String job, String operator) {
        this.job = job;
        this.operator = operator;
    }

    /** States are opened here and not in open(), whose signature differs between Flink versions. */
    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        spec = ((StatesJob) Job.of(job)).operator(operator);
        updates = new ArrayList<>();
        for (StateSpec state : spec.states) {
            updates.add(state.open(context.getKeyedStateStore()));
        }
        if (spec.operatorStates) {
            split = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("split-list", Types.STRING));
            union = context.getOperatorStateStore().getUnionListState(new ListStateDescriptor<>("union-list", Types.LONG));
        }
    }

    @Override
    public void processElement(Event event, Context context, Collector<Void> out) throws Exception {
        for (StateSpec.Update update : updates) {
            update.apply(event);
        }
        for (long timer : spec.eventTimers.apply(event)) {
            context.timerService().registerEventTimeTimer(timer);
        }
        for (long timer : spec.processingTimers.apply(event)) {
            context.timerService().registerProcessingTimeTimer(timer);
        }
        for (long timer : spec.deletedEventTimers.apply(event)) {
            context.timerService().deleteEventTimeTimer(timer);
        }
        for (long timer : spec.deletedProcessingTimers.apply(event)) {
            context.timerService().deleteProcessingTimeTimer(timer);
        }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        if (spec.operatorStates) {
            int[] place = place();
            int index = place[0];
            int parallelism = place[1];
            split.clear();
            split.addAll(splitValues(index, parallelism));
            union.clear();
            union.addAll(unionValues(index));
        }
    }

    /**
     * Subtask and parallelism. The methods that give them moved between versions; the task's thread has them in its name,
     * as in "name (2/3)#0", in all.
     */
    static int[] place() {
        String name = Thread.currentThread().getName();
        Matcher matcher = Pattern.compile("\\((\\d+)/(\\d+)\\)").matcher(name);
        if (!matcher.find()) {
            throw new IllegalStateException("no subtask in thread name " + name);
        }
        return new int[] {Integer.parseInt(matcher.group(1)) - 1, Integer.parseInt(matcher.group(2))};
    }

    static List<String> splitValues(int index, int parallelism) {
        List<String> out = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            out.add("subtask " + index + " of " + parallelism + ": " + Strings.awkward(index * 3 + i));
        }
        return out;
    }

    static List<Long> unionValues(int index) {
        List<Long> out = new ArrayList<>();
        out.add((long) index);
        out.add(-1L - index);
        return out;
    }

    /** 2100-01-01 and later. */
    static final long FAR = 4_102_444_800_000L;

    static Set<Long> eventTimers(Event event) {
        Set<Long> out = new LinkedHashSet<>();
        if (event.number % 2 == 0) {
            out.add(FAR + event.number % 10);
        }
        if (event.number % 40 == 0) {
            out.add(Long.MAX_VALUE);
        }
        return out;
    }

    static Set<Long> processingTimers(Event event) {
        Set<Long> out = new LinkedHashSet<>();
        if (event.number % 5 == 0) {
            out.add(FAR + 1000 * (event.number % 4));
        }
        return out;
    }

    /** Timers are a set: one for each key and time. */
    static List<Model.State> timerModel(OperatorSpec spec, List<Event> events, Long watermark) {
        Map<Object, Set<Long>> eventTimers = new LinkedHashMap<>();
        Map<Object, Set<Long>> processingTimers = new LinkedHashMap<>();
        for (Event event : events) {
            Object key = spec.shownKey.apply(event);
            Set<Long> eventTimes = eventTimers.computeIfAbsent(key, k -> new LinkedHashSet<>());
            eventTimes.addAll(spec.eventTimers.apply(event));
            eventTimes.removeAll(spec.deletedEventTimers.apply(event));
            Set<Long> processingTimes = processingTimers.computeIfAbsent(key, k -> new LinkedHashSet<>());
            processingTimes.addAll(spec.processingTimers.apply(event));
            processingTimes.removeAll(spec.deletedProcessingTimers.apply(event));
        }
        if (watermark != null) {
            eventTimers.values().forEach(times -> times.removeIf(time -> time <= watermark));
        }
        List<Model.State> out = new ArrayList<>();
        out.add(timers("_timer_state/event_user-timers", eventTimers));
        out.add(timers("_timer_state/processing_user-timers", processingTimers));
        return out;
    }

    private static Model.State timers(String name, Map<Object, Set<Long>> timers) {
        Model.State out = new Model.State(name, "TIMERS");
        timers.forEach((key, times) -> times.forEach(time -> out.rows.add(new Model.Row(key, null, time))));
        return out;
    }
}
