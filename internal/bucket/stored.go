package bucket

import "strings"

// Read returns the bucket of a state as it stands in Redis, as a request by the rule
// at server time now, µs, would find it. It is not ok if the text is no state.
//
// A state of another rule is known by whole tokens. What a bucket was owed beyond
// full by an older one is forgiven, and it fills by the new one from when that was
// set.
func (r *Rule) Read(text string, now int64) (s State, ok bool) {
	if len(text) != 4*Width && len(text) != 5*Width {
		return s, false
	}
	g, t, w, f := Unpack(text, 0), Unpack(text, 1), Unpack(text, 2), Unpack(text, 3)
	block := int64(0)
	if len(text) == 5*Width {
		block = Unpack(text, 4)
	}
	if t >= Exact || min(t, w, f, block) < 0 { // seven bytes of what people write
		return s, false
	}
	if r.Settled() {
		return State{Rule: r}, true
	}
	b := meter{rule: r, missing: w*r.PerToken + f, asOf: t, block: Up(block, r.Unit)}
	if g != r.Generation {
		b.rule, b.missing = &Rule{Generation: g, PerToken: 1}, w+min(f, 1)
		if g > 0 && r.Generation > 0 {
			b.asOf = max(t, min(r.Generation, now))
		}
		b.adopt(r, now)
	}
	b.fill(now)
	return b.level(now), true
}

// Left returns how many whole tokens there are, below 0 what is owed.
func (b *State) Left() int64 {
	left := b.Rule.Full - b.Missing
	if left < 0 {
		left -= b.Rule.PerToken - 1
	}
	return left / b.Rule.PerToken
}

// Width is how many bytes a number takes in a bucket's state, the highest first.
const Width = 7

// Pack writes numbers of less than 2^55 as they stand there.
func Pack(numbers ...int64) string {
	var text strings.Builder
	text.Grow(Width * len(numbers))
	for _, n := range numbers {
		for shift := 8 * (Width - 1); shift >= 0; shift -= 8 {
			text.WriteByte(byte(n >> shift))
		}
	}
	return text.String()
}

// Unpack reads the number at a place.
func Unpack(text string, place int) int64 {
	text = text[Width*place : Width*(place+1)]
	n := int64(int8(text[0]))
	for i := 1; i < Width; i++ {
		n = n<<8 | int64(text[i])
	}
	return n
}
