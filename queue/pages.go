package queue

import (
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/send"
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
	bytes int64 // of the next answer, as far as it is known
}

func newPages(most int64) pages { return pages{n: min(firstPage, most), most: most} }

// newTakes plans what is taken, one element first: what does not arrive in time is
// gone, or left to a consumer that has not seen it.
func newTakes(most int64) pages { return pages{n: 1, most: most} }

// upTo returns p with an answer of n elements at most.
func (p pages) upTo(n int64) pages {
	if n < p.n {
		p.n, p.bytes = n, p.bytes/p.n*n
	}
	return p
}

// saw takes the elements of an answer, of so many bytes, into account.
func (p *pages) saw(elements int, bytes int64) {
	p.n, p.bytes = min(p.most, pageGrowth*p.n), 0
	if elements > 0 && bytes > 0 {
		each := max(bytes/int64(elements), 1)
		p.n = max(min(p.n, pageBytes/each), 1)
		p.bytes = p.n * each
	}
}

// expecting returns op for the next answer: a large one goes by a connection of its own.
func (p pages) expecting(op send.Operation) send.Operation {
	if p.bytes < pageBytes/4 {
		return op
	}
	return send.Expect(op, max(p.bytes, pageBytes))
}

// lengths remembers the longest element that a handle has seen of late. Its zero value
// knows nothing.
type lengths struct{ longest atomic.Int64 } // bytes, above 0

// An answer of shorter elements takes the fade-th part off the longest.
const fade = 8

// saw notes the elements of an answer. It returns how many bytes so many elements have at
// most, if none of them is longer than the longest of late.
func (l *lengths) saw(items ...poller.Item) (bytes int64) {
	if len(items) == 0 {
		return 0
	}
	here := int64(1)
	for _, it := range items {
		here = max(here, int64(len(it.Text)))
	}
	for {
		before := l.longest.Load()
		now := max(here, before-before/fade)
		if l.longest.CompareAndSwap(before, now) {
			return now * int64(len(items))
		}
	}
}

// most returns how long the longest element of late is; 0: none is known.
func (l *lengths) most() int64 { return l.longest.Load() }

// expected returns the bytes that an element counts for. One of unknown length (0) counts for
// many, so that few of them are fetched at once.
func expected(bytes int64) int64 {
	if bytes > 0 {
		return bytes
	}
	return unknownBytes
}

// walks plans how elements are read, up to most at a time: few first, or as many as have about a
// megabyte if they are as long as the longest of late.
func (l *lengths) walks(most int64) pages {
	if l.most() == 0 {
		return newPages(most)
	}
	return l.takes(most)
}

// takes plans how n elements are taken: one first, or as many as have about a megabyte if
// they are as long as the longest of late.
func (l *lengths) takes(n int64) pages {
	p := newTakes(min(n, mostInOne))
	if longest := l.most(); longest > 0 {
		p.n = min(max(pageBytes/longest, 1), p.most)
		p.bytes = longest * p.n
	}
	return p
}
