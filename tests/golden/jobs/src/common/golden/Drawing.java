package golden;

/** Has a field whose values are of several classes. */
public class Drawing {
    public String title;
    public Shape main;
    public Shape spare;

    public Drawing() {}

    public Drawing(String title, Shape main, Shape spare) {
        this.title = title;
        this.main = main;
        this.spare = spare;
    }
}
