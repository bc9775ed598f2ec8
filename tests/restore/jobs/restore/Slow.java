package restore;

import org.apache.flink.api.common.functions.MapFunction;

/** Lets the first numbers pass, and holds up the others. */
public final class Slow implements MapFunction<Long, Long> {
    private static final long serialVersionUID = 1L;

    @Override
    public Long map(Long number) throws InterruptedException {
        if (number >= 4) {
            Thread.sleep(20);
        }
        return number;
    }
}
