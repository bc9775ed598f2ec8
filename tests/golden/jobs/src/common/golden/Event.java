package golden;

import java.io.Serializable;
import java.util.Objects;

/** What the sources emit: the only input of every job. */
public class Event implements Serializable {
    private static final long serialVersionUID = 1L;

    /** Running number over all phases. */
    public long number;

    /** 1 for the first run, 2 for the run that was restored from its snapshot. */
    public int phase;

    public String name;

    /** May be null. */
    public String text;

    /** Event time, epoch milliseconds. */
    public long ts;

    public Event() {}

    public Event(long number, int phase, String name, String text, long ts) {
        this.number = number;
        this.phase = phase;
        this.name = name;
        this.text = text;
        this.ts = ts;
    }

    @Override
    public boolean equals(Object other) {
        if (!(other instanceof Event)) {
            return false;
        }
        Event that = (Event) other;
        return number == that.number && phase == that.phase && ts == that.ts
                && Objects.equals(name, that.name) && Objects.equals(text, that.text);
    }

    @Override
    public int hashCode() {
        return Objects.hash(number, phase, name, text, ts);
    }
}
