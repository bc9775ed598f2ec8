package golden;

/** As the second run knows it. */
public class Account {
    public String owner;
    public int visits;
    public String note;

    /** New; null in what the first run wrote. */
    public String email;

    /** New; 0 in what the first run wrote. */
    public double credit;

    static Account of(Event event) {
        Account out = new Account();
        out.owner = event.name;
        out.visits = (int) event.number;
        out.note = event.text;
        out.email = event.phase == 1 ? null : "user" + event.number + "@example.org";
        out.credit = event.phase == 1 ? 0 : event.number / 2.0;
        return out;
    }
}
