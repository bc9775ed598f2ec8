package golden;

/** The written number is the place in this list. */
public enum Color {
    RED,
    GREEN,
    BLUE,
    ULTRA_VIOLET
}
