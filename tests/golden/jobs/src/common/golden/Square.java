package golden;

/** Not registered: written by its class name. */
public class Square extends Shape {
    public Long width;
    public Address where;

    public Square() {}

    public Square(String label, Long width, Address where) {
        super(label, 4);
        this.width = width;
        this.where = where;
    }
}
