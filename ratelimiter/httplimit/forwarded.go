package httplimit

import (
	"iter"
	"net/http"
	"slices"
	"strings"
)

// forwardedFor returns the addresses in Forwarded, from the last on, as
// [forwardedForX] has them. A line in which a quote does not end is an address
// that cannot be read as a whole: a client could have opened it to hide what
// the proxy wrote behind it.
func forwardedFor(h http.Header) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range slices.Backward(h.Values("Forwarded")) {
			elements, ok := splitUnquoted(line, ',')
			if !ok {
				yield(line)
				return
			}
			for _, e := range slices.Backward(elements) {
				if e != "" && !yield(forOf(e)) {
					return
				}
			}
		}
	}
}

// splitUnquoted splits at a separator that does not stand between quotes, and
// reports whether the last of those is closed.
func splitUnquoted(s string, separator byte) (parts []string, closed bool) {
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == separator && !quoted:
			parts = append(parts, strings.Trim(s[start:i], " \t"))
			start = i + 1
		}
	}
	return append(parts, strings.Trim(s[start:], " \t")), !quoted
}

// forOf returns the parameter "for" of an element, or the element itself, which is no
// address, if it has not exactly one.
func forOf(element string) string {
	found, times := "", 0
	pairs, _ := splitUnquoted(element, ';')
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if strings.EqualFold(name, "for") {
			if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1] // an address needs no escapes: with some it is refused later
			}
			found, times = value, times+1
		}
	}
	if times != 1 {
		return element
	}
	return found
}
