package golden;

/** Written by {@link MoneySerializer}. */
public class Money {
    public final String currency;
    public final long cents;

    public Money(String currency, long cents) {
        this.currency = currency;
        this.cents = cents;
    }
}
