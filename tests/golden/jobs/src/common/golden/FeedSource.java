package golden;

import java.util.concurrent.CountDownLatch;
import org.apache.flink.streaming.api.watermark.Watermark;

/** Emits the events of each phase when it is released, says so, and idles: the snapshot is taken behind the last one. */
public class FeedSource implements LegacySource<Event> {
    private static final long serialVersionUID = 1L;

    /** Counted down by every source of the running job, which lives in this JVM. */
    static volatile CountDownLatch emitted;

    /** The phase up to which sources may emit. */
    static volatile int released;

    private final String feed;
    private final int firstPhase;
    private final int lastPhase;
    private volatile boolean running = true;

    public FeedSource(String feed, int firstPhase, int lastPhase) {
        this.feed = feed;
        this.firstPhase = firstPhase;
        this.lastPhase = lastPhase;
    }

    @Override
    public void run(SourceContext<Event> context) throws Exception {
        for (int phase = firstPhase; running && phase <= lastPhase; Thread.sleep(10)) {
            if (phase <= released) {
                emit(context, phase++);
                emitted.countDown();
            }
        }
        idle();
    }

    final void idle() throws InterruptedException {
        while (running) {
            Thread.sleep(10);
        }
    }

    final void emit(SourceContext<Event> context, int phase) {
        synchronized (context.getCheckpointLock()) {
            for (Event event : Feeds.events(feed, phase)) {
                context.collectWithTimestamp(event, event.ts);
            }
            Long watermark = Feeds.watermark(feed, phase);
            if (watermark != null) {
                context.emitWatermark(new Watermark(watermark));
            }
        }
    }

    @Override
    public void cancel() {
        running = false;
    }
}
