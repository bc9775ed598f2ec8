package golden;

import java.util.Objects;

/** A key of several fields, one of them null at times. */
public class PojoKey {
    public int region;
    public String name;
    public Long extra;

    public PojoKey() {}

    public PojoKey(int region, String name, Long extra) {
        this.region = region;
        this.name = name;
        this.extra = extra;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PojoKey
                && region == ((PojoKey) other).region
                && Objects.equals(name, ((PojoKey) other).name)
                && Objects.equals(extra, ((PojoKey) other).extra);
    }

    @Override
    public int hashCode() {
        return Objects.hash(region, name, extra);
    }
}
