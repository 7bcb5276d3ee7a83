package rueidisson.interop;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/**
 * The words of a line. Exactly one space stands between two of them, so a word may be empty. Inside a
 * word {@code +} is a space and {@code %XX} a byte; the word {@code -} alone is null, and the text "-" is
 * written {@code %2D}. Text is UTF-8.
 */
final class Wire {
    static final String NULL = "-";

    private static final String PLAIN = "-_.~:/,;=!*@#$^&()[]{}<>|'\"?";

    private Wire() {
    }

    static String encode(Object value) {
        if (value == null) {
            return NULL;
        }
        byte[] bytes = value instanceof byte[] b ? b : value.toString().getBytes(StandardCharsets.UTF_8);
        StringBuilder word = new StringBuilder();
        for (byte b : bytes) {
            encodeByte(word, b);
        }
        return word.toString().equals(NULL) ? "%2D" : word.toString();
    }

    private static void encodeByte(StringBuilder word, byte b) {
        char c = (char) (b & 0xff);
        if (c == ' ') {
            word.append('+');
        } else if (c < 0x80 && (Character.isLetterOrDigit(c) || PLAIN.indexOf(c) >= 0)) {
            word.append(c);
        } else {
            word.append(String.format("%%%02X", (int) c));
        }
    }

    /** The bytes of a word, or null. */
    static byte[] decode(String word) {
        if (word.equals(NULL)) {
            return null;
        }
        byte[] raw = word.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream out = new ByteArrayOutputStream(raw.length);
        for (int i = 0; i < raw.length; i++) {
            if (raw[i] == '%') {
                out.write(Integer.parseInt(word(raw, i + 1), 16));
                i += 2;
            } else {
                out.write(raw[i] == '+' ? ' ' : raw[i]);
            }
        }
        return out.toByteArray();
    }

    private static String word(byte[] raw, int at) {
        if (at + 2 > raw.length) {
            throw new IllegalArgumentException("a % without its two digits");
        }
        return new String(raw, at, 2, StandardCharsets.US_ASCII);
    }
}
