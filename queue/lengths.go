package queue

import (
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/poller"
)

// unknownBytes stands for the size of an element whose length is not known.
const unknownBytes = paging.Bytes / 16

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
func (l *lengths) walks(most int64) paging.Plan {
	if l.most() == 0 {
		return paging.Walk(most)
	}
	return l.takes(most)
}

// takes plans how n elements are taken: one first, or as many as have about a megabyte if
// they are as long as the longest of late.
func (l *lengths) takes(n int64) paging.Plan {
	p := paging.Takes(min(n, paging.Most))
	if longest := l.most(); longest > 0 {
		p.N = min(max(paging.Bytes/longest, 1), p.Most)
		p.Bytes = longest * p.N
	}
	return p
}
