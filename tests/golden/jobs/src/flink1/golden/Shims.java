package golden;

import java.util.Set;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.time.Time;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;

/** What differs between Flink 1 and Flink 2. */
final class Shims {
    private Shims() {}

    static StateTtlConfig ttl(long days) {
        return StateTtlConfig.newBuilder(Time.days(days)).build();
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

    /** Flink 1 has no serializer for sets but Kryo. */
    static <T> TypeInformation<Set<T>> set(TypeInformation<T> element) {
        return null;
    }
}
