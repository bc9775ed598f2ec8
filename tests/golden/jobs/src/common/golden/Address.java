package golden;

/** Nested in {@link Person}. */
public class Address {
    public String street;
    public Integer number;

    public Address() {}

    public Address(String street, Integer number) {
        this.street = street;
        this.number = number;
    }
}
