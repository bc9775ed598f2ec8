package golden;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.flink.api.common.typeinfo.TypeInformation;

/** One keyed operator: its key and its states. */
final class OperatorSpec {
    /** Null: the job sets no uid. */
    final String uid;

    final String name;
    final TypeInformation<?> keyType;
    final Function<Event, Object> key;

    /** What expected.json shows of a key. */
    Function<Event, Object> shownKey;

    final List<StateSpec> states;
    boolean operatorStates;

    /** The timers that an event registers. */
    Function<Event, Set<Long>> eventTimers = e -> Collections.emptySet();

    Function<Event, Set<Long>> processingTimers = e -> Collections.emptySet();

    /** The timers that an event deletes, after it has registered its own. */
    Function<Event, Set<Long>> deletedEventTimers = e -> Collections.emptySet();

    Function<Event, Set<Long>> deletedProcessingTimers = e -> Collections.emptySet();

    OperatorSpec(
            String uid, String name, TypeInformation<?> keyType, Function<Event, Object> key, StateSpec... states) {
        this.uid = uid;
        this.name = name;
        this.keyType = keyType;
        this.key = key;
        this.shownKey = key;
        this.states = new ArrayList<>(Arrays.asList(states));
        this.states.removeIf(state -> state == null);
    }

    OperatorSpec showingKeys(Function<Event, Object> shown) {
        shownKey = shown;
        return this;
    }

    OperatorSpec withTimers(Function<Event, Set<Long>> event, Function<Event, Set<Long>> processing) {
        eventTimers = event;
        processingTimers = processing;
        return this;
    }

    OperatorSpec deletingTimers(Function<Event, Set<Long>> event, Function<Event, Set<Long>> processing) {
        deletedEventTimers = event;
        deletedProcessingTimers = processing;
        return this;
    }

    OperatorSpec withOperatorStates() {
        operatorStates = true;
        return this;
    }

    Model.Operator model(List<Event> events, int parallelism) {
        return model(events, parallelism, null);
    }

    /** A watermark lets the event timers up to it fire; the operators do nothing then. */
    Model.Operator model(List<Event> events, int parallelism, Long watermark) {
        Model.Operator out = new Model.Operator(uid, name, parallelism);
        for (StateSpec state : states) {
            out.states.add(state.state(shownKey, events));
        }
        out.states.addAll(StatesFunction.timerModel(this, events, watermark));
        if (operatorStates) {
            Model.OperatorState split = new Model.OperatorState("split-list", "SPLIT_DISTRIBUTE");
            Model.OperatorState union = new Model.OperatorState("union-list", "UNION");
            for (int i = 0; i < parallelism; i++) {
                split.subtasks.add(StatesFunction.splitValues(i, parallelism));
                union.subtasks.add(StatesFunction.unionValues(i));
            }
            out.operatorStates.add(split);
            out.operatorStates.add(union);
        }
        return out;
    }
}
