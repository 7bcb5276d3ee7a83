package queue

import "github.com/rueidisson/rueidisson/internal/engine"

// Bounds of an answer to a walk, or to a drain. It has one element at least.
const (
	firstPage  = 4 // elements, as nothing is known of their length
	pageBytes  = 1 << 20
	pageGrowth = 4
)

// pages is how much is asked for at a time: few elements first, and then as many as have
// about a megabyte if they are like those before.
type pages struct {
	n     int64 // elements of the next answer
	most  int64
	bytes int64 // of the last answer
}

func newPages(most int64) pages { return pages{n: min(firstPage, most), most: most} }

// newTakes is newPages of what is taken, one element first: what does not arrive in time is
// gone, or left to a consumer that has not seen it.
func newTakes(most int64) pages { return pages{n: 1, most: most} }

// saw takes the elements of an answer, of so many bytes, into account.
func (p *pages) saw(elements int, bytes int64) {
	n := min(p.most, pageGrowth*p.n)
	if bytes > 0 {
		n = min(n, pageBytes*int64(elements)/bytes)
	}
	p.n, p.bytes = max(n, 1), bytes
}

// expecting is op for the next answer: a large one goes by a connection of its own.
func (p *pages) expecting(op engine.Operation) engine.Operation {
	if p.bytes < pageBytes/4 {
		return op
	}
	return engine.Expect(op, max(p.bytes, pageBytes))
}

func lengthOf(texts []string) (bytes int64) {
	for _, text := range texts {
		bytes += int64(len(text))
	}
	return bytes
}
