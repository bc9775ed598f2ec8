package golden;

import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.streaming.api.windowing.time.Time;

/** What differs between Flink 1 and Flink 2. */
final class CepShims {
    private CepShims() {}

    static Pattern<Event, ?> within(Pattern<Event, ?> pattern, long millis) {
        return pattern.within(Time.milliseconds(millis));
    }
}
