package httplimit

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HeaderFormat says which headers a response has.
type HeaderFormat int

const (
	// Draft11 is RateLimit-Policy and RateLimit of
	// draft-ietf-httpapi-ratelimit-headers-11.
	Draft11 HeaderFormat = iota
	// Legacy is X-RateLimit-Limit, the burst; X-RateLimit-Remaining; and
	// X-RateLimit-Reset, the seconds until the bucket is full again. Of
	// several limits they tell the one that has the fewest tokens left, in
	// relation to its burst; also of those that stand around each other.
	Legacy
	// None is no header but the Retry-After of a refusal.
	None
)

// String returns the name of the constant.
func (f HeaderFormat) String() string {
	switch f {
	case Draft11:
		return "Draft11"
	case Legacy:
		return "Legacy"
	case None:
		return "None"
	}
	return fmt.Sprintf("HeaderFormat(%d)", int(f))
}

// Fields returns the fields that tell a client about the limits of a report. It is for servers that are not of
// net/http: [New] sets them by itself. A report without decisions has none.
func (f HeaderFormat) Fields(decided Report) http.Header {
	h, limits := make(http.Header), slices.Clone(decided.Limits)
	for i := range limits {
		limits[i].Name = printable(limits[i].Name)
	}
	decided.Limits = limits
	f.set(h, &http.Request{}, decided)
	return h
}

// set writes the headers of the limits with known numbers.
func (f HeaderFormat) set(h http.Header, r *http.Request, decided Report) {
	known := make([]Limit, 0, len(decided.Limits))
	for _, l := range decided.Limits {
		if l.known() && !decided.unasked(l) {
			known = append(known, l)
		}
	}
	exposed := []string{"Retry-After"}
	switch {
	case len(known) == 0 || f == None:
	case f == Draft11:
		exposed = append(exposed, setDraft11(h, known, decided.Cost)...)
	case f == Legacy:
		exposed = append(exposed, setLegacy(h, known)...)
	}
	// Scripts of other sites may read what is exposed, others any header. A limit further out may have exposed the same.
	const field = "Access-Control-Expose-Headers"
	if names := strings.Join(exposed, ", "); r.Header.Get("Origin") != "" && !slices.Contains(h[field], names) {
		h.Add(field, names)
	}
}

// setDraft11 writes the fields of draft-ietf-httpapi-ratelimit-headers-11: lists
// of strings with parameters, see RFC 9651.
func setDraft11(h http.Header, limits []Limit, cost int64) (fields []string) {
	var policy, limit []byte
	for i, l := range limits {
		if i > 0 {
			policy, limit = append(policy, ", "...), append(limit, ", "...)
		}
		window := max(1, secondsFor(l.Rate.Burst, l.Rate)) // the seconds in which an empty bucket gets full
		most, _ := product(l.Rate.N, window).times(uint64(time.Second)).over(uint64(l.Rate.Per))
		policy = fmt.Appendf(policy, `%s;q=%d;w=%d`, quoted(l.Name), most.field(), window)
		limit = fmt.Appendf(limit, `%s;r=%d;t=%d`, quoted(l.Name), min(max(0, l.Remaining), largest), l.wait(cost))
	}
	extend(h, "RateLimit-Policy", string(policy))
	extend(h, "RateLimit", string(limit))
	return []string{"RateLimit-Policy", "RateLimit"}
}

// extend adds members to a list, after those of limits further out. Many clients read the first
// line of a field and no other, so it stays one.
func extend(h http.Header, field, members string) {
	h.Set(field, strings.Join(append(slices.Clone(h.Values(field)), members), ", "))
}

// setLegacy writes what many services had before there was a draft.
func setLegacy(h http.Header, limits []Limit) (fields []string) {
	fields = []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}
	l := tightest(limits)
	var outer Limit // which a limit further out has told of, as far as a comparison needs it
	var noBurst, noLeft error
	outer.Rate.Burst, noBurst = strconv.ParseInt(h.Get(fields[0]), 10, 64)
	outer.Remaining, noLeft = strconv.ParseInt(h.Get(fields[1]), 10, 64)
	told := noBurst == nil && noLeft == nil && outer.Rate.Burst > 0 && outer.Remaining >= 0
	if told && !tighter(l, outer) {
		return fields
	}
	h.Set(fields[0], decimal(l.Rate.Burst))
	h.Set(fields[1], decimal(max(0, l.Remaining)))
	h.Set(fields[2], decimal(seconds(l.ResetAfter)))
	return fields
}

// tightest returns the limit that is used up first.
func tightest(limits []Limit) Limit {
	least := limits[0]
	for _, l := range limits[1:] {
		if tighter(l, least) {
			least = l
		}
	}
	return least
}

func tighter(a, b Limit) bool {
	return product(max(0, a.Remaining), b.Rate.Burst).less(product(max(0, b.Remaining), a.Rate.Burst))
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// printable returns a name as far as a string of Structured Fields can carry it.
func printable(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quoted returns a printable name as a string of Structured Fields.
func quoted(name string) string { return `"` + quoting.Replace(name) + `"` }
