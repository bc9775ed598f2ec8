package declared.hidden;

/** Sets a field of another class, and has nothing of Flink's. */
final class Other {
    private Other() {}

    static void set() {
        Base.shared = Integer.class;
    }
}
