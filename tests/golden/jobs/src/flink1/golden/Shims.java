package golden;

import java.time.Duration;
import java.util.Set;
import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.time.Time;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

/** What differs between Flink 1 and Flink 2. */
final class Shims {
    private Shims() {}

    static StateTtlConfig ttl(Duration time) {
        return StateTtlConfig.newBuilder(Time.milliseconds(time.toMillis())).build();
    }

    static TumblingEventTimeWindows tumbling(long millis) {
        return TumblingEventTimeWindows.of(org.apache.flink.streaming.api.windowing.time.Time.milliseconds(millis));
    }

    static SlidingEventTimeWindows sliding(long size, long slide) {
        return SlidingEventTimeWindows.of(
                org.apache.flink.streaming.api.windowing.time.Time.milliseconds(size),
                org.apache.flink.streaming.api.windowing.time.Time.milliseconds(slide));
    }

    static EventTimeSessionWindows sessions(long gap) {
        return EventTimeSessionWindows.withGap(org.apache.flink.streaming.api.windowing.time.Time.milliseconds(gap));
    }

    /** A serializer of its own, with the jobs' registered subclass. */
    static <T> TypeSerializer<T> serializer(TypeInformation<T> type) {
        ExecutionConfig config = new ExecutionConfig();
        config.registerPojoType(Circle.class);
        config.disableGenericTypes();
        return type.createSerializer(config);
    }

    /** Flink 1 has no serializer for sets but Kryo. */
    static <T> TypeInformation<Set<T>> set(TypeInformation<T> element) {
        return null;
    }
}
