package golden;

import java.math.BigDecimal;
import java.time.Instant;

/** An order in the README's example. */
public class Order {
    public enum Status {
        NEW,
        PAID,
        SHIPPED
    }

    public long id;
    public String product;
    public int quantity;
    public BigDecimal price;
    public Status status;
    public Instant placedAt;

    /** Null for most. */
    public String voucher;

    private static final String[] CUSTOMERS = {
        "alice", "bob", "carmen", "dmitri", "elif", "farid", "giulia", "hiroshi", "ines", "jonas", "kwame", "luc\u00eda",
    };
    private static final String[] PRODUCTS = {"espresso", "flat white", "croissant", "bagel", "orange juice", "tea"};
    private static final int[] CENTS = {250, 410, 320, 475, 390, 280};

    static String customer(Event event) {
        return CUSTOMERS[(int) ((event.number * 7 + event.number / 5) % CUSTOMERS.length)];
    }

    static Order of(Event event) {
        Order out = new Order();
        int product = (int) ((event.number * 5 + event.number / 7) % PRODUCTS.length);
        out.id = 1000 + event.number;
        out.product = PRODUCTS[product];
        out.quantity = (int) (1 + event.number % 3);
        out.price = BigDecimal.valueOf(CENTS[product], 2);
        out.status = event.number % 4 == 0 ? Status.SHIPPED : event.number % 4 == 1 ? Status.NEW : Status.PAID;
        out.placedAt = Instant.ofEpochMilli(event.ts);
        out.voucher = event.number % 6 == 5 ? "WELCOME-" + event.number : null;
        return out;
    }

    long cents() {
        return price.movePointRight(2).longValueExact() * quantity;
    }
}
