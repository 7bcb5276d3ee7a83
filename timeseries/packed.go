package timeseries

import (
	"encoding/binary"
	"errors"
	"strings"
)

// The first byte of an entry as it is in Redis, its form. An entry is that byte, the length of an id in one byte, the id, the length of the
// value in eight bytes, little-endian, the value, and the length of a label, and the label.
const (
	unlabeled = 2 // its label is empty
	labeled   = 3
	tagged    = 4 // written by a newer Redisson: its label is the byte 2, or the byte 3 and a label
)

// idSize is how long an id is that is written here: random bytes, which keep apart what is else alike.
const idSize = 16

var errPacked = errors.New("these bytes are no entry of a time series")

// packed is an entry as it is in Redis, without its time.
type packed struct {
	value, label string
	hasLabel     bool
}

// text returns the bytes of an entry with an id, which has [idSize] bytes.
func (p packed) text(id string) string {
	var b strings.Builder
	b.Grow(2 + len(id) + 8 + len(p.value) + 8 + len(p.label))
	form := byte(unlabeled)
	if p.hasLabel {
		form = labeled
	}
	b.WriteByte(form)
	b.WriteByte(byte(len(id)))
	b.WriteString(id)
	for _, part := range []string{p.value, p.label} {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
		b.Write(size[:])
		b.WriteString(part)
	}
	return b.String()
}

// unpack reads the bytes of an entry, of any form.
func unpack(text string) (p packed, err error) {
	if len(text) < 2 || text[0] < unlabeled || text[0] > tagged || len(text) < 2+int(text[1]) {
		return p, errPacked
	}
	form, rest := text[0], text[2+int(text[1]):]
	var label string
	for _, part := range []*string{&p.value, &label} {
		if len(rest) < 8 {
			return packed{}, errPacked
		}
		size := binary.LittleEndian.Uint64([]byte(rest[:8]))
		if rest = rest[8:]; size > uint64(len(rest)) {
			return packed{}, errPacked
		}
		*part, rest = rest[:size], rest[size:]
	}
	switch {
	case rest != "":
		return packed{}, errPacked
	case form == labeled:
		p.label, p.hasLabel = label, true
	case form == unlabeled && label == "", form == tagged && label == "\x02":
	case form == tagged && strings.HasPrefix(label, "\x03"):
		p.label, p.hasLabel = label[1:], true
	default:
		return packed{}, errPacked
	}
	return p, nil
}
