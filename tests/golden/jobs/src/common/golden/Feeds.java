package golden;

import java.util.ArrayList;
import java.util.List;

/** The input of all jobs, by name of the feed. */
final class Feeds {
    private Feeds() {}

    /** 2023-11-14T22:13:20Z. */
    static final long EPOCH = 1_700_000_000_000L;

    static List<Event> events(String feed, int phase) {
        List<Event> out = new ArrayList<>();
        if (feed.equals("chain")) {
            return ChainJob.events(phase);
        }
        int first = 0;
        for (int p = 1; p < phase; p++) {
            first += size(feed, p);
        }
        for (int i = first; i < first + size(feed, phase); i++) {
            String text = feed.equals("orders") || i % 9 == 4 ? null : Strings.awkward(i / 2) + (i % 3 == 0 ? i : "");
            out.add(new Event(i, phase, Strings.name(i * 5L + i / 17), text, EPOCH + i * (feed.equals("orders") ? 97_000L : 700L)));
        }
        return out;
    }

    /** Everything that the job has seen by the end of a phase. */
    static List<Event> seen(String feed, int phase) {
        List<Event> out = new ArrayList<>();
        for (int p = 1; p <= phase; p++) {
            out.addAll(events(feed, p));
        }
        return out;
    }

    /** The watermark behind a phase, or null if the feed has none. */
    static Long watermark(String feed, int phase) {
        List<Event> events = events(feed, phase);
        long last = events.get(events.size() - 1).ts;
        return feed.equals("changes") ? (Long) (last - 10_000L)
                : feed.equals("cep") || feed.equals("chain") ? (Long) (last - 4_000L)
                : null;
    }

    private static int size(String feed, int phase) {
        switch (feed) {
            case "types":
            case "cep":
                return phase == 1 ? 24 : 0;
            case "rules":
                return phase == 1 ? 12 : 5;
            case "small":
                return phase == 1 ? 40 : 15;
            case "orders":
                return 200;
            case "changes":
                return 12;
            case "changing-rules":
                return 5;
            case "shapes":
                return phase == 1 ? 200 : 0;
            default:
                return phase == 1 ? 50 : 20;
        }
    }
}
