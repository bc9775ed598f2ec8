package golden;

/** Not registered: written by its class name. */
public class Square extends Shape {
    public Long width;
    public Shape inner;

    public Square() {}

    public Square(String label, Long width, Shape inner) {
        super(label, 4);
        this.width = width;
        this.inner = inner;
    }
}
