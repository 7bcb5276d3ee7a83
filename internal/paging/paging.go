// Package paging plans how many elements, or entries, one answer of the server brings: few at first, and then as many as
// have about a megabyte.
package paging

import "github.com/rueidisson/rueidisson/internal/send"

const (
	// Most bounds the elements of one command.
	Most = 5000
	// Bytes is about how long an answer should be. An answer has one element at least.
	Bytes = 1 << 20
	// Growth is how many times as many elements as before an answer may have.
	Growth = 4

	first = 4 // elements, while nothing is known of their length
)

// Plan is how much is asked for at a time: few elements first, and then as many as have
// about a megabyte if they are like those before.
type Plan struct {
	N     int64 // elements of the next answer
	Most  int64
	Bytes int64 // of the next answer, as far as it is known
}

// Walk plans a walk that reads up to most elements at a time.
func Walk(most int64) Plan { return Plan{N: min(first, most), Most: most} }

// Takes plans what is taken, one element first: an element that does not arrive in time is
// gone, or left to a consumer that has not seen it.
func Takes(most int64) Plan { return Plan{N: 1, Most: most} }

// UpTo returns p with an answer of n elements at most.
func (p Plan) UpTo(n int64) Plan {
	if n < p.N {
		p.N, p.Bytes = n, p.Bytes/p.N*n
	}
	return p
}

// Saw takes the elements of an answer, and their bytes, into account.
func (p *Plan) Saw(elements int, bytes int64) {
	p.N, p.Bytes = min(p.Most, Growth*p.N), 0
	if elements > 0 && bytes > 0 {
		each := max(bytes/int64(elements), 1)
		p.N = max(min(p.N, Bytes/each), 1)
		p.Bytes = p.N * each
	}
}

// Expect returns op for the next answer: a large one uses a connection of its own.
func (p Plan) Expect(op send.Operation) send.Operation {
	if p.Bytes < Bytes/4 {
		return op
	}
	return send.Expect(op, max(p.Bytes, Bytes))
}
