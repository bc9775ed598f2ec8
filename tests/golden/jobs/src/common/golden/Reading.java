package golden;

/** Written by {@link ReadingSerializer}. */
public class Reading {
    public final long unscaled;
    public final String unit;

    public Reading(long unscaled, String unit) {
        this.unscaled = unscaled;
        this.unit = unit;
    }
}
