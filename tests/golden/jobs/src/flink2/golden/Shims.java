package golden;

import java.time.Duration;
import java.util.Set;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

/** What differs between Flink 1 and Flink 2. */
final class Shims {
    private Shims() {}

    static StateTtlConfig ttl(Duration time) {
        return StateTtlConfig.newBuilder(time).build();
    }

    static TumblingEventTimeWindows tumbling(long millis) {
        return TumblingEventTimeWindows.of(Duration.ofMillis(millis));
    }

    static SlidingEventTimeWindows sliding(long size, long slide) {
        return SlidingEventTimeWindows.of(Duration.ofMillis(size), Duration.ofMillis(slide));
    }

    static EventTimeSessionWindows sessions(long gap) {
        return EventTimeSessionWindows.withGap(Duration.ofMillis(gap));
    }

    /** A serializer of its own, with the jobs' registered subclass. */
    static <T> TypeSerializer<T> serializer(TypeInformation<T> type) {
        SerializerConfigImpl config = new SerializerConfigImpl();
        config.registerPojoType(Circle.class);
        config.setGenericTypes(false);
        return type.createSerializer(config);
    }

    static <T> TypeInformation<Set<T>> set(TypeInformation<T> element) {
        return Types.SET(element);
    }
}
