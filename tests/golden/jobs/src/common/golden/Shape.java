package golden;

/** Base of the POJO subclasses. */
public class Shape {
    public String label;
    public int sides;

    public Shape() {}

    public Shape(String label, int sides) {
        this.label = label;
        this.sides = sides;
    }
}
