package golden;

/** Registered with the serializer: written by its number. */
public class Circle extends Shape {
    public double radius;

    public Circle() {}

    public Circle(String label, double radius) {
        super(label, 0);
        this.radius = radius;
    }
}
