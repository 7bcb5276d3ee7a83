package codec

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Jackson and encoding/json spell strings differently: Jackson leaves < > & / and
// U+2028 as they are, writes the digits of \u001F in capitals, and characters
// above U+FFFF as two escapes. Keys are equal when their bytes are, so it is
// Jackson's spelling that is written.

// plain reports whether in is a JSON string without an escape, of ASCII.
func plain(in string) bool {
	if len(in) < 2 || in[0] != '"' || in[len(in)-1] != '"' {
		return false
	}
	for i := 1; i < len(in)-1; i++ {
		if c := in[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func appendSpelled(dst []byte, s string) ([]byte, error) {
	if err := utf8Only(s); err != nil {
		return dst, err
	}
	dst = append(slices.Grow(dst, len(s)+2), '"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < 0x20:
			if i := bytes.IndexByte([]byte("\b\t\n\f\r"), byte(r)); i >= 0 {
				dst = append(dst, '\\', "btnfr"[i])
			} else {
				dst = fmt.Appendf(dst, `\u%04X`, r)
			}
		case r > 0xffff:
			dst = appendPair(dst, r)
		default:
			dst = append(dst, s[i:i+utf8.RuneLen(r)]...)
		}
	}
	return append(dst, '"'), nil
}

func appendPair(dst []byte, r rune) []byte {
	high, low := utf16.EncodeRune(r)
	return fmt.Appendf(dst, `\u%04X\u%04X`, high, low)
}

var errReplaced = errors.New("text that is no UTF-8")

// respell appends the JSON that encoding/json wrote as Jackson would have
// spelled it.
func respell(dst, in []byte) ([]byte, error) {
	dst = slices.Grow(dst, len(in))
	text := false
	for i := 0; i < len(in); {
		switch c := in[i]; {
		case c == '"':
			text = !text
			dst = append(dst, c)
			i++
		case c == '-' && !text && lonelyZero(in[i+1:]):
			dst = append(dst, negativeZero...)
			i += 2
		case c == '\\' && in[i+1] == 'u':
			code := string(bytes.ToUpper(in[i+2 : i+6]))
			if code == "FFFD" { // which encoding/json writes for what is no text, and only for that
				return dst, optionf("%w", errReplaced)
			}
			dst = appendCode(dst, code)
			i += 6
		case c == '\\':
			dst = append(dst, c, in[i+1])
			i += 2
		case c >= 0xf0: // the first byte of a character above U+FFFF
			r, size := utf8.DecodeRune(in[i:])
			dst = appendPair(dst, r)
			i += size
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst, nil
}

// lonelyZero reports whether in begins with the number 0.
func lonelyZero(in []byte) bool {
	return len(in) > 0 && in[0] == '0' && (len(in) == 1 || bytes.IndexByte([]byte(".eE0123456789"), in[1]) < 0)
}

func appendCode(dst []byte, code string) []byte {
	switch code {
	case "2028":
		return append(dst, "\u2028"...)
	case "2029":
		return append(dst, "\u2029"...)
	}
	return append(append(dst, `\u`...), code...)
}
