package golden;

import java.util.concurrent.CountDownLatch;

/** Emits the events of one phase, says so, and idles: the snapshot is taken behind the last event. */
public class FeedSource implements LegacySource<Event> {
    private static final long serialVersionUID = 1L;

    /** Counted down by every source of the running job, which lives in this JVM. */
    static volatile CountDownLatch emitted;

    private final String feed;
    private final int phase;
    private volatile boolean running = true;

    public FeedSource(String feed, int phase) {
        this.feed = feed;
        this.phase = phase;
    }

    @Override
    public void run(SourceContext<Event> context) throws Exception {
        synchronized (context.getCheckpointLock()) {
            for (Event event : Feeds.events(feed, phase)) {
                context.collectWithTimestamp(event, event.ts);
            }
        }
        emitted.countDown();
        while (running) {
            Thread.sleep(20);
        }
    }

    @Override
    public void cancel() {
        running = false;
    }
}
