package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.STRING;
import static org.apache.flink.api.common.typeinfo.Types.TUPLE;

import java.util.Collections;
import java.util.List;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;

/** Every kind of keyed state, with and without TTL, timers, and list and union operator state. */
final class KindsJob extends StatesJob {
    KindsJob() {
        super("kinds", "events");
    }

    @Override
    List<OperatorSpec> operators() {
        TypeInformation<Event> event = Types.POJO(Event.class);
        return Collections.singletonList(new OperatorSpec("all-kinds", "all kinds by name", STRING, e -> e.name,
                StateSpec.<Long>value("value-long", LONG, e -> e.number),
                StateSpec.<String>value("value-string", STRING, e -> e.text),
                StateSpec.<Tuple2<Integer, String>>value(
                        "value-tuple", TUPLE(INT, STRING), e -> Tuple2.of((int) -e.number, e.name)),
                StateSpec.<Event>value("value-event", event, e -> e),
                StateSpec.<Integer>list("list-int", INT, e -> e.number % 4 == 3 ? null : (int) (e.number * 100_000)),
                StateSpec.<String>list("list-string", STRING, e -> e.text),
                StateSpec.<Event>list("list-event", event, e -> e.number % 3 == 0 ? e : null),
                StateSpec.<String, Long>map("map-long", STRING, LONG, e -> StateSpec.entry("" + e.text, e.number)),
                StateSpec.<Integer, Tuple2<String, Long>>map("map-tuple", INT, TUPLE(STRING, LONG),
                        e -> StateSpec.entry((int) (e.number % 7), Tuple2.of(e.name, e.ts))),
                StateSpec.<Long, String>map("map-null-values", LONG, STRING,
                        e -> StateSpec.entry(e.number % 5, e.number % 2 == 0 ? null : e.text)),
                StateSpec.<Integer, Integer>map("map-sometimes-empty", INT, INT,
                        e -> e.name.length() % 3 == 0 ? Collections.emptyMap() : StateSpec.entry((int) e.number % 3, 1)),
                StateSpec.<Long>reducing("reducing-sum", LONG, e -> e.number, Long::sum),
                StateSpec.<String>reducing(
                        "reducing-greatest", STRING, e -> e.text, (a, b) -> a.compareTo(b) >= 0 ? a : b),
                StateSpec.<Tuple2<Long, Double>>aggregating("aggregating-mean", TUPLE(LONG, Types.DOUBLE),
                        Tuple2.of(0L, 0.0), (a, e) -> Tuple2.of(a.f0 + 1, a.f1 + e.number / 4.0)),
                StateSpec.<Tuple3<String, Integer, Boolean>>aggregating("aggregating-texts",
                        TUPLE(STRING, INT, Types.BOOLEAN), Tuple3.of("", 0, true),
                        (a, e) -> Tuple3.of(e.text == null ? a.f0 : e.text, a.f1 + e.name.length(), !a.f2)),
                StateSpec.<Long>value("ttl-value", LONG, e -> -e.number).withTtl(),
                StateSpec.<String>list("ttl-list", STRING, e -> e.text).withTtl(),
                StateSpec.<String, Long>map("ttl-map", STRING, LONG, e -> StateSpec.entry("" + e.text, e.ts)).withTtl(),
                StateSpec.<Long>reducing("ttl-reducing", LONG, e -> e.number, Long::max).withTtl(),
                StateSpec.<Tuple2<Long, Long>>aggregating("ttl-aggregating", TUPLE(LONG, LONG),
                        Tuple2.of(0L, 0L), (a, e) -> Tuple2.of(a.f0 + 1, a.f1 + e.number)).withTtl())
                .withTimers(StatesFunction::eventTimers, StatesFunction::processingTimers)
                .withOperatorStates());
    }
}
