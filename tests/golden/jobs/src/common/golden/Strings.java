package golden;

/** Strings that readers get wrong. */
public final class Strings {
    private Strings() {}

    static final String[] AWKWARD = {
        "plain",
        "",
        "\u00e4\u00f6\u00fc \u00df \u0131",
        "\ud83d\ude80 and \ud83d\udc69\u200d\ud83d\udcbb",
        "\ud800 alone",
        "low first \udc00\ud800",
        "\u0000 NUL \u0000",
        "\u007f\u0080\u07ff\u0800\uffff",
        "tab\tnewline\nquote\"backslash\\",
        "\u6771\u4eac\u90fd",
        repeat("abcdefghi ", 5),
    };

    static String repeat(String part, int times) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < times; i++) {
            out.append(part);
        }
        return out.toString();
    }

    static String awkward(long i) {
        return AWKWARD[(int) Math.floorMod(i, (long) AWKWARD.length)];
    }

    /** 17 names; half of them awkward. */
    static String name(long i) {
        int n = (int) Math.floorMod(i, 17L);
        return n < AWKWARD.length - 2 ? AWKWARD[n] : "name-" + n;
    }

    static byte[] bytes(int length) {
        byte[] out = new byte[length];
        for (int i = 0; i < length; i++) {
            out[i] = (byte) (i * 37 - 100);
        }
        return out;
    }
}
