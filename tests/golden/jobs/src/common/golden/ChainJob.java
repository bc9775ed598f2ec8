package golden;

import static org.apache.flink.api.common.typeinfo.Types.LONG;
import static org.apache.flink.api.common.typeinfo.Types.STRING;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;

/**
 * Some hundred keys, of which each phase but the first changes a few: those of one key group, some others, and some that are
 * new. For chains of incremental checkpoints, whose files are shared as far as nothing in them changed.
 */
final class ChainJob extends StatesJob {
    static final int KEYS = 600;
    static final int KEY_GROUPS = 12;

    private static final int FIRST = 1000;
    private static final int LATER = 24;

    ChainJob() {
        super("chain", "chain");
    }

    /** The input of a phase; its events are numbered over all phases. */
    static List<Event> events(int phase) {
        List<Event> out = new ArrayList<>();
        int first = phase == 1 ? 0 : FIRST + (phase - 2) * LATER;
        Random random = new Random(phase);
        for (int i = first; i < first + (phase == 1 ? FIRST : LATER); i++) {
            String text = i % 9 == 4 ? null : Strings.awkward(i) + " " + Long.toHexString(random.nextLong()) + Long.toHexString(random.nextLong());
            out.add(new Event(i, phase, name(i, phase, random), text, Feeds.EPOCH + i * 700L));
        }
        return out;
    }

    private static String name(int event, int phase, Random random) {
        if (phase == 1) {
            return "key-" + event % KEYS;
        }
        if (event % 8 == 0) {
            return "key-" + (event % 16 == 0 ? random.nextInt(KEYS) : KEYS + event);
        }
        String name;
        do {
            name = "key-" + random.nextInt(KEYS);
        } while (KeyGroupRangeAssignment.assignToKeyGroup(name, KEY_GROUPS) != phase * 5 % KEY_GROUPS);
        return name;
    }

    @Override
    List<OperatorSpec> operators() {
        return Collections.singletonList(spec());
    }

    static OperatorSpec spec() {
        return new OperatorSpec("chained", "chained", STRING, e -> e.name,
                StateSpec.<String>value("text", STRING, e -> e.text).clearedBy(e -> e.number % 7 == 3),
                StateSpec.<Long>list("numbers", LONG, e -> e.number)
                        .clearedBy(e -> e.number % 11 == 6).replacedBy(e -> e.number % 6 == 1),
                StateSpec.<Long, String>map("texts", LONG, STRING, e -> StateSpec.entry(e.number % 4, "" + e.text))
                        .clearedBy(e -> e.number % 13 == 7)
                        .removing(e -> e.number % 5 == 0 ? Collections.singleton((e.number + 2) % 4) : Collections.emptySet()),
                StateSpec.<Long>value("kept", LONG, e -> e.number).withTtl().clearedBy(e -> e.number % 12 == 9),
                StateSpec.<Long>value("expiring", LONG, e -> e.number).expiringAfter(Duration.ofSeconds(1)))
                .withTimers(ChainJob::eventTimers, e -> Collections.emptySet())
                .deletingTimers(
                        e -> e.number % 3 == 1 ? Collections.singleton(StatesFunction.FAR + (e.number + 4) % 10) : Collections.emptySet(),
                        e -> Collections.emptySet());
    }

    /** Those of 2100 and some that fire soon. */
    private static Set<Long> eventTimers(Event event) {
        return event.number % 2 == 0 ? Collections.singleton(StatesFunction.FAR + event.number % 10)
                : event.number % 3 == 0 ? Collections.singleton(event.ts + 4_000)
                : Collections.emptySet();
    }
}
