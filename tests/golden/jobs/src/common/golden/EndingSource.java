package golden;

/** Emits its first phase and is done; of several subtasks only the first one, the others emit nothing and go on. */
public class EndingSource extends FeedSource implements ParallelLegacySource<Event> {
    private static final long serialVersionUID = 1L;

    public EndingSource(String feed) {
        super(feed, 1, 1);
    }

    @Override
    public void run(SourceContext<Event> context) throws Exception {
        while (released < 1) {
            Thread.sleep(10);
        }
        if (StatesFunction.place()[0] > 0) {
            idle();
            return;
        }
        emit(context, 1);
        emitted.countDown();
    }
}
