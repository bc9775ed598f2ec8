package golden;

import java.time.Duration;
import org.apache.flink.cep.pattern.Pattern;

/** What differs between Flink 1 and Flink 2. */
final class CepShims {
    private CepShims() {}

    static Pattern<Event, ?> within(Pattern<Event, ?> pattern, long millis) {
        return pattern.within(Duration.ofMillis(millis));
    }
}
