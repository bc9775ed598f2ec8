package golden;

import static org.apache.flink.api.common.typeinfo.Types.INT;
import static org.apache.flink.api.common.typeinfo.Types.VOID;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/** Patterns in event time: matches that have begun, and events that wait for the watermark. */
final class CepJob implements Job {
    private static final String FEED = "cep";

    /** Milliseconds from the first to the last event of a relaxed match. */
    private static final long WITHIN = 7_000;

    /** Later versions forget where no match has begun, and maps without entries. */
    private static final boolean KEEPS_ALL = EnvironmentInformation.getVersion().startsWith("1.17.");

    private static final String[] STRICT = {"first", "second", "third"};
    private static final String[] RELAXED = {"start", "end"};

    /** The letters of each key's events. The watermark passes six of them. */
    private static final String[] LETTERS = {"abcxabca", "xxabcabx", "aabxbcab"};

    private static int key(Event event) {
        return (int) (event.number % LETTERS.length);
    }

    private static char letter(Event event) {
        return LETTERS[key(event)].charAt((int) (event.number / LETTERS.length));
    }

    private static SimpleCondition<Event> is(char letter) {
        return SimpleCondition.of(event -> letter(event) == letter);
    }

    @Override
    public void build(StreamExecutionEnvironment env, Case options) {
        KeyedStream<Event, Integer> events = StatesJob.source(env, FEED, options).keyBy(CepJob::key, INT);
        Pattern<Event, ?> strict = Pattern.<Event>begin(STRICT[0]).where(is('a'))
                .next(STRICT[1]).where(is('b'))
                .next(STRICT[2]).where(is('c'));
        CEP.pattern(events, strict).process(new Drop(), VOID).uid("strict").name("strict");
        Pattern<Event, ?> relaxed = Pattern.<Event>begin(RELAXED[0]).where(is('a'))
                .followedBy(RELAXED[1]).where(is('z'));
        CEP.pattern(events, CepShims.within(relaxed, WITHIN)).process(new Drop(), VOID).uid("relaxed").name("relaxed");
    }

    private static final class Drop extends PatternProcessFunction<Event, Void> {
        private static final long serialVersionUID = 1L;

        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Void> out) {}
    }

    @Override
    public List<Model.Operator> model(Case options) {
        return Arrays.asList(
                new Model.Operator(FEED, "Source: " + FEED, 1),
                new Held("strict", STRICT).operator(options),
                new Held("relaxed", RELAXED).operator(options));
    }

    /** What an operator holds, found by matching each key's events with the pattern. */
    private static final class Held {
        private final String name;
        private final String[] stages;
        private final Model.State nfa = new Model.State("nfaStateName", "VALUE");
        private final Model.State queue = new Model.State("eventQueuesStateName", "MAP");
        private final Model.State events = new Model.State("sharedBuffer-events", "MAP");
        private final Model.State entries = new Model.State("sharedBuffer-entries-with-lockable-edges", "MAP");
        private final Model.State counts = new Model.State("sharedBuffer-events-count", "MAP");
        private final Model.State timers = new Model.State("_timer_state/event_watermark-callbacks", "TIMERS");

        Held(String name, String[] stages) {
            this.name = name;
            this.stages = stages;
        }

        Model.Operator operator(Case options) {
            long watermark = Feeds.watermark(FEED, options.phase());
            for (int key = 0; key < LETTERS.length; key++) {
                List<Event> seen = new ArrayList<>();
                Map<Object, Object> waiting = new LinkedHashMap<>();
                for (Event event : Feeds.seen(FEED, options.phase())) {
                    if (key(event) == key && event.ts <= watermark) {
                        seen.add(event);
                    } else if (key(event) == key) {
                        waiting.put(event.ts, Collections.singletonList(event));
                        timers.rows.add(new Model.Row(key, null, event.ts));
                    }
                }
                if (stages == RELAXED) {
                    windows(key, seen, watermark);
                }
                queue.rows.add(new Model.Row(key, null, waiting));
                // The number of events of each moment is forgotten when the watermark has passed it.
                counts.emptyMapRows += KEEPS_ALL ? 1 : 0;
                add(key, stages == STRICT ? strict(seen) : relaxed(seen, watermark), begun(seen));
            }
            Model.Operator out = new Model.Operator(name, name, options.parallelism);
            return out.with(Arrays.asList(nfa, queue, events, entries, counts, timers,
                    new Model.State("_timer_state/processing_watermark-callbacks", "TIMERS")));
        }

        /** Once a match has begun, each event that comes with it sets a timer for the end of a window. */
        private void windows(int key, List<Event> seen, long watermark) {
            for (int i = 0; i < seen.size(); i++) {
                if (begun(seen.subList(0, i + 1)) > 0 && seen.get(i).ts + WITHIN > watermark) {
                    timers.rows.add(new Model.Row(key, null, seen.get(i).ts + WITHIN));
                }
            }
        }

        /** Matches are numbered by their first events, from 1. */
        private static int begun(List<Event> seen) {
            return (int) seen.stream().filter(event -> letter(event) == 'a').count();
        }

        /** A match that has begun. */
        private static final class Match {
            final int number;
            final List<Event> taken = new ArrayList<>();

            Match(int number, Event first) {
                this.number = number;
                taken.add(first);
            }

            /** The version of the match when it had so many events. */
            List<Integer> version(int events) {
                List<Integer> out = new ArrayList<>(Collections.nCopies(events + 1, 0));
                out.set(0, number);
                return out;
            }
        }

        /** Begun and not broken off: at most one, with the last events. */
        private static Match strict(List<Event> seen) {
            Match open = null;
            int number = 0;
            for (Event event : seen) {
                char letter = letter(event);
                if (letter == 'a') {
                    open = new Match(++number, event);
                } else if (open != null && letter == "abc".charAt(open.taken.size())) {
                    open.taken.add(event);
                    open = open.taken.size() == 3 ? null : open;
                } else {
                    open = null;
                }
            }
            return open;
        }

        /** Nothing ends these, but time does; at most one is young enough. */
        private static Match relaxed(List<Event> seen, long watermark) {
            Match open = null;
            int number = 0;
            for (Event event : seen) {
                if (letter(event) == 'a') {
                    Match match = new Match(++number, event);
                    open = event.ts > watermark - WITHIN ? match : open;
                }
            }
            return open;
        }

        private void add(int key, Match match, int begun) {
            List<Fields> partial = new ArrayList<>();
            if (match != null) {
                int n = match.taken.size();
                Event last = match.taken.get(n - 1);
                partial.add(new Fields().with("state", stages[n]).with("previous", node(n - 1, last))
                        .with("version", match.version(n)).with("start_timestamp", match.taken.get(0).ts)
                        .with("previous_timestamp", last.ts).with("start_event", id(match.taken.get(0))));
                Map<Object, Object> held = new LinkedHashMap<>();
                Map<Object, Object> nodes = new LinkedHashMap<>();
                for (int i = 0; i < n; i++) {
                    Event event = match.taken.get(i);
                    held.put(id(event), new Fields().with("references", 1).with("element", event));
                    Fields edge = new Fields().with("target", i == 0 ? null : node(i - 1, match.taken.get(i - 1)))
                            .with("version", match.version(i));
                    nodes.put(node(i, event), new Fields().with("references", 1).with("element",
                            Collections.singletonList(new Fields().with("references", 1).with("edge", edge))));
                }
                events.rows.add(new Model.Row(key, null, held));
                entries.rows.add(new Model.Row(key, null, nodes));
            }
            partial.add(new Fields().with("state", stages[0]).with("previous", null)
                    .with("version", Collections.singletonList(begun + 1)).with("start_timestamp", -1L)
                    .with("previous_timestamp", -1L).with("start_event", null));
            if (match != null || KEEPS_ALL) {
                nfa.rows.add(new Model.Row(key, null, new Fields().with("partial_matches", partial)
                        .with("completed_matches", Collections.emptyList())));
            }
        }

        private Fields node(int stage, Event event) {
            return new Fields().with("event", id(event)).with("page", stages[stage]);
        }

        /** No two events of a key have the same time. */
        private static Fields id(Event event) {
            return new Fields().with("id", 0).with("timestamp", event.ts);
        }
    }
}
