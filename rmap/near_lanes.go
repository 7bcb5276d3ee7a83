package rmap

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

// lanes is how often an entry of each lane was dropped. They come about, so many at
// a time, when an entry is to be read that is of one of them.
type lanes struct {
	pages []atomic.Pointer[lanePage]
	drops atomic.Int64
}

type lane = atomic.Uint32

type lanePage [64]lane

func newLanes(n int) *lanes {
	return &lanes{pages: make([]atomic.Pointer[lanePage], n/len(lanePage{}))}
}

// lanesFor is so many that entries seldom share one.
func lanesFor(entries int) int { return 1 << bits.Len(uint(min(max(4*entries, 256), 1<<20)-1)) }

// fewLanes are enough where each change drops all.
const fewLanes = 256

func (l *lanes) at(hash [16]byte) (page *atomic.Pointer[lanePage], i uint32) {
	n := binary.BigEndian.Uint32(hash[4:])
	const size = uint32(len(lanePage{}))
	return &l.pages[n/size%uint32(len(l.pages))], n % size
}

// of returns the lane of a key, by its hash.
func (l *lanes) of(hash [16]byte) *lane {
	page, i := l.at(hash)
	if page.Load() == nil {
		page.CompareAndSwap(nil, new(lanePage))
	}
	return &page.Load()[i]
}

// drop has the entries of a key's lane count no more. If there is no lane, none of
// them was read, and who reads one from now on reads what has changed.
func (l *lanes) drop(hash [16]byte) {
	page, i := l.at(hash)
	if page := page.Load(); page != nil {
		page[i].Add(1)
	}
	l.drops.Add(1)
}
