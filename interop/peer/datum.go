package peer

import (
	"fmt"
	"strconv"
	"strings"
)

// Datum is a key or a value of Java with its class: the simple name of what java.lang has, BigDecimal, UUID, Date
// (milliseconds), bytes (as they are), and ArrayList, HashMap, Person, Point (as JSON); else the full name. The zero
// Datum is null.
type Datum struct{ Class, Text string }

// String, Integer, Long, Double, Bool and Bytes are data of those classes.
func String(s string) Datum { return Datum{"String", s} }

// Integer returns a java.lang.Integer.
func Integer(n int32) Datum { return Datum{"Integer", strconv.Itoa(int(n))} }

// Long returns a java.lang.Long.
func Long(n int64) Datum { return Datum{"Long", strconv.FormatInt(n, 10)} }

// Double returns a java.lang.Double, as Go spells it.
func Double(f float64) Datum { return Datum{"Double", fmt.Sprint(f)} }

// Bool returns a java.lang.Boolean.
func Bool(b bool) Datum { return Datum{"Boolean", strconv.FormatBool(b)} }

// Bytes returns a byte[].
func Bytes(b []byte) Datum { return Datum{"bytes", string(b)} }

// IsNull says whether it is Java's null.
func (d Datum) IsNull() bool { return d == Datum{} }

// String returns the word that stands for it.
func (d Datum) String() string {
	if d.IsNull() {
		return "null:"
	}
	return d.Class + ":" + d.Text
}

func (v Value) datum() (Datum, error) {
	if v.Null {
		return Datum{}, nil
	}
	class, text, ok := strings.Cut(v.Text, ":")
	if !ok {
		return Datum{}, fmt.Errorf("java returned %q, which has no class", v.Text)
	}
	return Datum{class, text}, nil
}

func (r Reply) data() ([]Datum, error) {
	all := make([]Datum, len(r))
	for i, v := range r {
		d, err := v.datum()
		if err != nil {
			return nil, err
		}
		all[i] = d
	}
	return all, nil
}

// pairs returns key and value, one behind the other.
func (r Reply) pairs() (map[Datum]Datum, error) {
	all, err := r.data()
	if err != nil {
		return nil, err
	}
	entries := make(map[Datum]Datum, len(all)/2)
	for i := 0; i+1 < len(all); i += 2 {
		entries[all[i]] = all[i+1]
	}
	return entries, nil
}
