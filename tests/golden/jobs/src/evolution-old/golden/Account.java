package golden;

/** As the first run knows it. */
public class Account {
    public String owner;
    public int visits;

    /** Gone in the second run. */
    public Long legacy;

    public String note;

    static Account of(Event event) {
        Account out = new Account();
        out.owner = event.name;
        out.visits = (int) event.number;
        out.legacy = event.number % 2 == 0 ? null : event.ts;
        out.note = event.text;
        return out;
    }
}
