package queue

import (
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// Bounds of an answer to a walk, or to a drain. It has one element at least.
const (
	firstPage  = 4 // elements, as nothing is known of their length
	pageBytes  = 1 << 20
	pageGrowth = 4

	unknownBytes = pageBytes / 16
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

// lengths is how long the elements were that a handle has taken of late. Its zero value knows
// nothing.
type lengths struct{ mean atomic.Int64 } // bytes, above 0

// saw notes an answer.
func (l *lengths) saw(elements int, bytes int64) {
	if elements > 0 {
		l.mean.Store(max(bytes/int64(elements), 1))
	}
}

// watch notes an answer that is elements.
func (l *lengths) watch(texts []string, err error) ([]string, error) {
	l.saw(len(texts), lengthOf(texts))
	return texts, err
}

// likely is how long an element counts as that is expected to have mean bytes. One of which
// nothing is known counts as long enough that not many of them come at once.
func likely(mean int64) int64 {
	if mean > 0 {
		return mean
	}
	return unknownBytes
}

// takes is how n elements are taken: all at once if those before were short.
func (l *lengths) takes(n int64) pages { return l.guess(newTakes(min(n, mostInOne))) }

// looks is how n elements are looked at: all at once if those before were short.
func (l *lengths) looks(n int64) pages { return l.guess(newPages(min(n, mostInOne))) }

func (l *lengths) guess(p pages) pages {
	if mean := l.mean.Load(); mean > 0 {
		p.n = min(max(pageBytes/mean, 1), p.most)
		p.bytes = mean * p.n
	}
	return p
}

func lengthOf(texts []string) (bytes int64) {
	for _, text := range texts {
		bytes += int64(len(text))
	}
	return bytes
}
